// A walk to a cell that the player pointed at: one step after the other, on a way that is found again when a tree comes into view on it, a
// step was refused, or steps become longer. Ends there, or says why not. Pure but for what it remembers.
import { type Cell, cellOf, keyOf, type Step } from './grid.ts';
import { distance, findPath, type Path } from './pathfinding.ts';
import { ownCell, type World } from './state.ts';

/** How a walk ended: there; as near as steps of two cells lead; in front of what cannot be walked around. */
export type End = 'there' | 'near' | 'no_way';

/** Ways in vain after which it is given up: each was found, and led no nearer than one before. */
const VAIN_MAX = 24;
const NOWHERE: Path = { steps: new Map(), isWhole: false };

export class Walk {
  /** Trees that were seen on the way, and cells on which a mover stood: worlds forget what is out of sight. */
  readonly #blocked = new Set<number>();
  #path: Path | null = null;
  #trees: ReadonlySet<number> | null = null;
  #cells = 0;
  #nearest = Number.POSITIVE_INFINITY;
  #vain = 0;

  constructor(readonly target: Cell) {}

  /** The cells that are still to be walked over, from the own one on. */
  ahead(own: Cell): readonly Cell[] {
    const keys = [...(this.#path?.steps.keys() ?? [])];
    return keys.slice(Math.max(0, keys.indexOf(keyOf(own)))).map(cellOf);
  }

  /** The next step, or how the walk ended; null while answers must be waited for. */
  next(world: World, cells: number): Step | { readonly end: End } | null {
    const own = ownCell(world);
    if (keyOf(own) === keyOf(this.target)) return world.pending.length > 0 ? null : { end: 'there' };
    this.#see(world, cells);
    const known = this.#path?.steps.get(keyOf(own));
    if (known) return known;
    // What was sent may still be refused, which leads back.
    const isWaiting = world.pending.length > 0;
    if (this.#path && isWaiting) return null;
    this.#path = this.#find(own, world);
    if (!this.#path && isWaiting) this.#path = NOWHERE;
    if (this.#path) return this.#path.steps.get(keyOf(own)) ?? null;
    return { end: cells > 1 && distance(own, this.target) === 1 && !this.#blocked.has(keyOf(this.target)) ? 'near' : 'no_way' };
  }

  /** The mover is not let onto this cell: another one stands there, or a tree. */
  refuse(cell: Cell) {
    this.#blocked.add(keyOf(cell));
    this.#path = null;
  }

  #see(world: World, cells: number) {
    if (cells !== this.#cells) this.#path = null;
    this.#cells = cells;
    if (world.trees === this.#trees) return;
    this.#trees = world.trees;
    for (const key of world.trees) this.#blocked.add(key);
    const isCut = [...(this.#path?.steps.keys() ?? []), keyOf(this.target)].some((key) => this.#blocked.has(key));
    if (isCut) this.#path = null;
  }

  #find(own: Cell, { size }: World): Path | null {
    const away = distance(own, this.target);
    this.#vain = away < this.#nearest ? 0 : this.#vain + 1;
    this.#nearest = Math.min(this.#nearest, away);
    if (this.#vain > VAIN_MAX) return null;
    return findPath(own, this.target, { size, cells: this.#cells, isBlocked: (key) => this.#blocked.has(key) });
  }
}
