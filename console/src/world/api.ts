// What the page asks over HTTP: which worlds there are, where everybody is. An answer that is not what it must
// be counts as none: the page draws what it has.
import type { Cell } from './grid.ts';
import type { Density, Part } from './heat.ts';
import type { Score } from './protocol.ts';
import { sentence } from '../common/words.ts';

export interface WorldEntry {
  readonly name: string;
  /** Of the server that has it, where that is another one. */
  readonly address: string;
}

const CHARMS = ['Amber', 'Brisk', 'Coral', 'Dusty', 'Early', 'Fern', 'Gentle', 'Hazel', 'Ivory', 'Jolly', 'Keen', 'Lunar'];
const ANIMALS = ['Badger', 'Crane', 'Dingo', 'Egret', 'Finch', 'Gecko', 'Heron', 'Ibex', 'Jackal', 'Koala', 'Lynx', 'Marten'];

/** A name for a visitor who gave none. */
export function guestName(chance: () => number): string {
  const pick = (words: readonly string[]) => words[Math.floor(chance() * words.length)] ?? '';
  return `${pick(CHARMS)} ${pick(ANIMALS)}`;
}

export async function worlds(): Promise<readonly WorldEntry[]> {
  const answer = await ask('/api/worlds?limit=100');
  if (!Array.isArray(answer)) return [];
  return answer.flatMap((row: unknown) => {
    const { name, address } = members(row);
    return typeof name === 'string' ? [{ name, address: text(address) }] : [];
  });
}

/** How the round that runs stands: views tell neither, lest a million hunters hear of every chest. */
export interface Standing {
  /** Best first. */
  readonly best: readonly Score[];
  readonly chestsLeft: number | null;
}

export async function standing(world: string): Promise<Standing | null> {
  const answer = await ask(`/api/worlds/${encodeURIComponent(world)}/stats`);
  if (answer === null) return null;
  const { best, round } = members(answer);
  const { chests_left } = members(round);
  const rows: unknown[] = Array.isArray(best) ? best : [];
  return {
    chestsLeft: isNumber(chests_left) ? chests_left : null,
    best: rows.flatMap((row) => {
      const { mover, name, score } = members(row);
      return isNumber(mover) && isNumber(score) ? [{ id: mover, name: text(name), score }] : [];
    }),
  };
}

/** What lies in a part of a hunt, as far as the viewer may know: trees, and for operators items and movers. */
export interface Section {
  readonly trees: readonly Cell[];
  readonly items: readonly (Cell & { readonly indicator: string })[];
  readonly movers: readonly Cell[];
}

export async function section(world: string, part: Part, signal: AbortSignal): Promise<Section | null> {
  const query = new URLSearchParams({ x: `${part.x}`, y: `${part.y}`, w: `${part.width}`, h: `${part.height}` });
  const { trees, items, movers } = members(await ask(`/api/worlds/${encodeURIComponent(world)}/sections?${query}`, { signal }));
  if (!Array.isArray(trees)) return null;
  const cells = (rows: unknown) =>
    (Array.isArray(rows) ? rows : []).flatMap((row: unknown) => {
      const { x, y, indicator } = members(row);
      return isNumber(x) && isNumber(y) ? [{ x, y, indicator: text(indicator) }] : [];
    });
  const flat = trees.map(Number);
  return { trees: Array.from({ length: flat.length >> 1 }, (_, at) => ({ x: flat[2 * at] ?? 0, y: flat[2 * at + 1] ?? 0 })), items: cells(items), movers: cells(movers) };
}

/** How many movers stand in each bin of a part of the world. */
export async function density(
  world: string,
  part: Part,
  signal: AbortSignal,
): Promise<Density | null> {
  const query = new URLSearchParams({ x: `${part.x}`, y: `${part.y}`, w: `${part.width}`, h: `${part.height}` });
  const answer = members(await ask(`/api/worlds/${encodeURIComponent(world)}/density?${query}`, { signal }));
  const { counts, columns, rows, bin, movers } = answer;
  if (!isNumber(columns) || !isNumber(rows) || !isNumber(bin)) return null;
  if (!Array.isArray(counts) || counts.length !== columns * rows) return null;
  return { ...part, columns, rows, bin, movers: isNumber(movers) ? movers : 0, counts: counts.map(Number) };
}

/** Longest wait that a server may ask for, and time that it has to say so. */
const WAIT_MAX_MS = 60_000;
const EXPLAIN_MAX_MS = 3_000;

/** What the same address will be answered with later as well. */
const LASTING = new Set([400, 401, 403, 404]);
/** What passes: too many requests, too much to do. */
const PASSING = new Set([429, 503]);
/** The answer to a question in plain words by a server that would open a socket. */
const UPGRADE_REQUIRED = 426;

export interface Refusal {
  readonly why: string;
  /** How long the server wants to be left alone. */
  readonly waitMs: number;
  /** Whether another try would be answered alike. */
  readonly isLasting: boolean;
}

/** Why the server does not open what stands at this path, as far as it says so. */
export async function refusal(path: string): Promise<Refusal> {
  try {
    const answer = await fetch(path, { signal: AbortSignal.timeout(EXPLAIN_MAX_MS) });
    const waitMs = Math.min(WAIT_MAX_MS, 1_000 * (Number(answer.headers.get('retry-after')) || 0));
    const said = await reason(answer);
    const isLasting = LASTING.has(answer.status);
    if (said && (isLasting || PASSING.has(answer.status))) return { why: said, waitMs, isLasting };
    const isBetween = answer.status === UPGRADE_REQUIRED;
    const why = isBetween ? 'The server is there, but no WebSocket was opened: it may have too many, or a proxy on the way lets none through.' : 'The server did not open a connection.';
    return { why, waitMs, isLasting: false };
  } catch {
    return { why: 'The server cannot be reached.', waitMs: 0, isLasting: false };
  }
}

/** Joins a hunt in which no player plays without joining. What the server says where it does not let one; nothing when one has joined. */
export async function join(hunt: string): Promise<string> {
  try {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`/api/hunts/${encodeURIComponent(hunt)}/join`, { method: 'POST', headers });
    return answer.ok ? '' : (await reason(answer)) || 'The server does not let you join.';
  } catch {
    return 'The server cannot be reached.';
  }
}

/** What an answer that is a problem says of itself. */
async function reason(answer: Response): Promise<string> {
  const { detail, title } = members(await answer.json().catch(() => null));
  const said = text(detail) || text(title);
  return said && sentence(said);
}

async function ask(path: string, init?: RequestInit): Promise<unknown> {
  try {
    const answer = await fetch(path, init);
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

function members(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}
