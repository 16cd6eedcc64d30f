// Evidence of a match as its page shows it: the board of a request, which turns went wrong, the way to the next of them. Pure.
import type { SnakeTurn } from '../api/client.ts';
import type { Board } from '../match/draw.ts';
import { type Frame, readFrame } from '../match/frame.ts';

/** Whether a turn is worth a look: it had no valid answer, or the snake was out after it. */
export const isNoteworthy = ({ class: answered, cause }: SnakeTurn) => answered !== 'valid' || (cause ?? null) !== null;

/** The next noteworthy turn in this direction, 1 or -1; null where there is none. */
export function noteworthyFrom(turns: readonly SnakeTurn[], turn: number, direction: number): number | null {
  const beyond = turns.filter((row) => (row.turn - turn) * direction > 0 && isNoteworthy(row));
  return (direction > 0 ? beyond[0] : beyond.at(-1))?.turn ?? null;
}

/** The board that the bot was shown, with the bot's own snake first; null where the body is no request for a move. */
export function boardOf(body: unknown): { board: Board; frame: Frame } | null {
  const { board, turn, you } = members(body);
  const { width, height, snakes, food, hazards } = members(board);
  if (typeof width !== 'number' || typeof height !== 'number' || !Array.isArray(snakes)) return null;
  const own = members(you)['id'];
  const ordered = [...snakes].sort((a, b) => Number(members(b)['id'] === own) - Number(members(a)['id'] === own));
  const frame = readFrame({ Turn: turn, Snakes: ordered.map(snakeData), Food: cells(food), Hazards: cells(hazards) });
  return frame && { board: { width, height }, frame };
}

function snakeData(data: unknown) {
  const { id, name, health, body, shout, customizations } = members(data);
  const { color, head, tail } = members(customizations);
  return { ID: id, Name: name, Health: health, Body: cells(body), Shout: shout, Color: color, HeadType: head, TailType: tail };
}

const cells = (list: unknown) => (Array.isArray(list) ? list : []).map((cell) => ({ X: members(cell)['x'], Y: members(cell)['y'] }));

function members(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** A request as it is read: cells and other short lists stay in one line. */
export function readable(body: unknown): string {
  return JSON.stringify(body, null, 2).replace(/\{\s+"x": (-?\d+),\s+"y": (-?\d+)\s+\}/g, '{ "x": $1, "y": $2 }');
}
