// What a bot's rated games say: its rating over time, and what each seat was worth to it. Pure.
import type { RatedGame } from '../api/client.ts';
import { rangeOf } from '../competitions/ladders/rating.ts';

export interface RatingPoint {
  readonly number: number;
  readonly at: number;
  readonly rating: number;
  /** The rating's range, as rankings draw it. */
  readonly low: number;
  readonly high: number;
}

/** In the order in which they were played; a list begins with the last. */
export function ratingHistory(games: readonly RatedGame[]): readonly RatingPoint[] {
  return games.toReversed().map(({ number, ended_at, after }) => {
    const { from, to } = rangeOf(after);
    return { number, at: Date.parse(ended_at), rating: after.display_score, low: from, high: to };
  });
}

export interface SeatRow {
  /** From 0. */
  readonly seat: number;
  readonly games: number;
  readonly firstPlaces: number;
  readonly meanPlace: number;
}

export function bySeat(games: readonly RatedGame[]): readonly SeatRow[] {
  const seats = new Map<number, { games: number; firstPlaces: number; places: number }>();
  for (const { seat, place } of games) {
    const row = seats.get(seat) ?? { games: 0, firstPlaces: 0, places: 0 };
    seats.set(seat, { games: row.games + 1, firstPlaces: row.firstPlaces + (place === 1 ? 1 : 0), places: row.places + place });
  }
  const rows = [...seats].map(([seat, { games, firstPlaces, places }]) => ({ seat, games, firstPlaces, meanPlace: places / games }));
  return rows.sort((a, b) => a.seat - b.seat);
}
