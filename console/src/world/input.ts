// Which way to go: arrow keys that are down, or a finger away from the own mover. Everything else means nothing.
import { type Step, stepTowards } from './grid.ts';

const KEYS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [0, -1],
  ArrowRight: [1, 0],
  ArrowDown: [0, 1],
  ArrowLeft: [-1, 0],
};

/** Part of a cell's side around the own mover where a finger rests without a direction. */
const REST = 0.5;

export function isArrow(key: string): boolean {
  return Object.hasOwn(KEYS, key);
}

/** Two arrows make a diagonal, opposite ones stand still. */
export function heldStep(down: ReadonlySet<string>): Step {
  let [x, y] = [0, 0];
  for (const key of down) {
    const [dx, dy] = (isArrow(key) && KEYS[key]) || [0, 0];
    [x, y] = [x + dx, y + dy];
  }
  return stepTowards(x, y);
}

/** The one of eight directions that a point lies in, seen from the own mover, in cells. */
export function pointedStep(dx: number, dy: number): Step {
  if (Math.hypot(dx, dy) < REST) return 'stay';
  const eighth = Math.round(Math.atan2(dy, dx) / (Math.PI / 4));
  const angle = (eighth * Math.PI) / 4;
  const whole = (part: number) => (Math.abs(part) < 0.1 ? 0 : part);
  return stepTowards(whole(Math.cos(angle)), whole(Math.sin(angle)));
}
