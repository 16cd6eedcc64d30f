// How much of the world a screen shows: as many cells as fill it, wide screens more to the sides, small ones fewer in all, so
// that an emoji can always be told and no edge lies empty. Pure; lengths are points of the screen.
import type { Cell } from './grid.ts';

/** Cells to each side of the own one along the shorter side of a screen: 27 in all. */
const USUAL_CELLS = 13;
/** The largest radius that a server grants. */
const MOST_CELLS = 29;
const SMALLEST_CELL = 26;
const LARGEST_CELL = 44;

/** The radius of a view that fills a stage of this size. */
export function radiusFor(width: number, height: number): Cell {
  const cell = Math.min(LARGEST_CELL, Math.max(SMALLEST_CELL, Math.min(width, height) / (2 * USUAL_CELLS + 1)));
  const radius = (side: number) => Math.min(MOST_CELLS, Math.max(1, Math.ceil((side / cell - 1) / 2)));
  return { x: radius(width), y: radius(height) };
}

/** The side of a cell, whole pixels, so that a view of this radius covers all of a stage; never less than what can be told. */
export function cellSide(width: number, height: number, radius: Cell, least: number): number {
  return Math.max(least, Math.ceil(Math.max(width / (2 * radius.x + 1), height / (2 * radius.y + 1))));
}
