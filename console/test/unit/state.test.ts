import { describe, expect, test } from 'vitest';
import type { Step } from '../../src/world/grid.ts';
import { cellOf } from '../../src/world/grid.ts';
import { act, answered, itemsWithin, moved, ownCell, PENDING_MAX, resequenced, seen, step, type View, type World } from '../../src/world/state.ts';
import { EMPTY, world } from './check.ts';

function walk(world: World, ...steps: Step[]): World {
  return steps.reduce((world, way) => step(world, way)?.world ?? world, world);
}

/** One step that leads two cells on. */
function strode(world: World, way: Step): World {
  return step(world, way, 2)?.world ?? world;
}

const at = (x: number, y: number) => ({ x, y });
const mover = (id: number, x: number, y: number) => ({ id, at: at(x, y), emoji: '🤖' });

describe('the own mover', () => {
  const tree = { trees: [at(6, 5)] };
  const rows: [string, World, [number, number]][] = [
    ['stands where the server says', world(), [5, 5]],
    ['is shown where its step leads, before the answer', walk(world(), 'n'), [5, 4]],
    ['takes several steps', walk(world(), 'n', 'ne', 'e'), [7, 3]],
    ['does not walk into a tree', walk(world(tree), 'e'), [5, 5]],
    ['walks around it', walk(world(tree), 'ne', 'se'), [7, 5]],
    ['stays within the world', walk(moved(world(), 0, at(0, 0)), 'nw', 'w', 's'), [0, 1]],
    ['is where the answer says', moved(walk(world(), 'n'), 1, at(9, 9)), [9, 9]],
    ['keeps the steps behind the answered one', moved(walk(world(), 'n', 'e'), 1, at(5, 4)), [6, 4]],
    ['goes back when refused', answered(walk(world(), 'n'), 1), [5, 5]],
    ['goes on from there when an earlier step was refused', answered(walk(world(), 'n', 'e'), 1), [6, 5]],
    ['is not moved by an old answer', answered(walk(world(), 'n'), 0), [5, 4]],
    ['forgets what the server never saw', resequenced(walk(world(), 'n', 'n'), 40), [5, 5]],
    ['goes two cells where a step leads so far', strode(world(), 'n'), [5, 3]],
    ['goes one where the second is a tree', strode(world({ trees: [at(5, 3)] }), 'n'), [5, 4]],
    ['goes none where the first is one', strode(world({ trees: [at(5, 4)] }), 'n'), [5, 5]],
    ['goes one where the world ends behind it', strode(moved(world(), 0, at(1, 1)), 'nw'), [0, 0]],
    ['is pushed aside by a tree that comes into view', seen(walk(world(), 'e'), { ...EMPTY, ...tree }), [5, 5]],
  ];
  test.each(rows)('%s', (_, world, [x, y]) => expect(ownCell(world)).toEqual(at(x, y)));

  test('numbers what it does without gaps', () => {
    const first = step(world(), 'n');
    const second = act(first?.world ?? world());
    expect([first?.seq, second.seq, second.world.nextSeq]).toEqual([1, 2, 3]);
    expect(step(resequenced(second.world, 40), 'n')?.seq).toBe(40);
  });

  test('does not run far ahead of the server', () => {
    const steps = Array.from({ length: 20 }, (_, n): Step => (n % 2 ? 'n' : 's'));
    expect(walk(world(), ...steps).pending).toHaveLength(PENDING_MAX);
  });

  test('takes no number for a step that cannot be', () => {
    expect(step(world({ trees: [at(5, 4)] }), 'n')).toBeNull();
    expect(step(world(), 'stay')).toBeNull();
  });
});

