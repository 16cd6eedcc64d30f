// Addresses of pages of one thing, in one place. Pure.
import { routeOf } from './routes.ts';

export const matchPath = (id: string) => `/games/${id}`;
export const matchTurnPath = (id: string, turn: number) => `/games/${id}?turn=${turn}`;
export const botPath = (id: string) => `/bots/${id}`;
/** What a seat's bot was sent in a turn, and what it answered: for its owner. */
export const evidencePath = (game: string, seat: number, turn: number | null) => `/games/${game}/bots/${seat}${turn === null ? '' : `?turn=${turn}`}`;
/** Null while the console has no such page: then nothing links there. */
export function ladderPath(id: string): string | null {
  const path = `/ladders/${id}`;
  return routeOf(path).page === 'missing' ? null : path;
}
