// What a page has read of a server, reading by reading: lines for charts, and what grew in between. Where nothing was read there is a gap,
// and none is bridged: while no operator looked, while the server was away, and across its restart. Pure.
import type { Schemas } from '../api/client.ts';
import { type Decisions, decisionsOf, type Metrics } from './metrics.ts';

export interface Reading {
  /** This device's clock. */
  readonly atMs: number;
  readonly stats: Schemas['AdminStats'];
  /** Null where they could not be read. */
  readonly metrics: Metrics | null;
  readonly readiness: Schemas['Readiness'] | null;
}

export const EVERY_MS = 5_000;
/** Readings that are kept: fifteen minutes of them. */
export const KEPT_MAX = 180;
/** A pause longer than this is a gap. */
const GAP_MS = 3 * EVERY_MS;

export function withReading(history: readonly Reading[], reading: Reading): readonly Reading[] {
  const last = history.at(-1);
  if (last && reading.atMs <= last.atMs) return history;
  return [...history, reading].slice(-KEPT_MAX);
}

/** Whether nothing is known of the time between these two. */
const isApart = (before: Reading, after: Reading) => after.atMs - before.atMs > GAP_MS || hasRestarted(before, after);
const hasRestarted = (before: Reading, after: Reading) => after.stats.process.uptime_s < before.stats.process.uptime_s;

/** A place of a chart: a reading with the one before it, or a gap. */
export interface Place {
  readonly atS: number;
  readonly reading: Reading | null;
  /** Null for the first one after a gap. */
  readonly before: Reading | null;
}

/** The readings in order, with a place of its own for each gap. Charts count in whole seconds. */
export function placesOf(history: readonly Reading[]): readonly Place[] {
  return history.flatMap((reading, at): Place[] => {
    const before = history[at - 1];
    const atS = Math.round(reading.atMs / 1_000);
    if (!before) return [{ atS, reading, before: null }];
    if (!isApart(before, reading)) return [{ atS, reading, before }];
    return [
      { atS: Math.round((before.atMs + reading.atMs) / 2_000), reading: null, before: null },
      { atS, reading, before: null },
    ];
  });
}

/** A figure of each place. */
export const levels = (places: readonly Place[], of: (reading: Reading) => number | null | undefined) => places.map(({ reading }) => (reading ? (of(reading) ?? null) : null));

/** How fast a count grew up to each place, a second. */
export function rates(places: readonly Place[], of: (reading: Reading) => number | null | undefined): readonly (number | null)[] {
  return places.map(({ reading, before }) => {
    if (!reading || !before) return null;
    const [from, to] = [of(before), of(reading)];
    return from == null || to == null || to < from ? null : (to - from) / ((reading.atMs - before.atMs) / 1_000);
  });
}

/** What a policy decided in the readings that are kept, without what happened in gaps. */
export function decidedSince(history: readonly Reading[], policy: string): Decisions {
  const none: Decisions = { allowed: 0, refused: 0, shadow: 0 };
  return placesOf(history).reduce((sum, { reading, before }) => {
    if (!reading?.metrics || !before?.metrics) return sum;
    const [from, to] = [decisionsOf(before.metrics, policy), decisionsOf(reading.metrics, policy)];
    const grown = (which: keyof Decisions) => sum[which] + Math.max(0, to[which] - from[which]);
    return { allowed: grown('allowed'), refused: grown('refused'), shadow: grown('shadow') };
  }, none);
}
