// A small world to try things on.
import { begin, seen, type View, type World } from '../../src/world/state.ts';

export const EMPTY: View = {
  isFull: false,
  centre: { x: 5, y: 5 },
  entered: [],
  moved: [],
  left: [],
  trees: [],
  itemsIn: [],
  itemsGone: [],
  lifeOn: [],
  lifeOff: [],
  crowd: 0,
  oldestMs: 0,
};

/** Ten cells a side, sight of two; the own mover, number 7, in the middle. */
export function world(view: Partial<View> = {}): World {
  const size = { width: 10, height: 10 };
  const fresh = begin({ id: 7, cell: { x: 5, y: 5 }, nextSeq: 1, size, radius: { x: 2, y: 2 }, score: 3 });
  return seen(fresh, { ...EMPTY, isFull: true, ...view });
}
