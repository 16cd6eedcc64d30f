// A duel as it is typed: two bots and a question, or three to eight of a league. Pure.
import type { CreateDuel } from '../../api/client.ts';
import { type GameForm, gameOf, isGiven, newGameForm } from '../game.ts';
import { choiceOf } from './words.ts';

export const BOTS_MAX = 8;

export interface DuelForm {
  name: string;
  /** The baseline, then the candidate; or a league. Each an id or a URL. */
  bots: { value: string; name: string }[];
  elo0: number | null;
  elo1: number | null;
  alpha: number | null;
  beta: number | null;
  games_max: number | null;
  pairs_at_once: number | null;
  /** Empty: as the bots are. */
  sight: '' | 'public' | 'private';
  game: GameForm;
}

export const newDuelForm = (bots: readonly string[]): DuelForm => ({
  name: '',
  bots: [0, 1].map((at) => ({ value: bots[at] ?? '', name: '' })),
  elo0: 0,
  elo1: 50,
  alpha: null,
  beta: null,
  games_max: null,
  pairs_at_once: null,
  sight: '',
  game: newGameForm(),
});

const NUMBERS = ['games_max', 'pairs_at_once'] as const;
const TEST = ['elo0', 'elo1', 'alpha', 'beta'] as const;

export function duelOf(form: DuelForm): CreateDuel {
  const numbers = [...NUMBERS, ...(form.bots.length === 2 ? TEST : [])];
  return {
    bots: form.bots.map(({ value, name }) => choiceOf(value, name)),
    ...(form.name.trim() && { name: form.name.trim() }),
    ...gameOf(form.game),
    ...Object.fromEntries(numbers.flatMap((member) => (isGiven(form[member]) ? [[member, form[member]]] : []))),
    ...(form.sight && { is_public: form.sight === 'public' }),
  };
}

/** The options of the command that plays the same; what is as the command has it is left out. */
export function optionsOf({ elo0, elo1, alpha, beta, games_max, pairs_at_once, bots, game }: DuelForm): Readonly<Record<string, string | number | null>> {
  const test = bots.length === 2 ? { elo0: elo0 || null, elo1: elo1 === (elo0 ?? 0) + 50 ? null : elo1, alpha, beta } : {};
  return {
    ...test,
    games: games_max,
    'pairs-at-once': pairs_at_once,
    'game-type': game.game_type === 'standard' ? null : game.game_type,
    map: game.map.trim(),
    board: game.board.trim() === '11x11' ? null : game.board.trim(),
    'timeout-ms': game.timeout_ms === 500 ? null : game.timeout_ms,
  };
}
