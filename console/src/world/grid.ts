// Cells and steps, as the world's rules have them: y grows downwards. Knows nothing of sockets or pixels.

export interface Cell {
  readonly x: number;
  readonly y: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** In the order of their codes on the wire. */
export const STEPS = ['stay', 'n', 'ne', 'e', 'se', 's', 'sw', 'w', 'nw'] as const;
export type Step = (typeof STEPS)[number];

const OFFSETS: Readonly<Record<Step, readonly [number, number]>> = {
  stay: [0, 0],
  n: [0, -1],
  ne: [1, -1],
  e: [1, 0],
  se: [1, 1],
  s: [0, 1],
  sw: [-1, 1],
  w: [-1, 0],
  nw: [-1, -1],
};

export function stepped(cell: Cell, step: Step): Cell {
  const [x, y] = OFFSETS[step];
  return { x: cell.x + x, y: cell.y + y };
}

/** The step that goes this way, each coordinate reduced to its sign. */
export function stepTowards(dx: number, dy: number): Step {
  const found = STEPS.find((step) => OFFSETS[step][0] === Math.sign(dx) && OFFSETS[step][1] === Math.sign(dy));
  return found ?? 'stay';
}

export function isInside(cell: Cell, size: Size): boolean {
  return cell.x >= 0 && cell.y >= 0 && cell.x < size.width && cell.y < size.height;
}

/** A cell as addresses have it: `12,34`. */
export function readCell(text: string | null): Cell | null {
  const [, x, y] = /^(\d{1,5}),(\d{1,5})$/.exec(text ?? '') ?? [];
  return x === undefined || y === undefined ? null : { x: Number(x), y: Number(y) };
}

/** One number for a cell: coordinates are 16 bits wide. */
export function keyOf(cell: Cell): number {
  return cell.y * 0x10000 + cell.x;
}

export function cellOf(key: number): Cell {
  return { x: key % 0x10000, y: Math.floor(key / 0x10000) };
}
