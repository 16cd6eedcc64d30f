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
  /** Only where the server shows runs of trials to the account that is signed in. */
  readonly isForTrials?: boolean;
}

const ENTRIES: readonly MenuEntry[] = [
  { page: 'stories', path: '/stories', text: 'Stories', below: ['table'] },
  { page: 'world', path: '/world', text: 'World', below: [] },
  { page: 'hunts', path: '/hunts', text: 'Hunts', below: ['hunt', 'hunter'] },
  { page: 'matches', path: '/games', text: 'Matches', below: ['match', 'evidence'] },
  { page: 'bots', path: '/bots', text: 'Bots', below: ['bot'] },
  { page: 'ladders', path: '/ladders', text: 'Compete', below: ['ladder', 'tournaments', 'tournament', 'duels', 'duel'] },
  { page: 'trials', path: '/trials', text: 'Trials', below: ['trial'], isForTrials: true },
  { page: 'operate', path: '/operate', text: 'Operate', below: [], role: 'operator' },
  { page: 'docs', path: '/docs', text: 'Documents', below: ['document', 'api'] },
];

const RANKS = ['guest', 'player', 'operator', 'admin'];

/** Whether a person of this role may do what takes at least the other one; a visitor who is not signed in has none. */
export function isAtLeast(role: string | null, least: 'player' | 'operator'): boolean {
  return RANKS.indexOf(role ?? '') >= RANKS.indexOf(least);
}

/** What a person of this role can enter. */
export function menuFor(role: string | null, hasTrials: boolean): readonly MenuEntry[] {
  return ENTRIES.filter((entry) => (entry.role === undefined || isAtLeast(role, entry.role)) && (!entry.isForTrials || hasTrials));
}
