// What goes on at the server, as the feed tells it, and what a page makes of it. Pure.
import type { Summary } from '../api/client.ts';

/** Counts end here: so many, or more. */
export const COUNT_MAX = 10_000;
/** The feed says something every ten seconds at least: after this time it is silent. */
export const SILENT_AFTER_MS = 25_000;
/** From this age on, figures are said to be old. */
const OLD_AFTER_MS = 15_000;

/** An event's data; null for what is none. */
export function readSummary(data: unknown): Summary | null {
  if (typeof data !== 'string') return null;
  try {
    const summary = JSON.parse(data) as Partial<Summary> | null;
    return summary && summary.games && summary.stories && summary.worlds && summary.hunts && summary.leaderboards ? (summary as Summary) : null;
  } catch {
    return null;
  }
}

export function isOld(receivedMs: number, nowMs: number): boolean {
  return nowMs - receivedMs > OLD_AFTER_MS;
}

/** The side lengths in `11x19`; null where they are none. */
export function boardSize(text: string): { readonly width: number; readonly height: number } | null {
  const [, width, height] = /^(\d{1,3})x(\d{1,3})$/.exec(text) ?? [];
  return width && height ? { width: Number(width), height: Number(height) } : null;
}

/** Everybody in worlds of this kind that this server knows of. */
export function moversIn(summary: Summary, kind: string): number {
  return summary.worlds.reduce((sum, world) => sum + (world.kind === kind ? (world.movers ?? 0) : 0), 0);
}
