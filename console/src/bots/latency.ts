// How fast a bot answers, by hour of the reader's day, and its answers by class. Pure.
import type { SnakeLatency } from '../api/client.ts';

export interface HourRow {
  /** 0 to 23, where the reader is. */
  readonly hour: number;
  readonly calls: number;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

/** The hours of the reader's day, whose clock is so many minutes before UTC (`Date.getTimezoneOffset`). Zones of half an hour count to the
 * hour in which theirs begins. */
export function localHours({ hours }: SnakeLatency, offsetMinutes: number): readonly HourRow[] {
  const shift = Math.floor(-offsetMinutes / 60);
  const rows = hours.map(({ hour, calls, p50_ms, p95_ms, p99_ms }) => ({
    hour: (((hour + shift) % 24) + 24) % 24,
    calls,
    p50: p50_ms ?? null,
    p95: p95_ms ?? null,
    p99: p99_ms ?? null,
  }));
  return rows.sort((a, b) => a.hour - b.hour);
}

export interface ClassShare {
  readonly name: string;
  readonly calls: number;
  /** From 0 to 1. */
  readonly share: number;
}

/** Answers of all hours by class, the most frequent first. */
export function classes({ hours }: SnakeLatency): readonly ClassShare[] {
  const counts = new Map<string, number>();
  for (const { classes } of hours) for (const { class: name, calls } of classes) counts.set(name, (counts.get(name) ?? 0) + calls);
  const all = [...counts.values()].reduce((sum, calls) => sum + calls, 0);
  return [...counts].map(([name, calls]) => ({ name, calls, share: calls / all })).sort((a, b) => b.calls - a.calls);
}
