import { describe, expect, test } from 'vitest';
import { guestName } from '../../src/world/api.ts';
import { waitMs } from '../../src/common/backoff.ts';
import { nextCursor } from '../../src/common/cursor.ts';
import { ago } from '../../src/common/format.ts';
import { corner } from '../../src/world/draw.ts';
import { cellOf, keyOf, readCell, STEPS, stepped, stepTowards } from '../../src/world/grid.ts';
import { blend, colour, crowded, type Density, mostOf, paint, palette, region, scaleOf, sparse, warmth } from '../../src/world/heat.ts';
import { heldStep, isLetter, pointedCell, pointedStep, walkingKey } from '../../src/world/input.ts';
import { floating, popped, risen } from '../../src/world/pops.ts';
import { helped, leftMs, reach } from '../../src/world/powers.ts';
import { cellSide, radiusFor } from '../../src/world/sight.ts';
import { clock, counted, lookOf, sentence } from '../../src/common/words.ts';
import { allowed, AT_REST, isTime, stepTaken, tooFast } from '../../src/world/pace.ts';
import { DARK, LIGHT } from '../../src/world/theme.ts';
import { menuFor } from '../../src/shell/menu.ts';
import { isWithin, routeOf } from '../../src/shell/routes.ts';

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
    [['KeyW', 'KeyA'], 'nw'],
    [['KeyS', 'ArrowDown'], 's'],
    [['a', ' ', 'Enter', 'constructor'], 'stay'],
  ])('%j walks %s', (keys, want) => expect(heldStep(new Set(keys))).toBe(want));
  test.each([
    ['ArrowUp', 'ArrowUp', 'ArrowUp'],
    ['ArrowUp', 'Numpad8', 'ArrowUp'],
    ['w', 'KeyW', 'KeyW'],
    ['z', 'KeyW', 'KeyW'],
    ['w', 'KeyZ', null],
    ['Enter', 'Enter', null],
    ['toString', 'constructor', null],
  ])('the key %s at %s walks as %j', (key, code, want) => expect(walkingKey({ key, code })).toBe(want));
  test.each([['KeyA', true], ['ArrowLeft', false]])('%s is a letter elsewhere: %s', (name, want) => expect(isLetter(name)).toBe(want));
  test.each([[0, 0, 9.4, 20], [2.6, -1.4, 12, 19], [-0.4, 0.4, 9, 20]])('%f, %f beside the middle lies in cell %i, %i', (dx, dy, x, y) =>
    expect(pointedCell({ x: 9.4, y: 20 }, dx, dy)).toEqual({ x: Math.round(x), y }));
  test.each([
    [0, 0, 'stay'],
    [0.3, 0.3, 'se'],
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

describe('the crowd', () => {
  /** A world of 1,000 cells a side in bins of 8, and so many movers in some of the bins. */
  function whole(...heaps: [column: number, row: number, count: number][]): Density {
    const counts = new Array<number>(125 * 125).fill(0);
    for (const [column, row, count] of heaps) counts[row * 125 + column] = count;
    return { x: 0, y: 0, width: 1_000, height: 1_000, columns: 125, rows: 125, bin: 8, movers: 0, counts };
  }
  const rows: [string, Density, number[]][] = [
    ['at one point is shown large', whole([62, 62, 500]), [468, 468, 64, 64]],
    ['at a corner lies within the world', whole([0, 124, 500]), [0, 936, 64, 64]],
    ['in two places is shown with both', whole([50, 60, 300], [70, 62, 200]), [356, 364, 256, 256]],
    ['does without a few stragglers', whole([62, 62, 500], [0, 0, 4], [124, 124, 4]), [468, 468, 64, 64]],
    ['everywhere is all of the world', whole([0, 0, 9], [124, 124, 9]), [0, 0, 1_000, 1_000]],
    ['of nobody is all of the world', whole(), [0, 0, 1_000, 1_000]],
  ];
  test.each(rows)('%s', (_, map, want) => expect(Object.values(crowded(map, null))).toEqual(want));
  test('is looked at without moving for as long as it is in the picture', () => {
    const before = crowded(whole([62, 62, 500]), null);
    expect(crowded(whole([63, 61, 500]), before)).toBe(before);
    expect(crowded(whole([70, 62, 500]), before)).not.toBe(before);
  });
  test('that came together is shown larger again', () =>
    expect(crowded(whole([62, 62, 500]), { x: 0, y: 0, width: 1_000, height: 1_000 }).width).toBe(64));
  test('of few is told one by one, in the colours as painted', () => {
    const painted = new Uint8ClampedArray(16).map((_, at) => at);
    expect(sparse([0, 0, 0, 0.5], 2, painted)).toEqual([{ column: 1, row: 1, colour: 'rgb(12, 13, 14)' }]);
    expect(sparse(new Array<number>(201).fill(1), 2, painted)).toEqual([]);
  });
  test('has a scale from one to the most', () => {
    expect(scaleOf([0, 100, 3], 3)).toEqual([1, 10, 100]);
    expect(mostOf([])).toBe(1);
  });
});

describe('drawing', () => {
  const frame = { width: 400, height: 200, cellPx: 20, lettersPx: 11 };
  test('the cell of the camera is in the middle', () =>
    expect(corner({ x: 5, y: 5 }, { x: 5, y: 5 }, frame)).toEqual({ x: 190, y: 90 }));
  test('a cell to the right is one cell to the right', () =>
    expect(corner({ x: 6, y: 5 }, { x: 5.5, y: 5 }, frame)).toEqual({ x: 200, y: 90 }));
});

describe('sight', () => {
  test.each([
    [976, 851, 15, 13],
    [1_616, 1_031, 21, 13],
    [390, 510, 7, 10],
    [320, 280, 6, 5],
    [3_536, 2_110, 29, 24],
    [0, 0, 1, 1],
  ])('a stage of %i x %i points shows %i and %i cells to each side', (width, height, x, y) =>
    expect(radiusFor(width, height)).toEqual({ x, y }));
  test.each([[976, 851], [1_616, 1_031], [390, 510], [320, 280], [3_536, 2_110], [2_000, 300]])(
    'no edge of a stage of %i x %i lies empty, with more sight or less than was asked for',
    (width, height) => {
      const { x, y } = radiusFor(width, height);
      for (const [across, down] of [[x, y], [Math.min(29, x + 6), Math.min(29, y + 6)], [4, 4]] as const) {
        const side = cellSide(width, height, { x: across, y: down }, 1);
        expect((2 * across + 1) * side).toBeGreaterThanOrEqual(width);
        expect((2 * down + 1) * side).toBeGreaterThanOrEqual(height);
      }
    },
  );
  test('who sees further on a phone still tells what there is', () => {
    expect(cellSide(780, 1_020, { x: 7, y: 10 }, 36)).toBe(52);
    expect(cellSide(780, 1_020, { x: 13, y: 16 }, 36)).toBe(36);
  });
});

describe('power-ups', () => {
  const have = helped([{ item: 'magnet', untilMs: 50 }], 'magnet', 90, 10);
  test('one more of a kind helps longer', () => expect(have).toEqual([{ item: 'magnet', untilMs: 90 }]));
  test('an earlier end takes nothing away', () => expect(leftMs(helped(have, 'magnet', 60, 10), 'magnet', 10)).toBe(80));
  test('those that are over are forgotten', () => expect(helped(have, 'farsight', 200, 90)).toEqual([{ item: 'farsight', untilMs: 200 }]));
  test.each([[89, 2], [90, 0]])('at %i ms a magnet reaches %i cells', (nowMs, want) => expect(reach(have, nowMs)).toBe(want));
});

describe('what was won', () => {
  const at = { x: 5, y: 5 };
  const pops = popped([], '+3', at, 1_000);
  test('rises, fades, and is forgotten', () => {
    const alphas = [1_000, 1_600, 2_200].map((ms) => floating(pops[0]!, ms, false).alpha);
    expect(alphas).toEqual([...alphas].sort((a, b) => b - a));
    expect([alphas[0], alphas[2], risen(pops[0]!, 9_000)]).toEqual([1, 0, 1]);
    expect(floating(pops[0]!, 2_000, false).at.y).toBeLessThan(floating(pops[0]!, 1_100, false).at.y);
    expect(popped(pops, '+4', at, 2_200).map(({ text }) => text)).toEqual(['+4']);
  });
  test('rests where motion is not wanted', () =>
    expect(floating(pops[0]!, 2_000, true).at).toEqual(floating(pops[0]!, 1_000, true).at));
});

describe('words', () => {
  test.each([['no world has this name', 'No world has this name.'], ['Why?', 'Why?'], ['', '.']])('%j is said as %j', (text, want) =>
    expect(sentence(text)).toBe(want));
  test.each([[61_000, '1:01'], [60_001, '1:01'], [1, '0:01'], [0, '0:00'], [-5_000, '0:00'], [3_600_000, '60:00']])('%i ms are %s', (ms, want) =>
    expect(clock(ms)).toBe(want));
  test.each([[1, '1 mover'], [0, '0 movers'], [2_001, '2,001 movers']])('%i: %s', (count, want) => expect(counted(count, 'mover')).toBe(want));
  test.each([['Amber Lynx', '🐢'], ['Keen Ibex', '🤠'], ['Hazel Heron', '🐼'], ['Lunar Dingo', '🐸'], ['Amber Egret', '🐢'], ['', '😁']])('%j keeps its face: %s', (name, want) => expect(lookOf(name)).toBe(want));
});

test('guests have names', () => {
  expect(guestName(() => 0)).toBe('Amber Badger');
  expect(guestName(() => 0.999)).toBe('Lunar Marten');
});

describe('routes', () => {
  test.each([
    ['/world', 'world', {}],
    ['/games/01A20a0e-e204-71dd-a91a-45e6f3d457af', 'match', { id: '01a20a0e-e204-71dd-a91a-45e6f3d457af' }],
    ['/games/01a20a0e-e204-71dd-a91a-45e6f3d457af/', 'missing', {}],
    ['/games/x', 'missing', {}],
    ['/worlds', 'missing', {}],
    ['//world', 'missing', {}],
  ])('%s shows %s', (path, page, params) => {
    const route = routeOf(path);
    expect([route.page, { ...route.params }]).toEqual([page, params]);
  });
  test.each([
    ['/x', '/games/01a20a0e-e204-71dd-a91a-45e6f3d457af', true],
    ['/world', '/games/01a20a0e-e204-71dd-a91a-45e6f3d457af', false],
    ['/games/01a20a0e-e204-71dd-a91a-45e6f3d457af', '/world', false],
    ['/games/01a20a0e-e204-71dd-a91a-45e6f3d457af', '/api/openapi.json', false],
  ])('from %s to %s without a load: %j', (from, to, want) => expect(isWithin(routeOf(from), routeOf(to))).toBe(want));
  test('two addresses of one thing are one page', () =>
    expect(routeOf('/games/01A20A0E-e204-71dd-a91a-45e6f3d457af').key).toBe(routeOf('/games/01a20a0e-E204-71dd-a91a-45e6f3d457af').key));
});

test.each([
  [null, null],
  ['', null],
  ['</api/snakes?limit=20&after=01a2>; rel="next"', '01a2'],
  ['</api/snakes?after=a%2Fb>; rel="next"', 'a/b'],
  ['</api/snakes?after=x>; rel="prev"', null],
])('the cursor of %j', (link, want) => expect(nextCursor(link)).toBe(want));

test.each([
  ['2026-01-01T00:00:00Z', 'now'],
  ['2025-12-31T23:59:18Z', '42 seconds ago'],
  ['2025-12-31T23:57:01Z', '2 minutes ago'],
  ['2025-12-30T00:00:00Z', '2 days ago'],
  ['2026-01-01T02:00:00Z', 'in 2 hours'],
])('%s is %s', (time, want) => expect(ago(time, Date.parse('2026-01-01T00:00:00Z'))).toBe(want));

describe('menu', () => {
  const pages = (role: string | null, hasTrials = false) => menuFor(role, hasTrials).map(({ page }) => page);
  test('trials are there where the server says so', () => expect([pages('operator'), pages('operator', true)].map((menu) => menu.includes('trials'))).toEqual([false, true]));
  test('everybody can enter a world', () => expect(pages(null)).toContain('world'));
  test.each([null, 'guest', 'player', 'operator', 'admin', 'nonsense'])('a %s sees no more than an admin', (role) =>
    expect(pages('admin')).toEqual(expect.arrayContaining(pages(role))));
});
