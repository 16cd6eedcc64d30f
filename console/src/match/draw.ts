// One picture of a board: the field, hazards, food and snakes, at a moment between two turns. Knows the canvas and the palette.
import type { BoardColors } from '../design/canvas.ts';
import type { Cell, Frame, Snake } from './frame.ts';
import { drawHead, drawTail, HALF_WIDTH, headFor, tailFor } from './heads.ts';
import { piecesOf } from './path.ts';

type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

export interface Board {
  /** Cells. */
  readonly width: number;
  readonly height: number;
}

export interface Scene {
  readonly board: Board;
  readonly frame: Frame;
  /** The turn after it, where there is one. */
  readonly next: Frame | undefined;
  /** From 0 to 1: how much of the way to the next turn is done. */
  readonly progress: number;
}

/** Room around the cells, in cells. */
const MARGIN = 0.25;
const OUTLINE = 0.07;

/** Device pixels of a cell on a canvas of this size. */
export function cellPx(board: Board, widthPx: number, heightPx: number): number {
  return Math.max(1, Math.min(widthPx / (board.width + 2 * MARGIN), heightPx / (board.height + 2 * MARGIN)));
}

/** Width to height of a board with its margin. */
export function ratio({ width, height }: Board): number {
  return (width + 2 * MARGIN) / (height + 2 * MARGIN);
}

export function draw(context: Context, scene: Scene, colors: BoardColors) {
  const { width, height } = context.canvas;
  const { board, frame, next, progress } = scene;
  const scale = cellPx(board, width, height);
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.fillStyle = colors.board;
  context.fillRect(0, 0, width, height);
  // From here on in cells, up is up, and (0, 0) is the middle of the bottom left cell.
  const [left, bottom] = [(width - board.width * scale) / 2, (height + board.height * scale) / 2];
  context.setTransform(scale, 0, 0, -scale, left + scale / 2, bottom - scale / 2);
  drawCells(context, board, colors);
  drawHazards(context, frame.hazards, colors);
  for (const cell of frame.food) drawFood(context, cell, colors);
  context.save();
  context.beginPath();
  context.rect(-0.5 - MARGIN, -0.5 - MARGIN, board.width + 2 * MARGIN, board.height + 2 * MARGIN);
  context.clip();
  frame.snakes.forEach((snake, seat) => drawSnake(context, snake, next?.snakes[seat], progress, colors));
  context.restore();
}

function drawCells(context: Context, { width, height }: Board, colors: BoardColors) {
  context.fillStyle = colors.cell;
  context.beginPath();
  for (let y = 0; y < height; y += 1) for (let x = 0; x < width; x += 1) context.roundRect(x - 0.46, y - 0.46, 0.92, 0.92, 0.12);
  context.fill();
}

/** Stripes, so that a hazard is told from a field without its colour; denser where it stands several times. */
function drawHazards(context: Context, hazards: readonly Cell[], colors: BoardColors) {
  if (hazards.length === 0) return;
  const layers = new Map<string, { cell: Cell; count: number }>();
  for (const cell of hazards) {
    const key = `${cell.x} ${cell.y}`;
    layers.set(key, { cell, count: (layers.get(key)?.count ?? 0) + 1 });
  }
  context.save();
  context.fillStyle = colors.hazard;
  context.strokeStyle = colors.hazard;
  context.lineWidth = 0.07;
  context.lineCap = 'round';
  for (const { cell, count } of layers.values()) {
    context.globalAlpha = Math.min(0.55, 0.14 + 0.1 * count);
    context.beginPath();
    context.roundRect(cell.x - 0.46, cell.y - 0.46, 0.92, 0.92, 0.12);
    context.fill();
    context.globalAlpha = 0.8;
    context.beginPath();
    const stripes = Math.min(5, count + 1);
    for (let stripe = 0; stripe < stripes; stripe += 1) {
      const shift = ((stripe + 1) / (stripes + 1) - 0.5) * 1.2;
      const half = 0.36 - Math.abs(shift) / 2;
      context.moveTo(cell.x + shift / 2 - half, cell.y - shift / 2 - half);
      context.lineTo(cell.x + shift / 2 + half, cell.y - shift / 2 + half);
    }
    context.stroke();
  }
  context.restore();
}

