// Density as a heat map: counts become the pixels of a picture, one a bin. The scale is logarithmic, because a crowd at
// one point would leave everybody who walked away from it invisible; one mover alone is always to be seen. Pure.
import type { Theme } from './theme.ts';

/** A part of a world, in cells. */
export interface Part {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Density extends Part {
  readonly columns: number;
  readonly rows: number;
  /** Cells a side of one bin. */
  readonly bin: number;
  readonly counts: readonly number[];
  /** In all of the world. */
  readonly movers: number;
}

/** Where one mover stands on the scale: bright enough that a single bin is found. */
const ONE = 0.45;
/** Steps from nothing to the most. */
const SHADES = 256;

/** From 0, no mover, to 1, the most that any bin has. */
export function warmth(count: number, most: number): number {
  if (count <= 0) return 0;
  return most <= 1 ? ONE : ONE + (1 - ONE) * (Math.log(count) / Math.log(most));
}

export function colour(share: number, heat: Theme['heat']): readonly [number, number, number] {
  const at = Math.min(1, Math.max(0, share)) * (heat.length - 1);
  const [low, high] = [heat[Math.floor(at)], heat[Math.ceil(at)]];
  if (!low || !high) return [0, 0, 0];
  const mix = (a: number, b: number) => Math.round(a + (b - a) * (at - Math.floor(at)));
  return [mix(low[0], high[0]), mix(low[1], high[1]), mix(low[2], high[2])];
}

/** Bins on their way from one count to the next, so that the picture breathes instead of blinking. */
export function blend(from: readonly number[], to: readonly number[], share: number): number[] {
  return to.map((count, bin) => (from[bin] ?? count) + (count - (from[bin] ?? count)) * share);
}

/** The colours of a theme in equal steps, four bytes each: looked up for every bin of every picture. */
export function palette(heat: Theme['heat']): Uint8ClampedArray {
  const bytes = new Uint8ClampedArray(SHADES * 4);
  for (let shade = 0; shade < SHADES; shade += 1) bytes.set([...colour(shade / (SHADES - 1), heat), 255], shade * 4);
  return bytes;
}

/** The most that any bin has; one at least. */
export function mostOf(counts: readonly number[]): number {
  return counts.reduce((most, count) => Math.max(most, count), 1);
}

/** Counts from one to the most, in equal steps of warmth: what colours mean. */
export function scaleOf(counts: readonly number[], steps: number): number[] {
  return Array.from({ length: steps }, (_, step) => mostOf(counts) ** (step / (steps - 1)));
}

/** So many bins at most are drawn one by one. */
const SPARSE_MAX = 200;

/** The bins with anybody, and their colours as painted, where they are few. */
export function sparse(counts: readonly number[], columns: number, painted: Uint8ClampedArray) {
  const taken = counts.flatMap((count, bin) => (count > 0 ? [bin] : []));
  if (taken.length > SPARSE_MAX) return [];
  return taken.map((bin) => {
    const [red, green, blue] = painted.subarray(bin * 4);
    return { column: bin % columns, row: Math.floor(bin / columns), colour: `rgb(${red}, ${green}, ${blue})` };
  });
}

/** Paints each bin's red, green, blue and opacity. */
export function paint(counts: readonly number[], colours: Uint8ClampedArray, into: Uint8ClampedArray) {
  const most = mostOf(counts);
  counts.forEach((count, bin) => {
    // A share of a mover, while bins are blended, is a share of its warmth.
    const share = count < 1 ? count * ONE : warmth(count, most);
    const shade = Math.round(share * (SHADES - 1)) * 4;
    for (let part = 0; part < 4; part += 1) into[bin * 4 + part] = colours[shade + part] ?? 0;
  });
}

/** The part of a world that the mini map shows: all of it, or so many cells a side around a player, inside the world. */
export function region(
  size: { width: number; height: number },
  around: { x: number; y: number },
  cells: number | null,
): Part {
  const width = Math.min(size.width, cells ?? size.width);
  const height = Math.min(size.height, cells ?? size.height);
  const start = (at: number, part: number, whole: number) =>
    Math.min(whole - part, Math.max(0, Math.round(at - part / 2)));
  return { x: start(around.x, width, size.width), y: start(around.y, height, size.height), width, height };
}

/** Sides that a picture of a crowd may have: few, so that it rests while the crowd spreads. */
const CROWD_SIDES = [64, 96, 128, 192, 256, 384, 512, 768];
/** Of the movers, how many may stand outside of it at each edge, and how much room is around the others. */
const STRAGGLERS = 0.02;
const ROOM = 1.3;

/** The part of a world where nearly everybody is, out of the density of all of it. The one that was shown before stays for as
 * long as everybody is in it and it is not too large. */
export function crowded(whole: Density, before: Part | null): Part {
  const sums = (size: number, binOf: (at: number) => number) => {
    const sums = new Array<number>(size).fill(0);
    whole.counts.forEach((count, at) => (sums[binOf(at)] = (sums[binOf(at)] ?? 0) + count));
    return sums;
  };
  const [left, right] = middle(sums(whole.columns, (at) => at % whole.columns), whole.bin);
  const [top, bottom] = middle(sums(whole.rows, (at) => Math.floor(at / whole.columns)), whole.bin);
  const need = ROOM * Math.max(right - left, bottom - top);
  const isIn = before && before.x <= left && before.y <= top && before.x + before.width >= right && before.y + before.height >= bottom;
  if (before && isIn && before.width <= Math.max(CROWD_SIDES[0] ?? 0, 2 * need)) return before;
  const side = CROWD_SIDES.find((side) => side >= need) ?? null;
  return region(whole, { x: (left + right) / 2, y: (top + bottom) / 2 }, side);
}

/** From where to where all but the stragglers stand, in cells. */
function middle(sums: readonly number[], bin: number): [number, number] {
  const allowed = STRAGGLERS * sums.reduce((all, count) => all + count, 0);
  const firstOf = (sums: readonly number[]) => {
    let passed = 0;
    return Math.max(0, sums.findIndex((count) => (passed += count) > allowed));
  };
  return [firstOf(sums) * bin, (sums.length - firstOf([...sums].reverse())) * bin];
}
