// What shall be played, as it is typed: empty fields are left to the server's defaults. Pure.

export interface GameForm {
  game_type: string;
  map: string;
  board: string;
  timeout_ms: number | null;
  settings: Record<SettingName, number | null>;
}

export const SETTINGS = [
  ['foodSpawnChance', 'Chance of food each turn, in per cent'],
  ['minimumFood', 'Food that is always there'],
  ['hazardDamagePerTurn', 'Health that a hazard costs each turn'],
  ['shrinkEveryNTurns', 'Turns between two steps of a map that changes'],
] as const;

type SettingName = (typeof SETTINGS)[number][0];

export const newGameForm = (): GameForm => ({
  game_type: 'standard',
  map: '',
  board: '11x11',
  timeout_ms: 500,
  settings: { foodSpawnChance: null, minimumFood: null, hazardDamagePerTurn: null, shrinkEveryNTurns: null },
});

/** What was typed into a number's field; an emptied one has nothing. */
export const isGiven = (value: number | null | undefined): value is number => typeof value === 'number' && Number.isFinite(value);

export function gameOf({ game_type, map, board, timeout_ms, settings }: GameForm) {
  const given = Object.fromEntries(Object.entries(settings).filter(([, value]) => isGiven(value)));
  return {
    game_type,
    board: board.trim().replace('×', 'x'),
    ...(map.trim() && { map: map.trim() }),
    ...(isGiven(timeout_ms) && { timeout_ms }),
    ...(Object.keys(given).length > 0 && { settings: given }),
  };
}
