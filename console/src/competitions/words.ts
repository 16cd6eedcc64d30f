// What pages of ladders, tournaments and duels say alike: what is played, how it stands. English; pure.
import { number } from '../common/format.ts';

interface Played {
  readonly players?: number;
  readonly game_type: string;
  readonly map: string;
  readonly board: string;
  readonly timeout_ms: number;
}

/** What is played, in pieces: bots in a game, rules, map, board, time for an answer. */
export function playedFacts({ players, game_type, map, board, timeout_ms }: Played): readonly string[] {
  const facts = [game_type, map === game_type.toLowerCase() ? '' : `map ${map}`, board.replace('x', '×'), `${number(timeout_ms)} ms a move`];
  return [players === undefined ? '' : `${players} in a game`, ...facts].filter(Boolean);
}

/** How something stands, with the look of its badge. */
export interface Standing {
  readonly kind: 'live' | 'open' | 'over';
  readonly text: string;
}

export const GAME_TYPES: readonly (readonly [name: string, text: string])[] = [
  ['standard', 'Standard'],
  ['royale', 'Royale'],
  ['wrapped', 'Wrapped'],
  ['constrictor', 'Constrictor'],
  ['wrapped_constrictor', 'Wrapped constrictor'],
  ['snail_mode', 'Snail mode'],
];

/** How many of what, in the reader's own numbers: `1 game`, `2,000 games`. */
export const count = (value: number, one: string, many = `${one}s`) => `${number(value)} ${value === 1 ? one : many}`;

/** The place in an order: `1st`. */
export function ordinal(value: number): string {
  const tail = { one: 'st', two: 'nd', few: 'rd', other: 'th' }[ORDINALS.select(value) as 'one'] ?? 'th';
  return `${number(value)}${tail}`;
}

const ORDINALS = new Intl.PluralRules('en', { type: 'ordinal' });
