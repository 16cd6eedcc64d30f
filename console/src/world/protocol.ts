// The frames of a world as JSON over a WebSocket: `crates/wire/proto/world.proto` and `hunt.proto` have the shapes. What comes
// is checked before anything believes it; members with their default may be missing, and unknown ones are passed over.
import type { Cell, Step } from './grid.ts';
import { POWER_UPS } from './powers.ts';
import type { Item, Mover, View } from './state.ts';

export const VERSION = 1;

export interface Resume {
  readonly id: number;
  /** Digits: the number may be larger than a browser's. */
  readonly key: string;
}

export interface ViewOptions {
  readonly radius_x: number;
  readonly radius_y: number;
  readonly per_s: number;
}

export type ClientFrame =
  | { readonly hello: { readonly version: number; readonly capabilities: readonly string[] } }
  | {
      readonly register: {
        readonly indicator: number;
        readonly at?: Cell;
        readonly view: ViewOptions;
        readonly resume?: Resume;
      };
    }
  | { readonly watch: { readonly view: ViewOptions } }
  | { readonly move: { readonly seq: number; readonly step: Step } }
  | { readonly dig: { readonly seq: number } }
  | { readonly grab: { readonly seq: number } }
  | { readonly leave: Readonly<Record<string, never>> };

export interface Score {
  readonly id: number;
  readonly name: string;
  readonly score: number;
}

/** How far a hunt is. */
export interface Round {
  readonly number: number;
  readonly phase: 'waiting' | 'running' | 'over';
  /** When it ends, or begins at the earliest. */
  readonly untilMs: number;
  readonly chestsLeft: number;
  /** The one that ended just now; 0 when none did. */
  readonly ended: number;
  /** Of the one that ended. */
  readonly scores: readonly Score[];
}

export type ServerFrame =
  | { readonly kind: 'welcome'; readonly version: number; readonly indicators: readonly string[] }
  | {
      readonly kind: 'registered';
      readonly resume: Resume;
      readonly cell: Cell;
      readonly nextSeq: number;
      readonly size: { readonly width: number; readonly height: number };
      readonly radius: Cell;
      readonly moveMinMs: number;
      readonly score: number;
      readonly isResumed: boolean;
    }
  | { readonly kind: 'moved'; readonly seq: number; readonly cell: Cell }
  | { readonly kind: 'dug'; readonly seq: number; readonly points: number; readonly score: number }
  | { readonly kind: 'grabbed'; readonly seq: number; readonly item: string; readonly untilMs: number }
  | { readonly kind: 'view'; readonly view: View }
  | { readonly kind: 'refused'; readonly seq: number; readonly code: string; readonly reason: string; readonly expectedSeq: number }
  | { readonly kind: 'round'; readonly round: Round }
  | { readonly kind: 'error'; readonly code: string; readonly reason: string; readonly address: string }
  /** Of a later version, or an answer that this page never asks for. */
  | { readonly kind: 'other' };

export const ITEM_EMOJI: Readonly<Record<string, string>> = {
  chest: '🎁',
  ...Object.fromEntries(POWER_UPS.map(({ item, emoji }) => [item, emoji])),
};
const UNKNOWN_EMOJI = '❔';

/** Something that is no frame of this protocol came. */
export class Malformed extends Error {}

/** Reads a text message. `indicators` are the emoji that the welcome named. */
export function readFrame(text: string, indicators: readonly string[]): ServerFrame {
  const frame = object(parsed(text), 'a frame');
  for (const [name, read] of Object.entries(READERS)) {
    const body = frame[name];
    if (body !== undefined) return read(object(body, name), indicators);
  }
  return { kind: 'other' };
}

export function write(frame: ClientFrame): string {
  return JSON.stringify(frame);
}

type Members = Readonly<Record<string, unknown>>;

