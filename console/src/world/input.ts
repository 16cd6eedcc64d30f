// Which way to go: keys that are down. Arrows, and W, A, S, D where they lie on the keyboard, whatever letters stand on them. Everything
// else means nothing.
import { type Cell, type Step, stepTowards } from './grid.ts';

const KEYS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [0, -1],
  ArrowRight: [1, 0],
  ArrowDown: [0, 1],
  ArrowLeft: [-1, 0],
  KeyW: [0, -1],
  KeyD: [1, 0],
  KeyS: [0, 1],
  KeyA: [-1, 0],
};

/** As much of a key's event as is looked at. */
interface Key {
  readonly key: string;
  readonly code: string;
}

const isWay = (name: string) => Object.hasOwn(KEYS, name);

/** The name of a key that walks; null of every other. Arrows of a number pad are arrows too. */
export function walkingKey({ key, code }: Key): string | null {
  return [key, code].find(isWay) ?? null;
}

/** Whether the key is a letter elsewhere: where something else has the focus, it is not taken from there. */
export const isLetter = (name: string) => name.startsWith('Key');

/** Two keys make a diagonal, opposite ones stand still. */
export function heldStep(down: ReadonlySet<string>): Step {
  let [x, y] = [0, 0];
  for (const name of down) {
    const [dx, dy] = (isWay(name) && KEYS[name]) || [0, 0];
    [x, y] = [x + dx, y + dy];
  }
  return stepTowards(x, y);
}

/** The one of eight directions that a point lies in, in cells. */
export function pointedStep(dx: number, dy: number): Step {
  if (dx === 0 && dy === 0) return 'stay';
  const eighth = Math.round(Math.atan2(dy, dx) / (Math.PI / 4));
  const angle = (eighth * Math.PI) / 4;
  const whole = (part: number) => (Math.abs(part) < 0.1 ? 0 : part);
  return stepTowards(whole(Math.cos(angle)), whole(Math.sin(angle)));
}

/** The cell under a point of the stage, from its middle, in cells. */
export function pointedCell(camera: Cell, dx: number, dy: number): Cell {
  return { x: Math.round(camera.x + dx), y: Math.round(camera.y + dy) };
}
