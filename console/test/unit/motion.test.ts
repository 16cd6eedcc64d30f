import { describe, expect, test } from 'vitest';
import { approach, FADE_MS, follow, headFor, period, place, presence } from '../../src/world/motion.ts';

const at = (x: number, y: number) => ({ x, y });

test('a step is drawn along its way, and no further', () => {
  const track = headFor(headFor(undefined, at(0, 0), 0, 200), at(1, 0), 1_000, 200);
  expect([900, 1_000, 1_050, 1_200, 9_000].map((ms) => place(track, ms, 200).x)).toEqual([0, 0, 0.25, 1, 1]);
});

test('a turn on the way begins where the eye is', () => {
  const track = headFor(headFor(headFor(undefined, at(0, 0), 0, 200), at(1, 0), 1_000, 200), at(1, 1), 1_100, 200);
  expect(place(track, 1_100, 200)).toEqual(at(0.5, 0));
  expect(place(track, 1_300, 200)).toEqual(at(1, 1));
});

test('whoever stands still is not set out anew', () => {
  const track = headFor(undefined, at(3, 3), 0, 200);
  expect(headFor(track, at(3, 3), 500, 200)).toBe(track);
});

test('whoever was carried far away is there at once', () => {
  const track = headFor(headFor(undefined, at(0, 0), 0, 200), at(40, 0), 1_000, 200);
  expect(place(track, 1_000, 200)).toEqual(at(40, 0));
});

test('movers appear, and fade where they were', () => {
  const came = follow(new Map(), [{ id: 1, at: at(0, 0) }], 0, 200);
  const shown = (tracks: typeof came, ms: number) => [...tracks.values()].map((track) => presence(track, ms));
  expect(shown(came, 0)).toEqual([0]);
  expect(shown(came, FADE_MS)).toEqual([1]);
  const went = follow(came, [], 1_000, 200);
  expect(shown(went, 1_000 + FADE_MS / 2)).toEqual([0.5]);
  expect(follow(went, [], 1_000 + FADE_MS, 200).size).toBe(0);
  const back = follow(went, [{ id: 1, at: at(9, 9) }], 1_050, 200);
  expect(shown(back, 1_050 + FADE_MS)).toEqual([1]);
});

describe('the camera', () => {
  test('is half way after its half-life, at any frame rate', () => {
    const once = approach(at(0, 0), at(8, 0), 60, 60);
    const often = Array.from({ length: 6 }).reduce<{ x: number; y: number }>((cell) => approach(cell, at(8, 0), 10, 60), at(0, 0));
    expect(once.x).toBeCloseTo(4);
    expect(often.x).toBeCloseTo(4);
  });
});

test('the period follows the updates, not the silences', () => {
  expect(period(200, 100)).toBeCloseTo(180);
  expect(period(200, 501)).toBe(200);
  expect(period(200, 0)).toBeCloseTo(163.2);
});
