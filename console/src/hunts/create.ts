// From what a person chooses to a hunt: so many chests that walking pays, and open long enough for its rounds. Pure.

export const ROUNDS = [1, 3, 5, 10];
export const MINUTES = [1, 2, 5, 10];

export interface HuntChoice {
  name: string;
  /** Cells on each side. */
  side: number;
  rounds: number;
  minutes: number;
  admission: string;
}

/** Cells for each chest, and for each power-up. */
const CHEST_CELLS = 60;
const POWER_UP_CELLS = 600;
/** Time to come together, and between rounds. */
const GATHER_MS = 15 * 60_000;
const PAUSE_MS = 60_000;
const MINUTE_MS = 60_000;

export function huntOf({ name, side, rounds, minutes, admission }: HuntChoice) {
  const [cells, round_ms] = [side * side, minutes * MINUTE_MS];
  return {
    ...(name ? { name } : {}),
    width: side,
    height: side,
    chests: Math.floor(cells / CHEST_CELLS),
    power_ups: Math.floor(cells / POWER_UP_CELLS),
    rounds,
    round_ms,
    open_ms: GATHER_MS + rounds * (round_ms * 2 + PAUSE_MS),
    admission,
  };
}
