// What the pages of ladders say in words. English; pure.
import type { EntryDetails, Leaderboard, RatedGame } from '../../api/client.ts';
import { decimal } from '../../common/format.ts';
import { count, ordinal, type Standing } from '../words.ts';

export function standingOf(ladder: Leaderboard): Standing {
  if (!ladder.active) return { kind: 'over', text: 'Ended' };
  return ladder.games_under_way > 0 ? { kind: 'live', text: 'Playing' } : { kind: 'open', text: 'Waiting' };
}

/** What is under way, and how far ratings are behind. */
export function progressText({ games_ended, games_applied, games_under_way }: Leaderboard): string {
  const behind = games_ended - games_applied;
  const facts = [`${count(games_ended, 'game')} played`];
  if (games_under_way > 0) facts.push(`${count(games_under_way, 'game')} under way`);
  if (behind > 0) facts.push(`${count(behind, 'result')} not rated yet`);
  return facts.join(', ');
}

/** A number with one digit, and a minus that is one. */
export const score = (value: number) => decimal(Math.abs(value) < 0.05 ? 0 : value, 1).replace('-', '−');

/** How a rating changed. */
export const change = (game: RatedGame) => {
  const by = game.after.display_score - game.before.display_score;
  return `${by >= 0.05 ? '+' : ''}${score(by)}`;
};

export const placeText = ({ place, players }: RatedGame) => `${ordinal(place)} of ${players}`;

/** Where an entry stands, in one sentence. */
export function entryText(entry: EntryDetails, minGames: number): string {
  if (!entry.active) return 'It has left this ladder. Its rating stays: entering again goes on from there.';
  if (entry.rank) return `${ordinal(entry.rank)} by rating, after ${count(entry.games_played, 'game')}.`;
  return `In placement: ${entry.games_played} of the ${minGames} games that a rank takes.`;
}
