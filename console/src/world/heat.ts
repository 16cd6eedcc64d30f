// Density as a heat map: counts become the pixels of a picture, one a bin. The scale is logarithmic, because a crowd at
// one point would leave everybody who walked away from it invisible; one mover alone is always to be seen. Pure.
import type { Theme } from './theme.ts';

export interface Density {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly columns: number;
  readonly rows: number;
  readonly counts: readonly number[];
  readonly movers: number;
}

/** Where one mover stands on the scale: bright enough that a single bin is found. */
const ONE = 0.45;
/** Steps from nothing to the most. */
const SHADES = 256;

/** From 0, nobody, to 1, the most that any bin has. */
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

/** Paints each bin's red, green, blue and opacity. */
export function paint(counts: readonly number[], colours: Uint8ClampedArray, into: Uint8ClampedArray) {
  const most = counts.reduce((most, count) => Math.max(most, count), 1);
  counts.forEach((count, bin) => {
    // A share of a mover, while bins are blended, is a share of its warmth.
    const share = count < 1 ? count * ONE : warmth(count, most);
    const shade = Math.round(share * (SHADES - 1)) * 4;
    for (let part = 0; part < 4; part += 1) into[bin * 4 + part] = colours[shade + part] ?? 0;
  });
}

/** The part of a world that the mini map shows: all of it, or so many cells a side around somebody, inside the world. */
export function region(
  size: { width: number; height: number },
  around: { x: number; y: number },
  cells: number | null,
): { x: number; y: number; width: number; height: number } {
  const width = Math.min(size.width, cells ?? size.width);
  const height = Math.min(size.height, cells ?? size.height);
  const start = (at: number, part: number, whole: number) =>
    Math.min(whole - part, Math.max(0, Math.round(at - part / 2)));
  return { x: start(around.x, width, size.width), y: start(around.y, height, size.height), width, height };
}
