// How fast to walk while a key is held. A world says how fast is too fast only by refusing, so the pace is found out. Pure.

export interface Pace {
  readonly everyMs: number;
  readonly lastMs: number;
}

const FASTEST_MS = 110;
const SLOWEST_MS = 1_000;

export const AT_REST: Pace = { everyMs: FASTEST_MS, lastMs: Number.NEGATIVE_INFINITY };

export function isTime(pace: Pace, nowMs: number): boolean {
  return nowMs - pace.lastMs >= pace.everyMs;
}

export function stepTaken(pace: Pace, nowMs: number): Pace {
  return { ...pace, lastMs: nowMs };
}

/** The server said so. */
export function tooFast(pace: Pace): Pace {
  return { ...pace, everyMs: Math.min(SLOWEST_MS, Math.ceil(pace.everyMs * 1.3)) };
}
