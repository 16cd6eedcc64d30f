// How fast to walk while a key is held: as the world allows, and a little slower where the network is uneven. Pure.

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

/** No faster than the world allows. */
export function allowed(moveMinMs: number): Pace {
  return { ...AT_REST, everyMs: Math.min(SLOWEST_MS, Math.max(FASTEST_MS, moveMinMs)) };
}

/** Steps that were sent apart came close together: the network pushed them. */
export function tooFast(pace: Pace): Pace {
  return { ...pace, everyMs: Math.min(SLOWEST_MS, Math.ceil(pace.everyMs * 1.3)) };
}
