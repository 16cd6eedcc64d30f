// How long to wait before connecting again: twice as long after each failure, up to an end, and never all at once.

const FIRST_MS = 400;
const LONGEST_MS = 8_000;

/** `chance` is from 0 to 1: pages that lost one server do not come back in one moment. */
export function waitMs(failures: number, chance: number): number {
  const whole = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.max(0, failures - 1));
  return Math.round(whole / 2 + (whole / 2) * chance);
}
