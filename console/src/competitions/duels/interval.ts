// The line on which an interval of Elo is drawn: zero, the hypotheses and all ends that there are lie on it, with room to both sides. Pure.
import type { Scale } from '../ladders/rating.ts';

const LEAST = 50;
const ROOM = 0.12;

export function scaleOfElo(values: readonly (number | null)[]): Scale {
  const known = [0, ...values.filter((value) => value !== null)];
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const room = ROOM * Math.max(LEAST, high - low);
  return { from: low - room, to: high + room };
}