function drawFood(context: Context, { x, y }: Cell, colors: BoardColors) {
  context.beginPath();
  context.arc(x, y - 0.05, 0.27, 0, 2 * Math.PI);
  context.fillStyle = colors.food;
  context.fill();
  context.beginPath();
  context.ellipse(x + 0.12, y + 0.28, 0.14, 0.07, 0.6, 0, 2 * Math.PI);
  context.fillStyle = colors.leaf;
  context.fill();
  context.beginPath();
  context.arc(x - 0.1, y + 0.05, 0.06, 0, 2 * Math.PI);
  context.fillStyle = 'rgb(255 248 236 / 70%)';
  context.fill();
}

function drawSnake(context: Context, snake: Snake, next: Snake | undefined, progress: number, colors: BoardColors) {
  if (snake.death || snake.body.length === 0) return;
  const isDying = next?.death != null;
  context.save();
  // On its last way a snake fades, and is gone in the turn that says so.
  if (isDying) context.globalAlpha = 1 - 0.8 * progress;
  const pieces = piecesOf(snake, next, progress);
  const last = pieces.at(-1) ?? [];
  const [end, before] = [last.at(-1), last.findLast((cell, at) => at < last.length - 1 && distance(cell, last.at(-1)) > 0.01)];
  const tail = end && before && distance(end, before) > 0.3 ? { end, angle: Math.atan2(end.y - before.y, end.x - before.x) } : null;
  const lines = pieces.map((piece, at) => (tail && at === pieces.length - 1 ? shortened(piece, tail.angle) : piece));
  stroke(context, lines, 2 * (HALF_WIDTH + OUTLINE), colors.ink);
  if (tail) at(context, tail.end, tail.angle, () => drawTail(context, tailFor(snake.tail), snake.color, colors.ink));
  stroke(context, lines, 2 * HALF_WIDTH, snake.color);
  const head = pieces[0]?.[0];
  if (head) at(context, head, heading(pieces), () => drawHead(context, headFor(snake.head), snake.color, colors.ink));
  context.restore();
}

function distance(a: Cell, b: Cell | undefined): number {
  return b ? Math.abs(a.x - b.x) + Math.abs(a.y - b.y) : 0;
}

/** The line up to where the tail begins. */
function shortened(piece: readonly Cell[], angle: number): readonly Cell[] {
  const end = piece.at(-1);
  const rest = piece.filter((cell) => distance(cell, end) > 0.01);
  return end ? [...rest, { x: end.x - 0.5 * Math.cos(angle), y: end.y - 0.5 * Math.sin(angle) }] : piece;
}

/** Where a snake looks; up before its first step. */
function heading(pieces: readonly (readonly Cell[])[]): number {
  const [head, ...rest] = pieces[0] ?? [];
  const neck = head && rest.find((cell) => distance(cell, head) > 0.01);
  return head && neck ? Math.atan2(head.y - neck.y, head.x - neck.x) : Math.PI / 2;
}

function stroke(context: Context, lines: readonly (readonly Cell[])[], width: number, color: string) {
  context.lineWidth = width;
  context.lineCap = 'round';
  context.lineJoin = 'round';
  context.strokeStyle = color;
  context.beginPath();
  for (const line of lines) {
    line.forEach(({ x, y }, at) => (at === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
    // A snake that is rolled up in one cell is a dot.
    const [only] = line;
    if (only && line.every((cell) => distance(cell, only) === 0)) context.lineTo(only.x, only.y);
  }
  context.stroke();
}

function at(context: Context, { x, y }: Cell, angle: number, paint: () => void) {
  context.save();
  context.translate(x, y);
  context.rotate(angle);
  paint();
  context.restore();
}
