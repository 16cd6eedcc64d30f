// What a new table is asked for. Pure.
import type { components } from '../api/schema.d.ts';

type CreateStory = components['schemas']['CreateStory'];

export interface NewTable {
  readonly bots: boolean;
  readonly seats: number;
  readonly countdownS: number;
}

/** Seats that a table may have. */
export const SEATS_MIN = 3;
export const SEATS_MAX = 12;
const DECK_CARDS = 36;
const HAND_CARDS = 6;

/** One person and three bots, who do not think for long. */
export const WITH_BOTS: NewTable = { bots: true, seats: 4, countdownS: 30 };
export const WITH_FRIENDS: NewTable = { bots: false, seats: 6, countdownS: 60 };

/** Hands become smaller where the deck has to do for many. */
export function tableRequest({ bots, seats, countdownS }: NewTable): CreateStory {
  return { bots, settings: { players_max: seats, hand: Math.min(HAND_CARDS, Math.floor(DECK_CARDS / seats)), countdown_ms: countdownS * 1_000 } };
}
