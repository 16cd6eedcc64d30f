// A tournament as it is typed: each format with its own numbers, and what the server is sent of it. Pure.
import type { CreateTournament, TournamentFormat } from '../../api/client.ts';
import { type GameForm, gameOf, isGiven, newGameForm } from '../game.ts';

export interface TournamentForm {
  name: string;
  format: string;
  third_place: boolean;
  final_reset: boolean;
  rounds: number | null;
  groups: number | null;
  size: number | null;
  advance: number | null;
  best_of: number;
  replays_max: number | null;
  /** With `food`, that comes first; the other always decides. */
  isFoodFirst: boolean;
  last_tie_break: 'seed' | 'lot';
  game_deadline_s: number | null;
  games_at_once: number | null;
  seeding: 'random' | 'manual' | 'ladder';
  ladder_id: string;
  entry: 'open' | 'invited';
  is_public: boolean;
  entrants_min: number | null;
  entrants_max: number | null;
  entrants_per_account_max: number | null;
  /** As a browser's field of date and time has it, in local time; empty: the organizer starts it. */
  starts_at: string;
  game: GameForm;
}

export const newTournamentForm = (): TournamentForm => ({
  name: '',
  format: 'single_elimination',
  third_place: true,
  final_reset: true,
  rounds: null,
  groups: 4,
  size: 4,
  advance: 2,
  best_of: 3,
  replays_max: null,
  isFoodFirst: true,
  last_tie_break: 'seed',
  game_deadline_s: null,
  games_at_once: null,
  seeding: 'random',
  ladder_id: '',
  entry: 'open',
  is_public: true,
  entrants_min: null,
  entrants_max: null,
  entrants_per_account_max: null,
  starts_at: '',
  game: newGameForm(),
});

function formatOf({ format, third_place, final_reset, rounds, groups, size, advance }: TournamentForm): TournamentFormat {
  switch (format) {
    case 'single_elimination':
      return { type: format, third_place };
    case 'double_elimination':
      return { type: format, final_reset };
    case 'swiss':
      return { type: format, ...(isGiven(rounds) && { rounds }) };
    case 'groups':
      return { type: format, third_place, ...(isGiven(groups) && { groups }), ...(isGiven(advance) && { advance }) };
    case 'heats':
      return { type: format, ...(isGiven(size) && { size }), ...(isGiven(advance) && { advance }) };
    default:
      return { type: format };
  }
}

const NUMBERS = ['replays_max', 'game_deadline_s', 'games_at_once', 'entrants_min', 'entrants_max', 'entrants_per_account_max'] as const;

export function tournamentOf(form: TournamentForm): CreateTournament {
  const { name, best_of, seeding, ladder_id, entry, is_public, starts_at } = form;
  const numbers = Object.fromEntries(NUMBERS.flatMap((member) => (isGiven(form[member]) ? [[member, form[member]]] : [])));
  return {
    name,
    format: formatOf(form),
    game: gameOf(form.game),
    best_of,
    tie_breaks: form.isFoodFirst ? ['food', form.last_tie_break] : [form.last_tie_break],
    seeding,
    ...(seeding === 'ladder' && { ladder_id: ladder_id.trim() }),
    entry,
    is_public,
    ...numbers,
    ...(starts_at && { starts_at: new Date(starts_at).toISOString() }),
  };
}
