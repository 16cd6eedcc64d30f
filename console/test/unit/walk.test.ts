// Ways around trees, and walks on them.
import { describe, expect, test } from 'vitest';
import { type Cell, cellOf, keyOf, type Size, stepped } from '../../src/world/grid.ts';
import { distance, findPath, type Ground, LOOKED_AT_MAX, type Path } from '../../src/world/pathfinding.ts';
import { answered, begin, moved, ownCell, seen, step, type World } from '../../src/world/state.ts';
import { Walk } from '../../src/world/walk.ts';
import { dice } from '../fake.ts';
import { EMPTY } from './check.ts';

interface Picture {
  readonly size: Size;
  readonly trees: Set<number>;
  readonly from: Cell;
  readonly to: Cell;
}

/** `@` walks to `x`; `T` is a tree. */
function picture(...rows: string[]): Picture {
  const size = { width: rows[0]?.length ?? 0, height: rows.length };
  const cells = rows.flatMap((row, y) => [...row].map((what, x) => ({ what, x, y })));
  const found = (what: string) => cells.find((cell) => cell.what === what) ?? { x: 0, y: 0 };
  const trees = new Set(cells.filter(({ what }) => what === 'T').map(keyOf));
  return { size, trees, from: { x: found('@').x, y: found('@').y }, to: { x: found('x').x, y: found('x').y } };
}

const groundOf = ({ size, trees }: Picture, cells = 1): Ground => ({ size, cells, isBlocked: (key) => trees.has(key) });

/** The cells of a way, each held against the rules of the world. */
function walked(path: Path, from: Cell, ground: Ground): Cell[] {
  const cells = [from];
  let at = from;
  for (let n = 0; n <= path.steps.size; n += 1) {
    const way = path.steps.get(keyOf(at));
    if (!way) break;
    for (let left = ground.cells; left > 0; left -= 1) {
      const next = stepped(at, way);
      const isIn = next.x >= 0 && next.y >= 0 && next.x < ground.size.width && next.y < ground.size.height;
      if (!isIn || ground.isBlocked(keyOf(next))) break;
      at = next;
    }
    cells.push(at);
  }
  return cells;
}

const ROWS: readonly [string, Picture, number | null][] = [
  ['straight on', picture('@...x'), 4],
  ['across', picture('@...', '....', '....', '...x'), 3],
  ['around a tree', picture('.....', '@.T.x', '.....'), 4],
  ['between two trees, across', picture('@T', 'Tx'), 1],
  ['around a wall', picture('..T..', '@.T.x', '..T..', '.....'), 4],
  ['out of a pocket', picture('......', '.TTT..', '.@.T.x', '.TTT..', '......'), 6],
  ['to an enclosed cell: none', picture('@.TTT', '..TxT', '..TTT'), null],
  ['out of an enclosed cell: none', picture('TTT..', 'T@T.x', 'TTT..'), null],
  ['onto a tree: none', { ...picture('@..T.'), to: { x: 3, y: 0 } }, null],
  ['out of the world: none', { ...picture('@..'), to: { x: 9, y: 0 } }, null],
];

describe('a way', () => {
  test.each(ROWS)('%s', (_, scene, want) => {
    const path = findPath(scene.from, scene.to, groundOf(scene));
    expect(path && [path.isWhole, path.steps.size]).toEqual(want === null ? null : [true, want]);
  });

  test('with double steps is half as long, and ends beside what they step over', () => {
    const even = picture('@.......x');
    expect(findPath(even.from, even.to, groundOf(even, 2))?.steps.size).toBe(4);
    const odd = picture('@.x....');
    const past = { ...odd, to: { x: 3, y: 0 } };
    const path = findPath(past.from, past.to, groundOf(past, 2));
    expect(path?.isWhole === false && walked(path, past.from, groundOf(past, 2)).at(-1)).toEqual({ x: 2, y: 0 });
  });

  test('in a free world is never longer than a straight walk', () => {
    const chance = dice(11);
    const any = (size: number) => Math.floor(chance() * size);
    for (let n = 0; n < 100; n += 1) {
      const size = { width: 8 + any(500), height: 8 + any(500) };
      const [from, to] = [0, 1].map(() => ({ x: any(size.width), y: any(size.height) })) as [Cell, Cell];
      if (keyOf(from) === keyOf(to)) continue;
      expect(findPath(from, to, { size, cells: 1, isBlocked: () => false })?.steps.size).toBe(distance(from, to));
    }
  });

  test('among trees never goes through one, goes there where there is a way, and says where there is none', () => {
    const chance = dice(12);
    let [whole, none] = [0, 0];
    for (let n = 0; n < 300; n += 1) {
      const size = { width: 14, height: 14 };
      const cells = n % 3 === 0 ? 2 : 1;
      const trees = new Set<number>();
      for (let key = 0; key < 14 * 14; key += 1) if (chance() < 0.1 + 0.6 * ((n % 7) / 7)) trees.add(keyOf({ x: key % 14, y: Math.floor(key / 14) }));
      const [from, to] = [{ x: 1, y: 1 }, { x: 12, y: 11 }];
      trees.delete(keyOf(from));
      trees.delete(keyOf(to));
      const ground: Ground = { size, cells, isBlocked: (key) => trees.has(key) };
      const path = findPath(from, to, ground);
      const cellsOfWay = path ? walked(path, from, ground) : [];
      expect(cellsOfWay.some((cell) => trees.has(keyOf(cell)))).toBe(false);
      const steps = shortest(from, to, ground);
      if (path?.isWhole) expect([cellsOfWay.at(-1), path.steps.size]).toEqual([to, steps]);
      else expect(steps).toBeNull();
      [whole, none] = [whole + Number(path?.isWhole === true), none + Number(steps === null)];
    }
    expect([whole > 50, none > 50]).toEqual([true, true]);
  });

  test('is bounded: a search looks at no more than so many cells, and leads nearer', () => {
    // A wall of a kilometre stands in between.
    let looked = 0;
    const wall = (key: number) => {
      looked += 1;
      return cellOf(key).x === 2_000 && cellOf(key).y < 3_900;
    };
    const path = findPath({ x: 1_990, y: 1_000 }, { x: 2_100, y: 1_000 }, { size: { width: 4_096, height: 4_096 }, cells: 1, isBlocked: wall });
    expect(path?.isWhole).toBe(false);
    expect(looked).toBeLessThan(9 * (LOOKED_AT_MAX + 600));
  });
});

