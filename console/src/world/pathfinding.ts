// The way to a cell around what is known to stand in it: A* over the steps of a mover. What is not known counts as free, so the way is
// found again as more is seen. Bounded, because worlds are not. Pure.
import { type Cell, cellOf, isInside, keyOf, type Size, STEPS, type Step, stepped } from './grid.ts';
import { pointedStep } from './input.ts';

export interface Ground {
  readonly size: Size;
  /** Whether no mover can stand on the cell of this key. */
  readonly isBlocked: (key: number) => boolean;
  /** Cells that a step leads on where they are free: two with double steps. */
  readonly cells: number;
}

export interface Path {
  /** The step to take on each cell of the way, by the cell's key, in the order of the way. */
  readonly steps: ReadonlyMap<number, Step>;
  /** Whether it leads there; else it ends as near as was found. */
  readonly isWhole: boolean;
}

/** Cells that one search looks at: a few milliseconds. */
export const LOOKED_AT_MAX = 4_096;
/** Cells around a target that are looked at to find it enclosed. */
const ENCLOSURE_MAX = 512;
const MOVES = STEPS.filter((step) => step !== 'stay');

/** Steps between two cells where nothing stands. */
export const distance = (from: Cell, to: Cell) => Math.max(Math.abs(from.x - to.x), Math.abs(from.y - to.y));

/** Where a step leads; the same cell where it leads nowhere. */
function reached(from: Cell, step: Step, { size, isBlocked, cells }: Ground): Cell {
  let at = from;
  for (let left = cells; left > 0; left -= 1) {
    const next = stepped(at, step);
    if (!isInside(next, size) || isBlocked(keyOf(next))) break;
    at = next;
  }
  return at;
}

/** The way; null where there is none, or none that leads nearer. */
export function findPath(from: Cell, to: Cell, ground: Ground): Path | null {
  const isFree = isInside(to, ground.size) && !ground.isBlocked(keyOf(to));
  return isFree && !isEnclosed(from, to, ground) ? search(from, to, ground) : null;
}

/** Whether few cells are connected with the target, and this is none of them: cheaper than to look at all that are not. */
function isEnclosed(from: Cell, to: Cell, ground: Ground): boolean {
  const seen = new Set([keyOf(to)]);
  const single = { ...ground, cells: 1 };
  for (const key of seen) {
    if (key === keyOf(from) || seen.size > ENCLOSURE_MAX) return false;
    for (const step of MOVES) seen.add(keyOf(reached(cellOf(key), step, single)));
  }
  return true;
}

interface Found {
  readonly step: Step;
  readonly before: number;
}

function search(from: Cell, to: Cell, ground: Ground): Path | null {
  const [start, goal] = [keyOf(from), keyOf(to)];
  /** Steps that are needed at least. */
  const ahead = (cell: Cell) => Math.ceil(distance(cell, to) / ground.cells);
  const costs = new Map([[start, 0]]);
  const came = new Map<number, Found>();
  const done = new Set<number>();
  /** Cells by the length of the shortest way over them: the last one that was added is looked at first, which keeps a way straight. */
  const waiting: number[][] = [];
  const put = (key: number, total: number) => (waiting[total] ??= []).push(key);
  put(start, ahead(from));
  let [nearest, nearestAt] = [start, apart(from, to)];
  for (let total = ahead(from); total < waiting.length && done.size < LOOKED_AT_MAX; ) {
    const key = waiting[total]?.pop();
    if (key === undefined) {
      total += 1;
      continue;
    }
    if (done.has(key)) continue;
    done.add(key);
    const cell = cellOf(key);
    if (key === goal) return { steps: traced(came, goal), isWhole: true };
    const away = apart(cell, to);
    if (away < nearestAt) [nearest, nearestAt] = [key, away];
    const cost = (costs.get(key) ?? 0) + 1;
    const straight = pointedStep(to.x - cell.x, to.y - cell.y);
    const look = (step: Step) => {
      const next = reached(cell, step, ground);
      const nextKey = keyOf(next);
      if (cost >= (costs.get(nextKey) ?? Number.POSITIVE_INFINITY)) return;
      costs.set(nextKey, cost);
      came.set(nextKey, { step, before: key });
      put(nextKey, cost + ahead(next));
    };
    for (const step of MOVES) if (step !== straight) look(step);
    if (straight !== 'stay') look(straight);
  }
  return nearest === start ? null : { steps: traced(came, nearest), isWhole: false };
}

/** How far cells lie apart, so that of two as many steps away the straighter one is nearer. */
function apart(one: Cell, other: Cell): number {
  return distance(one, other) + Math.hypot(one.x - other.x, one.y - other.y) / 0x10000;
}

function traced(came: ReadonlyMap<number, Found>, end: number): Map<number, Step> {
  const back: [number, Step][] = [];
  for (let found = came.get(end); found; found = came.get(found.before)) back.push([found.before, found.step]);
  return new Map(back.reverse());
}
