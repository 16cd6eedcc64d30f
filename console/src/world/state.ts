// What the page knows of the world: a pure function of the frames that came and the steps that were taken.
//
// The own mover is shown where it will be if the server agrees: its last confirmed cell and the steps that are on their
// way. Every answer puts the truth in their place. Refuses to know sockets, clocks and pixels.
import { type Cell, cellOf, isInside, keyOf, type Size, type Step, stepped } from './grid.ts';
import type { Round } from './protocol.ts';

export interface Mover {
  readonly id: number;
  readonly at: Cell;
  readonly emoji: string;
  readonly name?: string;
}

export interface Item {
  readonly at: Cell;
  readonly kind: string;
  readonly emoji: string;
}

/** What a viewer did not know yet; with `isFull` all that there is to know. */
export interface View {
  readonly isFull: boolean;
  readonly centre: Cell;
  /** How far it reaches, where that differs from before: only full views say so. */
  readonly radius?: Cell;
  readonly round?: Round;
  /** The own one. */
  readonly score?: number;
  readonly entered: readonly Mover[];
  readonly moved: readonly { readonly id: number; readonly at: Cell }[];
  readonly left: readonly number[];
  readonly trees: readonly Cell[];
  readonly itemsIn: readonly Item[];
  readonly itemsGone: readonly Cell[];
  readonly lifeOn: readonly Cell[];
  readonly lifeOff: readonly Cell[];
  /** Movers within sight beyond those that a view names. */
  readonly crowd: number;
  /** When the oldest of it came to the server, by the server's clock; 0 when it says nothing new. */
  readonly oldestMs: number;
}

export interface Registered {
  readonly id: number;
  readonly cell: Cell;
  readonly nextSeq: number;
  readonly size: Size;
  readonly radius: Cell;
  readonly score: number;
}

/** Something that was done and not answered yet. */
interface Pending {
  readonly seq: number;
  readonly step: Step;
  /** Cells that it leads on, where they are free. */
  readonly cells: number;
}

export interface World {
  readonly id: number;
  readonly size: Size;
  readonly radius: Cell;
  readonly confirmed: Cell;
  readonly pending: readonly Pending[];
  readonly nextSeq: number;
  readonly score: number;
  readonly trees: ReadonlySet<number>;
  readonly life: ReadonlySet<number>;
  readonly items: ReadonlyMap<number, Item>;
  readonly movers: ReadonlyMap<number, Mover>;
  readonly crowd: number;
  /** In a hunt. */
  readonly round: Round | null;
  /** The round that ended last, with its scores. */
  readonly lastRound: Round | null;
}

/** Cells further than the radius that the server tells about all the same, so that one own step shows nothing empty. */
export const MARGIN_CELLS = 2;

/** Steps on their way at most: a connection that stalls must not send a walk of minutes when it comes back. */
export const PENDING_MAX = 8;

const NOTHING: Pick<World, 'trees' | 'life' | 'items' | 'movers'> = {
  trees: new Set(),
  life: new Set(),
  items: new Map(),
  movers: new Map(),
};

export function begin(registered: Registered): World {
  const { id, size, radius, cell, nextSeq, score } = registered;
  return {
    id,
    size,
    radius,
    confirmed: cell,
    pending: [],
    nextSeq,
    score,
    ...NOTHING,
    crowd: 0,
    round: null,
    lastRound: null,
  };
}

/** Where the own mover is shown. */
export function ownCell(world: World): Cell {
  return world.pending.reduce((cell, { step, cells }) => walked(world, cell, step, cells), world.confirmed);
}

/** Takes a step, and says which number it has. Nothing when too many are on their way, or where it is known to fail. */
export function step(world: World, step: Step, cells = 1): { world: World; seq: number } | null {
  const from = ownCell(world);
  if (world.pending.length >= PENDING_MAX || walked(world, from, step, 1) === from) return null;
  return act(world, step, cells);
}

/** Takes a number for something that does not move. */
export function act(world: World, step: Step = 'stay', cells = 0): { world: World; seq: number } {
  const seq = world.nextSeq;
  return { seq, world: { ...world, nextSeq: seq + 1, pending: [...world.pending, { seq, step, cells }] } };
}

