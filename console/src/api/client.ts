// The API of this server, typed by its OpenAPI document: schema.d.ts is generated from docs/openapi.json before each build and check.
import createClient from 'openapi-fetch';
import type { components, paths } from './schema.d.ts';

type Schemas = components['schemas'];
export type SessionView = Schemas['SessionView'];
export type Game = Schemas['Game'];
export type Frame = Schemas['Frame'];
export type Problem = Schemas['Problem'];

export const api = createClient<paths>({ headers: { accept: 'application/json' } });

/** What a person is told of a refusal, with the code to quote. */
export function refusalText(problem: unknown, status: number): string {
  const { detail, code } = (typeof problem === 'object' && problem !== null ? problem : {}) as Partial<Problem>;
  if (typeof detail !== 'string' || typeof code !== 'string') return `The server answered ${status}.`;
  return `${detail.charAt(0).toUpperCase()}${detail.slice(1)} (${code})`;
}
