// Movers jump from cell to cell five times a second; eyes want sixty pictures. Between two updates each is drawn on the
// way from where it was last drawn to where it is. Pure but for the book that it keeps; the clock is passed in.
import type { Cell } from './grid.ts';

export interface Track {
  readonly from: Cell;
  readonly to: Cell;
  readonly sinceMs: number;
  readonly bornMs: number;
  /** When it went out of sight, and still fades. */
  readonly goneMs?: number;
}

/** Time in which a mover appears or fades. */
export const FADE_MS = 160;
/** A mover that is further from its last place than this was carried, not seen walking: it is drawn there at once. */
const WALK_CELLS_MAX = 4;

export function place(track: Track, nowMs: number, periodMs: number): Cell {
  const share = Math.min(1, Math.max(0, (nowMs - track.sinceMs) / periodMs));
  return {
    x: track.from.x + (track.to.x - track.from.x) * share,
    y: track.from.y + (track.to.y - track.from.y) * share,
  };
}

/** From 0, not there, to 1, wholly there. */
export function presence(track: Track, nowMs: number): number {
  const came = (nowMs - track.bornMs) / FADE_MS;
  const stays = track.goneMs === undefined ? 1 : 1 - (nowMs - track.goneMs) / FADE_MS;
  return Math.min(1, Math.max(0, Math.min(came, stays)));
}

export function headFor(track: Track | undefined, to: Cell, nowMs: number, periodMs: number): Track {
  if (!track || track.goneMs !== undefined) return { from: to, to, sinceMs: nowMs, bornMs: nowMs };
  if (track.to.x === to.x && track.to.y === to.y) return track;
  const at = place(track, nowMs, periodMs);
  const isWalk = Math.hypot(to.x - at.x, to.y - at.y) <= WALK_CELLS_MAX;
  return { from: isWalk ? at : to, to, sinceMs: nowMs, bornMs: track.bornMs };
}

/** The tracks after an update: who is still there heads for its cell, who is not fades. */
export function follow(
  tracks: ReadonlyMap<number, Track>,
  movers: Iterable<{ readonly id: number; readonly at: Cell }>,
  nowMs: number,
  periodMs: number,
): Map<number, Track> {
  const next = new Map<number, Track>();
  for (const { id, at } of movers) next.set(id, headFor(tracks.get(id), at, nowMs, periodMs));
  for (const [id, track] of tracks) {
    const goneMs = track.goneMs ?? nowMs;
    if (!next.has(id) && nowMs - goneMs < FADE_MS) next.set(id, { ...track, goneMs });
  }
  return next;
}

/** Goes towards the target so that half of what is left is gone after each half-life, at any frame rate. */
export function approach(at: Cell, target: Cell, passedMs: number, halfLifeMs: number): Cell {
  const left = 2 ** (-passedMs / halfLifeMs);
  return { x: target.x + (at.x - target.x) * left, y: target.y + (at.y - target.y) * left };
}

/** Where nothing happens, nothing is told: longer gaps say nothing about the pace of updates. */
const QUIET_MS = 500;

/** The mean time between updates, as it was lately; gaps of a quiet world do not count. */
export function period(meanMs: number, gapMs: number): number {
  return gapMs > QUIET_MS ? meanMs : meanMs + (Math.max(16, gapMs) - meanMs) * 0.2;
}
