// A match as an animated GIF, made in the browser: nothing is uploaded. Drawn by the same code as the page, one picture a turn.
import { applyPalette, GIFEncoder, quantize } from 'gifenc';
import type { BoardColors } from '../design/canvas.ts';
import { type Board, draw, ratio } from './draw.ts';
import type { Recording } from './recording.ts';

/** Longer matches show only some of their turns: more pictures than this make files that no chat takes. */
export const PICTURES_MAX = 400;
/** Of the longer side. */
const SIDE_PX = 480;
/** The last picture stays, so that one sees who won. */
const LAST_SHOWN_MS = 2_000;
/** One of the 256 that a GIF has says that a point stays as it was. */
const COLORS_MAX = 255;
/** Each picture is drawn over the one before it (GIF89a, section 23). */
const KEEP = 1;
/** Faster than this, browsers show GIFs slowly. */
const PICTURE_MIN_MS = 20;

export interface Animation {
  readonly recording: Recording;
  readonly board: Board;
  readonly colors: BoardColors;
  readonly from: number;
  readonly to: number;
  readonly turnsPerS: number;
}

/** The turns to show: all, or evenly some of them, always with the last. */
export function turnsShown(from: number, to: number): readonly number[] {
  const every = Math.ceil((to - from + 1) / PICTURES_MAX);
  const turns: number[] = [];
  for (let turn = to; turn >= from; turn -= every) turns.push(turn);
  return turns.reverse();
}

/** Encodes; says after each picture what share is done. Stops with an `AbortError` when it is told to. */
export async function encodeGif(animation: Animation, signal: AbortSignal, done: (share: number) => void): Promise<Blob> {
  const { board, from, to, turnsPerS } = animation;
  const shape = ratio(board);
  const [width, height] = shape >= 1 ? [SIDE_PX, Math.round(SIDE_PX / shape)] : [Math.round(SIDE_PX * shape), SIDE_PX];
  const context = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
  if (!context) throw new Error('this browser has no canvas to draw on');
  const turns = turnsShown(from, to);
  const palette = paletteOf([from, Math.floor((from + to) / 2), to].map((turn) => picture(context, animation, turn)));
  const delay = Math.max(PICTURE_MIN_MS, 1_000 / turnsPerS);
  const gif = GIFEncoder();
  const unchanged = palette.length;
  let before: Uint8Array | null = null;
  for (const [at, turn] of turns.entries()) {
    signal.throwIfAborted();
    const pixels = applyPalette(picture(context, animation, turn), palette, 'rgb565');
    const isLast = at === turns.length - 1;
    const first = before === null ? { palette: [...palette, [0, 0, 0]], repeat: 0 } : {};
    const rest = { transparent: before !== null, transparentIndex: unchanged, dispose: KEEP };
    gif.writeFrame(before ? changes(pixels, before, unchanged) : pixels, width, height, { ...first, ...rest, delay: isLast ? LAST_SHOWN_MS : delay });
    before = pixels;
    done((at + 1) / turns.length);
    // The page stays usable: after each picture it may draw and listen.
    await new Promise((next) => setTimeout(next));
  }
  gif.finish();
  return new Blob([gif.bytes()], { type: 'image/gif' });
}

function picture(context: OffscreenCanvasRenderingContext2D, { recording, board, colors }: Animation, turn: number): Uint8ClampedArray {
  const frame = recording.at(turn);
  if (frame) draw(context, { board, frame, next: undefined, progress: 0 }, colors);
  return context.getImageData(0, 0, context.canvas.width, context.canvas.height).data;
}

/** The points that differ from the picture before; the others as one colour, which takes next to no room. */
function changes(pixels: Uint8Array, before: Uint8Array, unchanged: number): Uint8Array {
  return pixels.map((color, at) => (color === before[at] ? unchanged : color));
}

function paletteOf(pictures: readonly Uint8ClampedArray[]) {
  const all = new Uint8ClampedArray(pictures.reduce((sum, { length }) => sum + length, 0));
  pictures.reduce((at, picture) => (all.set(picture, at), at + picture.length), 0);
  return quantize(all, COLORS_MAX, { format: 'rgb565' });
}