const READERS: Readonly<Record<string, (body: Members, indicators: readonly string[]) => ServerFrame>> = {
  welcome: (body) => ({
    kind: 'welcome',
    version: number(body, 'version'),
    indicators: list(body, 'indicators').map((entry) => string({ entry }, 'entry')),
  }),
  registered: (body) => {
    const view = object(body['view'] ?? {}, 'view');
    return {
      kind: 'registered',
      resume: { id: number(body, 'id'), key: string(body, 'key') },
      cell: cell(body),
      nextSeq: number(body, 'next_seq'),
      size: { width: number(body, 'width'), height: number(body, 'height') },
      radius: { x: number(view, 'radius_x'), y: number(view, 'radius_y') },
      moveMinMs: number(body, 'move_min_ms'),
      score: number(body, 'score'),
      isResumed: body['is_resumed'] === true,
    };
  },
  moved: (body) => ({ kind: 'moved', seq: number(body, 'seq'), cell: cell(body) }),
  dug: (body) => ({ kind: 'dug', seq: number(body, 'seq'), points: number(body, 'points'), score: number(body, 'score') }),
  grabbed: (body) => ({
    kind: 'grabbed',
    seq: number(body, 'seq'),
    item: itemKind(body, 'item'),
    untilMs: number(body, 'until_ms'),
  }),
  view: (body, indicators) => ({ kind: 'view', view: view(body, indicators) }),
  refused: (body) => ({
    kind: 'refused',
    seq: number(body, 'seq'),
    code: string(body, 'code'),
    reason: string(body, 'reason'),
    expectedSeq: number(body, 'expected_seq'),
  }),
  round: (body) => ({ kind: 'round', round: round(body) }),
  error: (body) => ({
    kind: 'error',
    code: string(body, 'code'),
    reason: string(body, 'reason'),
    address: string(body, 'address'),
  }),
};

function view(body: Members, indicators: readonly string[]): View {
  const radius = { x: number(body, 'radius_x'), y: number(body, 'radius_y') };
  return {
    isFull: body['is_full'] === true,
    centre: cell(body),
    ...(radius.x > 0 && radius.y > 0 ? { radius } : {}),
    ...(body['round'] === undefined ? {} : { round: round(object(body['round'], 'round')) }),
    ...(body['score'] === undefined ? {} : { score: number(body, 'score') }),
    entered: list(body, 'entered').map((entry) => mover(object(entry, 'entered'), indicators)),
    moved: list(body, 'moved').map((entry) => {
      const place = object(entry, 'moved');
      return { id: number(place, 'id'), at: cell(place) };
    }),
    left: numbers(body, 'left'),
    crowd: number(body, 'crowd'),
    oldestMs: number(body, 'oldest_change_us') / 1_000,
    trees: pairs(body, 'trees'),
    itemsIn: list(body, 'items').map((entry) => item(object(entry, 'items'))),
    itemsGone: pairs(body, 'items_gone'),
    lifeOn: pairs(body, 'life'),
    lifeOff: pairs(body, 'life_gone'),
  };
}

function round(body: Members): Round {
  const phase = string(body, 'phase');
  return {
    number: number(body, 'number'),
    phase: phase === 'running' || phase === 'over' ? phase : 'waiting',
    untilMs: number(body, 'until_ms'),
    chestsLeft: number(body, 'chests_left'),
    ended: number(body, 'ended'),
    scores: list(body, 'scores').map((entry) => {
      const score = object(entry, 'scores');
      return { id: number(score, 'id'), name: string(score, 'name'), score: number(score, 'score') };
    }),
  };
}

function mover(body: Members, indicators: readonly string[]): Mover {
  const name = string(body, 'name');
  const emoji = indicators[number(body, 'indicator')] ?? UNKNOWN_EMOJI;
  return { id: number(body, 'id'), at: cell(body), emoji, ...(name ? { name } : {}) };
}

function item(body: Members): Item {
  const kind = itemKind(body, 'kind');
  return { at: cell(body), kind, emoji: ITEM_EMOJI[kind] ?? UNKNOWN_EMOJI };
}

function itemKind(body: Members, name: string): string {
  return string(body, name) || 'chest';
}

function cell(body: Members): Cell {
  return { x: number(body, 'x'), y: number(body, 'y') };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Malformed(`not JSON: ${text.slice(0, 80)}`);
  }
}

function object(value: unknown, name: string): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Malformed(`${name} is no object`);
  return value as Members;
}

function number(body: Members, name: string): number {
  const value = body[name] ?? 0;
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new Malformed(`${name} is no number`);
  return value;
}

function string(body: Members, name: string): string {
  const value = body[name] ?? '';
  if (typeof value !== 'string') throw new Malformed(`${name} is no text`);
  return value;
}

function list(body: Members, name: string): readonly unknown[] {
  const value = body[name] ?? [];
  if (!Array.isArray(value)) throw new Malformed(`${name} is no list`);
  return value;
}

function numbers(body: Members, name: string): readonly number[] {
  return list(body, name).map((entry) => number({ entry }, 'entry'));
}

/** Cells that stand as x and y in turn. */
function pairs(body: Members, name: string): readonly Cell[] {
  const flat = numbers(body, name);
  if (flat.length % 2 !== 0) throw new Malformed(`${name} ends within a cell`);
  return Array.from({ length: flat.length / 2 }, (_, at) => ({ x: flat[2 * at] ?? 0, y: flat[2 * at + 1] ?? 0 }));
}
