// What a form for a match has chosen, and the request that it becomes. Pure.
import type { Schemas } from '../api/client.ts';
import { boardFor, type MapChoice, mapNamed, MAPS } from './maps.ts';
import { snakesText } from './words.ts';

export interface Seat {
  readonly id: string;
  readonly name: string;
  readonly face: Schemas['BotFace'] | null | undefined;
}

export interface Draft {
  readonly seats: readonly Seat[];
  readonly map: string;
  readonly board: string;
  readonly gameType: string;
  /** As they were typed; empty for what is usual. */
  readonly timeoutMs: string;
  readonly seed: string;
  readonly settings: Readonly<Record<Setting, string>>;
}

export const SETTINGS = [
  { name: 'foodSpawnChance', title: 'Chance of food', unit: '% a turn', usual: 15 },
  { name: 'minimumFood', title: 'Food at least', unit: 'cells', usual: 1 },
  { name: 'hazardDamagePerTurn', title: 'Damage of hazards', unit: 'health a turn', usual: 14 },
  { name: 'shrinkEveryNTurns', title: 'Length of a step', unit: 'turns', usual: 25 },
] as const;
export type Setting = (typeof SETTINGS)[number]['name'];

export const SEATS_MAX = 16;

export const EMPTY: Draft = {
  seats: [],
  map: 'standard',
  board: '11x11',
  gameType: 'standard',
  timeoutMs: '',
  seed: '',
  settings: { foodSpawnChance: '', minimumFood: '', hazardDamagePerTurn: '', shrinkEveryNTurns: '' },
};

/** With another map, and a board that it takes. */
export function withMap(draft: Draft, map: MapChoice): Draft {
  return { ...draft, map: map.name, board: boardFor(map, draft.board) };
}

/** Why it cannot be started as it stands; empty when the server may be asked. What else is wrong, the server says. */
export function obstacle({ seats, map, gameType }: Draft): string {
  if (seats.length === 0) return 'Choose at least one bot.';
  const max = mapNamed(map)?.snakesMax ?? SEATS_MAX;
  if (seats.length > max) return `This map takes ${snakesText(max)}, not ${seats.length}. Take some out, or choose another map.`;
  if (gameType === 'solo' && seats.length !== 1) return 'The rules Solo are for one snake. Take the others out, or choose other rules.';
  return '';
}

/** Numbers that were typed as such; what is none goes as it was typed, so that the server says what it expected. */
function typed(text: string): number {
  return (/^-?\d+$/.test(text.trim()) ? Number(text) : text.trim()) as number;
}

export function request(draft: Draft): Schemas['CreateGame'] {
  const settings = Object.fromEntries(Object.entries(draft.settings).filter(([, value]) => value.trim()).map(([name, value]) => [name, typed(value)]));
  return {
    snakes: draft.seats.map(({ id }) => id),
    map: draft.map,
    board: draft.board,
    game_type: draft.gameType,
    timeout_ms: draft.timeoutMs.trim() ? typed(draft.timeoutMs) : null,
    ...(draft.seed.trim() ? { seed: draft.seed.trim() } : {}),
    ...(Object.keys(settings).length > 0 ? { settings } : {}),
  };
}

export const USUAL_MAP = MAPS[0] as MapChoice;
