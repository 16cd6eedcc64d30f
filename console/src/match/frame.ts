// A turn of a match as the viewer keeps it, and how it is read from the events feed. What comes from the network is checked here:
// names and shouts are strangers' texts, colours go into drawings. Pure.

export interface Cell {
  readonly x: number;
  /** Up: (0, 0) is bottom left. */
  readonly y: number;
}

export interface Death {
  /** The rule book's word. */
  readonly cause: string;
  readonly turn: number;
  /** Id of the snake that did it; empty for none. */
  readonly by: string;
}

export interface Snake {
  readonly id: string;
  readonly name: string;
  readonly author: string;
  /** `#rrggbb`. */
  readonly color: string;
  readonly head: string;
  readonly tail: string;
  readonly health: number;
  readonly latencyMs: number;
  readonly shout: string;
  /** What was wrong with its last answer; empty for nothing. */
  readonly error: string;
  readonly death: Death | null;
  /** Head first. */
  readonly body: readonly Cell[];
}

export interface Frame {
  readonly turn: number;
  readonly snakes: readonly Snake[];
  readonly food: readonly Cell[];
  /** One that stands twice hurts twice. */
  readonly hazards: readonly Cell[];
}

export type FeedEvent =
  | { readonly kind: 'frame'; readonly frame: Frame }
  | { readonly kind: 'end' }
  | { readonly kind: 'error'; readonly message: string };

/** For snakes that chose no colour, or one that is none: by seat, from the deck's palette. */
const COLORS = ['#f2735c', '#56c2b0', '#ffd27a', '#9a8cff', '#f29ac2', '#8fd16a', '#5aa9e6', '#c98b5b'];
const NAME_CHARACTERS_MAX = 100;
const SHOUT_CHARACTERS_MAX = 256;

export const colorOfSeat = (seat: number) => COLORS[seat % COLORS.length] ?? '#888888';

/** What a message of the feed says; null for one that this page does not know. */
export function readEvent(text: string): FeedEvent | null {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return null;
  }
  const { Type, Data } = members(message);
  if (Type === 'frame') {
    const frame = readFrame(Data);
    return frame && { kind: 'frame', frame };
  }
  if (Type === 'error') return { kind: 'error', message: string(members(Data)['message']) };
  return Type === 'game_end' ? { kind: 'end' } : null;
}

export function readFrame(data: unknown): Frame | null {
  const { Turn, Snakes, Food, Hazards } = members(data);
  if (!Number.isInteger(Turn) || number(Turn) < 0) return null;
  return { turn: number(Turn), snakes: toldApart(list(Snakes).map(readSnake)), food: list(Food).map(readCell), hazards: list(Hazards).map(readCell) };
}

/** Where two have one colour, the later seat gets another one: on a board they must be told apart. */
function toldApart(snakes: readonly Snake[]): readonly Snake[] {
  const taken = new Set<string>();
  return snakes.map((snake) => {
    const isTaken = taken.has(snake.color);
    const color = isTaken ? (COLORS.find((color) => !taken.has(color)) ?? snake.color) : snake.color;
    taken.add(color);
    return isTaken ? { ...snake, color } : snake;
  });
}

function readSnake(data: unknown, seat: number): Snake {
  const row = members(data);
  const color = string(row['Color']);
  return {
    id: string(row['ID']),
    name: string(row['Name']).slice(0, NAME_CHARACTERS_MAX) || `Snake ${seat + 1}`,
    author: string(row['Author']).slice(0, NAME_CHARACTERS_MAX),
    color: /^#[0-9a-f]{6}$/i.test(color) ? color.toLowerCase() : colorOfSeat(seat),
    head: string(row['HeadType']),
    tail: string(row['TailType']),
    health: number(row['Health']),
    latencyMs: Math.max(0, Number(row['Latency']) || 0),
    shout: string(row['Shout']).slice(0, SHOUT_CHARACTERS_MAX),
    error: string(row['Error']),
    death: readDeath(row['Death']),
    body: list(row['Body']).map(readCell),
  };
}

function readDeath(data: unknown): Death | null {
  if (typeof data !== 'object' || data === null) return null;
  const { Cause, Turn, EliminatedBy } = members(data);
  return { cause: string(Cause), turn: number(Turn), by: string(EliminatedBy) };
}

function readCell(data: unknown): Cell {
  const { X, Y } = members(data);
  return { x: number(X), y: number(Y) };
}

function members(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function string(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function number(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}