/** The server moved us here. */
export function moved(world: World, seq: number, cell: Cell): World {
  return { ...answered(world, seq), confirmed: cell };
}

/** The server answered without moving us, or refused. */
export function answered(world: World, seq: number): World {
  const done = world.pending.filter((pending) => pending.seq > seq);
  return done.length === world.pending.length ? world : { ...world, pending: done };
}

/** The server expects another number: what is on its way was not done. */
export function resequenced(world: World, expected: number): World {
  return { ...world, pending: [], nextSeq: expected };
}

export function scored(world: World, score: number): World {
  return { ...world, score };
}

/** How far the hunt is. */
export function hunted(world: World, round: Round): World {
  return { ...world, round, lastRound: round.ended > 0 ? round : world.lastRound };
}

export function seen(world: World, view: View): World {
  const known = view.isFull ? NOTHING : world;
  const radius = view.radius ?? world.radius;
  // The server forgets what it told about cells that went out of sight, and so must we: it will tell of them again.
  const isNear = (cell: Cell) =>
    Math.abs(cell.x - view.centre.x) <= radius.x + MARGIN_CELLS &&
    Math.abs(cell.y - view.centre.y) <= radius.y + MARGIN_CELLS;
  const heard = view.round ? hunted(world, view.round) : world;
  return {
    ...heard,
    score: view.score ?? heard.score,
    radius,
    crowd: view.crowd,
    trees: cells(known.trees, isNear, view.trees, []),
    life: cells(known.life, isNear, view.lifeOn, view.lifeOff),
    items: items(known.items, isNear, view),
    movers: movers(known.movers, view),
  };
}

function walked(world: World, from: Cell, step: Step, cells: number): Cell {
  if (cells === 0 || step === 'stay') return from;
  const to = stepped(from, step);
  return !isInside(to, world.size) || world.trees.has(keyOf(to)) ? from : walked(world, to, step, cells - 1);
}

function cells(
  known: ReadonlySet<number>,
  isNear: (cell: Cell) => boolean,
  came: readonly Cell[],
  went: readonly Cell[],
): ReadonlySet<number> {
  const next = new Set<number>();
  for (const key of known) if (isNear(cellOf(key))) next.add(key);
  for (const cell of went) next.delete(keyOf(cell));
  for (const cell of came) next.add(keyOf(cell));
  return next;
}

function items(
  known: ReadonlyMap<number, Item>,
  isNear: (cell: Cell) => boolean,
  view: View,
): ReadonlyMap<number, Item> {
  const next = new Map([...known].filter(([, item]) => isNear(item.at)));
  for (const cell of view.itemsGone) next.delete(keyOf(cell));
  for (const item of view.itemsIn) next.set(keyOf(item.at), item);
  return next;
}

function movers(known: ReadonlyMap<number, Mover>, view: View): ReadonlyMap<number, Mover> {
  const next = new Map(known);
  for (const id of view.left) next.delete(id);
  for (const mover of view.entered) next.set(mover.id, mover);
  for (const { id, at } of view.moved) {
    const mover = next.get(id);
    if (mover) next.set(id, { ...mover, at });
  }
  return next;
}

/** Whether there is something to hunt for. */
export const isHunt = (world: World) => world.round !== null || world.items.size > 0;

/** The thing to take that is the fewest steps away, of those in sight. */
export function nearestItem(world: World): Item | null {
  const own = ownCell(world);
  const away = ({ at }: Item) => Math.max(Math.abs(at.x - own.x), Math.abs(at.y - own.y));
  return [...world.items.values()].reduce<Item | null>((best, item) => (best && away(best) <= away(item) ? best : item), null);
}

/** What lies within so many cells of the own mover. */
export function itemsWithin(world: World, cells: number): readonly Item[] {
  const { x, y } = world.confirmed;
  return [...world.items.values()].filter(({ at }) => Math.max(Math.abs(at.x - x), Math.abs(at.y - y)) <= cells);
}
