// What was won floats up from where it was and fades: points and power-ups. Pure; the clock is passed in.
import type { Cell } from './grid.ts';

export interface Pop {
  readonly text: string;
  readonly at: Cell;
  readonly sinceMs: number;
}

/** For how long it is to be seen, and how many cells it rises. */
const SHOWN_MS = 1_200;
const RISE_CELLS = 1.3;
/** So many are told apart; a magnet takes no more at once. */
const MOST = 8;

/** One more, and none of those that are over. */
export function popped(pops: readonly Pop[], text: string, at: Cell, nowMs: number): readonly Pop[] {
  return [...pops.filter((pop) => risen(pop, nowMs) < 1), { text, at, sinceMs: nowMs }].slice(-MOST);
}

/** From 0, just won, to 1, not to be seen any more. */
export function risen(pop: Pop, nowMs: number): number {
  return Math.min(1, Math.max(0, (nowMs - pop.sinceMs) / SHOWN_MS));
}

/** Where it is, and how much of it is to be seen. Where motion is not wanted, it stays and fades. */
export function floating(pop: Pop, nowMs: number, isStill: boolean): { readonly at: Cell; readonly alpha: number } {
  const share = risen(pop, nowMs);
  const height = isStill ? RISE_CELLS / 2 : RISE_CELLS * (1 - (1 - share) ** 2);
  return { at: { x: pop.at.x, y: pop.at.y - 0.6 - height }, alpha: 1 - share ** 3 };
}