describe('a view', () => {
  const before: Partial<View> = {
    entered: [mover(1, 4, 4), mover(2, 6, 6)],
    trees: [at(2, 5), at(8, 5)],
    lifeOn: [at(3, 3), at(4, 3)],
    itemsIn: [{ at: at(5, 6), kind: 'chest', emoji: '🎁' }],
  };
  function check(view: Partial<View>, want: { movers?: [number, number, number][]; trees?: number[][]; life?: number[][]; items?: string[] }) {
    const after = seen(world(before), { ...EMPTY, ...view });
    const cells = (keys: ReadonlySet<number>) => [...keys].map(cellOf).map(({ x, y }) => [x, y]);
    if (want.movers) expect([...after.movers.values()].map(({ id, at }) => [id, at.x, at.y])).toEqual(want.movers);
    if (want.trees) expect(cells(after.trees)).toEqual(want.trees);
    if (want.life) expect(cells(after.life)).toEqual(want.life);
    if (want.items) expect([...after.items.values()].map(({ kind }) => kind)).toEqual(want.items);
  }

  test('without news leaves everything', () => check({}, { movers: [[1, 4, 4], [2, 6, 6]], trees: [[2, 5], [8, 5]], life: [[3, 3], [4, 3]], items: ['chest'] }));
  test('moves, adds and takes away movers', () =>
    check({ moved: [{ id: 1, at: at(4, 5) }], left: [2], entered: [mover(3, 5, 5)] }, { movers: [[1, 4, 5], [3, 5, 5]] }));
  test('passes over a move of somebody unknown', () => check({ moved: [{ id: 9, at: at(1, 1) }] }, { movers: [[1, 4, 4], [2, 6, 6]] }));
  test('takes back somebody who left and came in one update', () => check({ left: [1], entered: [mover(1, 7, 7)] }, { movers: [[2, 6, 6], [1, 7, 7]] }));
  test('grows and ends life', () => check({ lifeOn: [at(5, 3)], lifeOff: [at(3, 3)] }, { life: [[4, 3], [5, 3]] }));
  test('takes away what was claimed', () => check({ itemsGone: [at(5, 6)] }, { items: [] }));
  test('forgets cells beyond the margin, and only those', () => check({ centre: at(8, 5) }, { trees: [[8, 5]], life: [[4, 3]], items: ['chest'] }));
  test('in full replaces everything', () => check({ isFull: true, entered: [mover(9, 5, 5)] }, { movers: [[9, 5, 5]], trees: [], life: [], items: [] }));
  test('of another radius keeps what lies within it', () =>
    check({ isFull: true, radius: at(6, 6), trees: [at(0, 5)] }, { trees: [[0, 5]] }));
  test('keeps the radius that the last full one said', () => {
    const wide = seen(world(), { ...EMPTY, isFull: true, radius: at(6, 6), trees: [at(0, 5)] });
    expect(seen(wide, EMPTY).trees.size).toBe(1);
    expect(seen(world({ trees: [at(0, 5)] }), EMPTY).trees.size).toBe(0);
  });
  test('tells the score and the round, where they changed', () => {
    const round = { number: 2, phase: 'running', untilMs: 9, chestsLeft: 3, ended: 0, scores: [] } as const;
    const after = seen(world(), { ...EMPTY, score: 5, round: { ...round, ended: 1, scores: [{ id: 7, name: '', score: 4 }] } });
    expect([world().score, after.score, after.lastRound?.scores.length]).toEqual([3, 5, 1]);
    const later = seen(after, { ...EMPTY, round: { ...round, chestsLeft: 2 } });
    expect([later.score, later.round?.chestsLeft, later.lastRound?.ended]).toEqual([5, 2, 1]);
    expect(seen(later, { ...EMPTY, isFull: true }).round?.number).toBe(2);
  });
  test('says what lies below', () => {
    const itemsIn = [at(5, 5), at(7, 3), at(8, 5)].map((at) => ({ at, kind: 'chest', emoji: '🎁' }));
    const near = (cells: number) => itemsWithin(world({ itemsIn }), cells).map(({ at }) => [at.x, at.y]);
    expect([near(0), near(1), near(2)]).toEqual([[[5, 5]], [[5, 5]], [[5, 5], [7, 3]]]);
  });
});
