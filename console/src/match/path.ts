// The line that a snake's body is drawn along, between two turns: its head on the way to the next cell, its tail leaving the last
// one. Over an edge of a wrapped board the line leaves on one side and comes in on the other. In cells; pure.
import type { Cell, Snake } from './frame.ts';

/** Pieces of one body, head first; one piece where no edge is crossed. */
export type Pieces = readonly (readonly Cell[])[];

/** Beyond an edge so far that no end of the line is seen. */
const BEYOND = 0.7;

/** `progress` from 0 to 1 is how much of the way to the next turn is done. */
export function piecesOf(snake: Snake, next: Snake | undefined, progress: number): Pieces {
  const moves = next && progress > 0 && next.body.length > 0 && !next.death;
  if (!moves) return split(snake.body);
  const [head, last] = [snake.body[0], snake.body.at(-1)];
  const [nextHead, nextLast] = [next.body[0], next.body.at(-1)];
  if (!head || !last || !nextHead || !nextLast) return split(snake.body);
  return split([between(head, nextHead, progress), ...snake.body.slice(0, -1), between(last, nextLast, progress)]);
}

function isFar(a: Cell, b: Cell): boolean {
  return Math.abs(a.x - b.x) > 1.5 || Math.abs(a.y - b.y) > 1.5;
}

/** The direction of one step from a to b, also over an edge. */
function direction(a: Cell, b: Cell): Cell {
  const sign = isFar(a, b) ? -1 : 1;
  return { x: sign * Math.sign(b.x - a.x), y: sign * Math.sign(b.y - a.y) };
}

function between(a: Cell, b: Cell, progress: number): Cell {
  if (!isFar(a, b)) return { x: a.x + (b.x - a.x) * progress, y: a.y + (b.y - a.y) * progress };
  const { x, y } = direction(a, b);
  const [from, way] = progress < 0.5 ? [a, progress] : [b, progress - 1];
  return { x: from.x + x * way, y: from.y + y * way };
}

function split(cells: readonly Cell[]): Pieces {
  const pieces: Cell[][] = [];
  let piece: Cell[] = [];
  cells.forEach((cell, at) => {
    const before = cells[at - 1];
    if (before && isFar(before, cell)) {
      const { x, y } = direction(before, cell);
      piece.push({ x: before.x + x * BEYOND, y: before.y + y * BEYOND });
      pieces.push(piece);
      piece = [{ x: cell.x - x * BEYOND, y: cell.y - y * BEYOND }];
    }
    piece.push(cell);
  });
  return piece.length > 0 ? [...pieces, piece] : pieces;
}
