import { describe, expect, test } from 'vitest';
import { guestName } from '../../src/world/api.ts';
import { waitMs } from '../../src/world/backoff.ts';
import { cellPixels, corner } from '../../src/world/draw.ts';
import { cellOf, keyOf, readCell, STEPS, stepped, stepTowards } from '../../src/world/grid.ts';
import { blend, colour, paint, palette, region, warmth } from '../../src/world/heat.ts';
import { heldStep, isArrow, pointedStep } from '../../src/world/input.ts';
import { allowed, AT_REST, isTime, stepTaken, tooFast } from '../../src/world/pace.ts';
import { DARK, LIGHT } from '../../src/world/theme.ts';

describe('grid', () => {
  test('every step leads one way, and back', () => {
    for (const step of STEPS) {
      const { x, y } = stepped({ x: 0, y: 0 }, step);
      expect(stepTowards(x * 9, y * 3)).toBe(step);
    }
  });
  test.each([[0, 0], [65_535, 0], [0, 65_535], [65_535, 65_535], [999, 3]])('cell %i, %i has a key of its own', (x, y) =>
    expect(cellOf(keyOf({ x, y }))).toEqual({ x, y }));
});

test.each([
  ['12,34', { x: 12, y: 34 }],
  ['0,0', { x: 0, y: 0 }],
  ['1,', null],
  ['-1,2', null],
  ['1,2,3', null],
  ['123456,1', null],
  [null, null],
])('the cell %j', (text, want) => expect(readCell(text)).toEqual(want));

describe('input', () => {
  test.each([
    [[], 'stay'],
    [['ArrowUp'], 'n'],
    [['ArrowUp', 'ArrowRight'], 'ne'],
    [['ArrowUp', 'ArrowDown'], 'stay'],
    [['ArrowUp', 'ArrowDown', 'ArrowLeft'], 'w'],
    [['a', ' ', 'Enter', 'constructor'], 'stay'],
  ])('%j walks %s', (keys, want) => expect(heldStep(new Set(keys))).toBe(want));
  test.each(['a', ' ', 'Enter', 'Escape', 'toString', 'arrowup'])('%s is no arrow', (key) => expect(isArrow(key)).toBe(false));
  test.each([
    [0, 0, 'stay'],
    [0.3, 0.3, 'stay'],
    [5, 0, 'e'],
    [5, 1, 'e'],
    [5, 4, 'se'],
    [0, -9, 'n'],
    [-3, -3, 'nw'],
    [-9, 0.1, 'w'],
    [-9, -0.1, 'w'],
  ])('a finger at %f, %f goes %s', (x, y, want) => expect(pointedStep(x, y)).toBe(want));
});

describe('pace', () => {
  test('one step a period', () => {
    expect(isTime(AT_REST, 0)).toBe(true);
    const pace = stepTaken(AT_REST, 1_000);
    expect([isTime(pace, 1_000 + pace.everyMs - 1), isTime(pace, 1_000 + pace.everyMs)]).toEqual([false, true]);
  });
  test.each([[0, 110], [50, 110], [250, 250], [9_000, 1_000]])('a world that allows a step in %i ms is walked at %i', (min, want) =>
    expect(allowed(min).everyMs).toBe(want));
  test('slows down to what is allowed, with an end', () => {
    let pace = tooFast(AT_REST);
    expect(pace.everyMs).toBeGreaterThan(AT_REST.everyMs);
    for (let n = 0; n < 50; n += 1) pace = tooFast(pace);
    expect(pace.everyMs).toBe(1_000);
  });
});

describe('backoff', () => {
  test.each([
    [1, 0, 200],
    [1, 1, 400],
    [2, 1, 800],
    [5, 1, 6_400],
    [6, 1, 8_000],
    [2_000, 1, 8_000],
  ])('after %i failures, by chance %f: %i ms', (failures, chance, want) => expect(waitMs(failures, chance)).toBe(want));
});

describe('heat', () => {
  test('grows with the count, and one mover is seen beside a million', () => {
    const shares = [0, 1, 2, 10, 1_000, 1_000_000].map((count) => warmth(count, 1_000_000));
    expect(shares).toEqual([...shares].sort((a, b) => a - b));
    expect([shares[0], shares.at(-1)]).toEqual([0, 1]);
    expect(shares[1]).toBeGreaterThan(0.2);
    expect(warmth(1, 1)).toBe(shares[1]);
  });
  test.each([DARK.heat, LIGHT.heat])('colours begin and end where the theme says', (...heat) => {
    expect(colour(0, heat)).toEqual(heat[0]);
    expect(colour(1, heat)).toEqual(heat.at(-1));
    expect(colour(7, heat)).toEqual(heat.at(-1));
  });
  test('nobody and somebody are told apart', () => {
    const bytes = new Uint8ClampedArray(12);
    paint([0, 1, 50], palette(DARK.heat), bytes);
    expect([...bytes.slice(0, 4)]).toEqual([...(DARK.heat[0] ?? []), 255]);
    expect([...bytes.slice(4, 8)]).not.toEqual([...bytes.slice(0, 4)]);
    expect([...bytes.slice(8)]).toEqual([...(DARK.heat.at(-1) ?? []), 255]);
  });
  test('counts glide from one answer to the next', () => {
    expect(blend([0, 4], [2, 0], 0.5)).toEqual([1, 2]);
    expect(blend([], [2, 0], 0.5)).toEqual([2, 0]);
  });
  test.each([
    [null, 5, 5, [0, 0, 1_000, 800]],
    [64, 500, 400, [468, 368, 64, 64]],
    [64, 0, 799, [0, 736, 64, 64]],
    [5_000, 3, 3, [0, 0, 1_000, 800]],
  ])('%j cells around %i, %i lie within the world', (cells, x, y, want) =>
    expect(Object.values(region({ width: 1_000, height: 800 }, { x, y }, cells))).toEqual(want));
});

describe('drawing', () => {
  const frame = { width: 400, height: 200, cellPx: 20 };
  test('the cell of the camera is in the middle', () =>
    expect(corner({ x: 5, y: 5 }, { x: 5, y: 5 }, frame)).toEqual({ x: 190, y: 90 }));
  test('a cell to the right is one cell to the right', () =>
    expect(corner({ x: 6, y: 5 }, { x: 5.5, y: 5 }, frame)).toEqual({ x: 200, y: 90 }));
  test.each([
    [1_280, 800, 1, 29],
    [390, 560, 1, 20],
    [4_000, 4_000, 1, 48],
    [780, 1_120, 2, 40],
  ])('%i x %i at %i pixels a point has cells of %i', (width, height, ratio, want) =>
    expect(cellPixels(width, height, { x: 13, y: 13 }, ratio)).toBe(want));
});

test('guests have names', () => {
  expect(guestName(() => 0)).toBe('Amber Badger');
  expect(guestName(() => 0.999)).toBe('Lunar Marten');
});
