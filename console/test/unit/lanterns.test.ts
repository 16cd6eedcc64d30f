import { describe, expect, test } from 'vitest';
import { keyOf } from '../../src/world/grid.ts';
import { beside, drawLantern, evening, isFound, LANTERNS, meet, readEvening, wayTo } from '../../src/world/lanterns.ts';
import { distance } from '../../src/world/pathfinding.ts';
import { begin, seen } from '../../src/world/state.ts';
import { dice } from '../fake.ts';
import { EMPTY, world } from './check.ts';

const at = (x: number, y: number) => ({ x, y });

describe('a lantern', () => {
  test('stands some way off, in the world, in no tree that is known, and further each time', () => {
    const chance = dice(5);
    const size = { width: 400, height: 400 };
    for (let lit = 0; lit < LANTERNS; lit += 1) {
      for (let n = 0; n < 200; n += 1) {
        const own = at(Math.floor(chance() * 400), Math.floor(chance() * 400));
        const trees = Array.from({ length: 300 }, () => at(own.x + Math.floor(chance() * 20), own.y + Math.floor(chance() * 20)));
        const now = seen(begin({ id: 1, cell: own, nextSeq: 1, size, radius: at(20, 20), score: 0 }), { ...EMPTY, isFull: true, centre: own, trees });
        const cell = drawLantern(now, lit, chance);
        expect([cell.x >= 0, cell.y >= 0, cell.x < 400, cell.y < 400, now.trees.has(keyOf(cell))]).toEqual([true, true, true, true, false]);
        expect(distance(own, cell)).toBeLessThanOrEqual(10 + 4 * lit);
        expect(distance(own, cell)).toBeGreaterThan(0);
      }
    }
  });
  test('has a cell in the smallest of worlds', () => {
    const now = world();
    expect(distance(drawLantern(now, 6, dice(1)), at(5, 5))).toBeGreaterThan(0);
  });
  test.each([
    [at(5, 5), true],
    [at(6, 6), true],
    [at(7, 5), false],
  ])('at %j is found from 5, 5: %s', (lantern, want) => expect(isFound(at(5, 5), lantern)).toBe(want));
});

test.each([
  [at(9, 5), '4 cells east'],
  [at(5, 4), '1 cell north'],
  [at(1, 9), '4 cells south-west'],
  [at(25, 2), '20 cells east'],
  [at(2, 2), '3 cells north-west'],
])('the way to %j is %s', (to, want) => expect(wayTo(at(5, 5), to)).toBe(want));

test('who has a name and stands beside one is met, once a day', () => {
  const mover = (id: number, x: number, y: number, name?: string) => ({ id, at: at(x, y), emoji: '😁', ...(name ? { name } : {}) });
  const now = world({ entered: [mover(1, 6, 6, 'Ann'), mover(2, 7, 5, 'Ben'), mover(3, 5, 4)] });
  expect(beside(now).map(({ name }) => name)).toEqual(['Ann']);
  const met = meet(meet(evening('today'), 'Ann'), 'Ann');
  expect(met.met).toEqual(['Ann']);
});

test.each([
  [null, 0],
  ['{', 0],
  ['null', 0],
  [JSON.stringify({ day: 'yesterday', lit: 3, met: [] }), 0],
  [JSON.stringify({ day: 'today', lit: 3, met: [] }), 3],
  [JSON.stringify({ day: 'today', lit: 99, met: [] }), LANTERNS],
  [JSON.stringify({ day: 'today', lit: -1, met: [] }), 0],
  [JSON.stringify({ day: 'today', lit: 3, met: [7] }), 0],
  [JSON.stringify({ day: 'today', lit: 'x', met: [] }), 0],
])('of %j so many lanterns burn: %i', (text, lit) => expect(readEvening(text, 'today').lit).toBe(lit));
