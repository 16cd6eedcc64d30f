// The ways that the header offers. Pure.
import type { PageName } from './routes.ts';

export interface MenuEntry {
  readonly page: PageName;
  readonly path: string;
  readonly text: string;
  /** Pages that stand below this one: it is marked there too. */
  readonly below: readonly PageName[];
  /** The least role that may enter; without it everybody may. */
  readonly role?: 'player' | 'operator';
}

const ENTRIES: readonly MenuEntry[] = [
  { page: 'world', path: '/world', text: 'World', below: [] },
  { page: 'docs', path: '/docs', text: 'Documents', below: ['document', 'api'] },
];

const RANKS = ['guest', 'player', 'operator', 'admin'];

/** What somebody of this role can enter; nobody signed in has none. */
export function menuFor(role: string | null): readonly MenuEntry[] {
  const rank = RANKS.indexOf(role ?? '');
  return ENTRIES.filter(({ role }) => role === undefined || rank >= RANKS.indexOf(role));
}