/** Steps of the shortest way by breadth alone, which cannot be wrong. */
function shortest(from: Cell, to: Cell, ground: Ground): number | null {
  const steps = new Map([[keyOf(from), 0]]);
  for (const [key, count] of steps) {
    if (key === keyOf(to)) return count;
    for (const way of ['n', 'ne', 'e', 'se', 's', 'sw', 'w', 'nw'] as const) {
      const end = walked({ steps: new Map([[key, way]]), isWhole: true }, cellOf(key), ground)[1];
      if (end && !steps.has(keyOf(end))) steps.set(keyOf(end), count + 1);
    }
  }
  return null;
}

describe('a walk', () => {
  const SIGHT = 4;

  /** A world that shows what is near, moves who may move, and refuses as a server does. */
  function play(scene: Picture, hidden: ReadonlySet<number> = new Set()): { end: string; cells: Cell[] } {
    const size = scene.size;
    let world: World = begin({ id: 1, cell: scene.from, nextSeq: 1, size, radius: { x: SIGHT, y: SIGHT }, score: 0 });
    const look = (now: World) => {
      const at = now.confirmed;
      const trees = [...scene.trees].map(cellOf).filter((tree) => distance(tree, at) <= SIGHT);
      return seen(now, { ...EMPTY, isFull: true, centre: at, trees });
    };
    world = look(world);
    const walk = new Walk(scene.to);
    const cells = [scene.from];
    for (let n = 0; n < 2_000; n += 1) {
      const next = walk.next(world, 1);
      if (next === null) throw new Error('nothing is on its way');
      if (typeof next !== 'string') return { end: next.end, cells };
      const taken = step(world, next);
      if (!taken) throw new Error(`a step ${next} that cannot be`);
      const to = ownCell(taken.world);
      if (hidden.has(keyOf(to))) {
        walk.refuse(to);
        world = answered(taken.world, taken.seq);
      } else {
        world = look(moved(taken.world, taken.seq, to));
        cells.push(to);
      }
    }
    throw new Error('it walks for ever');
  }

  test.each<[string, Picture, string]>([
    ['ends there', picture('@....', '.TTT.', '....x'), 'there'],
    ['finds the way again as it sees more', picture('..........', '......TTT.', '@.......Tx', '......TTT.', '..........'), 'there'],
    ['says so in front of what is enclosed, out of sight at first', picture('............', '.........TTT', '@........TxT', '.........TTT'), 'no_way'],
    ['says so at once where it is enclosed itself', picture('TTT.....', 'T@T....x', 'TTT.....'), 'no_way'],
  ])('%s', (_, scene, want) => {
    const { end, cells } = play(scene);
    expect(end).toBe(want);
    expect(cells.some((cell) => scene.trees.has(keyOf(cell)))).toBe(false);
  });

  test('goes around whoever stands in the way, and gives up where somebody stands on the target', () => {
    const scene = picture('.......', '@.....x', '.......');
    expect(play(scene, new Set([keyOf({ x: 3, y: 1 })])).end).toBe('there');
    expect(play(scene, new Set([keyOf({ x: 6, y: 1 })])).end).toBe('no_way');
  });

  test('ends in every world, and with a way there is one', () => {
    const chance = dice(13);
    const ends = new Set<string>();
    for (let n = 0; n < 150; n += 1) {
      const size = { width: 24, height: 18 };
      const trees = new Set<number>();
      for (let x = 0; x < 24; x += 1) for (let y = 0; y < 18; y += 1) if (chance() < 0.2 + 0.3 * ((n % 5) / 5)) trees.add(keyOf({ x, y }));
      const [from, to] = [{ x: 0, y: 9 }, { x: 23, y: 9 }];
      trees.delete(keyOf(from));
      trees.delete(keyOf(to));
      const { end } = play({ size, trees, from, to });
      const isPossible = shortest(from, to, { size, cells: 1, isBlocked: (key) => trees.has(key) }) !== null;
      ends.add(end);
      expect(end).toBe(isPossible ? 'there' : 'no_way');
    }
    expect([...ends].sort()).toEqual(['no_way', 'there']);
  });

  test('shows what is still to be walked over', () => {
    const scene = picture('@...x');
    const world = seen(begin({ id: 1, cell: scene.from, nextSeq: 1, size: scene.size, radius: { x: 9, y: 9 }, score: 0 }), { ...EMPTY, isFull: true, centre: scene.from });
    const walk = new Walk(scene.to);
    walk.next(world, 1);
    expect(walk.ahead({ x: 2, y: 0 })).toEqual([{ x: 2, y: 0 }, { x: 3, y: 0 }]);
  });
});
