// The official maps, as a form offers them: which boards and how many snakes each takes. What they are like stands in docs/maps.md, against
// which a test holds this; the server decides. Pure.

export interface MapChoice {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly boards: readonly string[];
  readonly snakesMax: number;
}

const SIDES = [7, 9, 11, 13, 15, 17, 19, 21, 23, 25];
const SQUARES = SIDES.map((side) => `${side}x${side}`);

const map = (name: string, title: string, about: string, boards: readonly string[] = SQUARES, snakesMax = 16): MapChoice => ({ name, title, about, boards, snakesMax });

export const MAPS: readonly MapChoice[] = [
  map('standard', 'Standard', 'Food, and no hazards.'),
  map('empty', 'Empty', 'No food and no hazards: made for Constrictor.'),
  map('royale', 'Royale', 'Again and again one side is lost to hazards.'),
  map('snail_mode', 'Snail mode', 'Every snake leaves a trail of hazards that fades.'),
  map('hz_inner_wall', 'Inner wall', 'A wall of hazards one cell inside the edge.'),
  map('hz_rings', 'Rings', 'Rings of hazards with a free ring between them.'),
  map('hz_columns', 'Columns', 'A hazard on every second cell of every second row.'),
  map('hz_spiral', 'Spiral', 'Hazards wind out of the middle, a cell every 3 turns.'),
  map('hz_scatter', 'Scatter', 'Every 2 turns one random cell more becomes a hazard.'),
  map('hz_grow_box', 'Growing box', 'A box of hazards that grows on one side every 12 turns.'),
  map('hz_expand_box', 'Expanding box', 'A square of hazards that grows by a ring every 20 turns.'),
  map('hz_expand_scatter', 'Expanding scatter', 'Rings of hazards that fill up cell by cell.'),
  map('hz_hazard_pits', 'Hazard pits', 'Pits that fill up with hazards, and are empty again.', ['11x11'], 4),
  map('sinkholes', 'Sinkholes', 'A hole in the middle that gets wider and deeper.', ['7x7', '11x11', '19x19'], 8),
  map('healing_pools', 'Healing pools', 'Pools that heal where the damage of hazards is negative.', ['7x7', '11x11', '19x19'], 8),
  map('hz_castle_wall', 'Castle wall', 'A wall with passages, in which the food comes.', ['11x11'], 8),
  map('hz_castle_wall_lg', 'Castle wall, large', 'The same on 19x19.', ['19x19'], 8),
  map('hz_castle_wall_xl', 'Castle wall, huge', 'The same on 25x25.', ['25x25'], 12),
  map('hz_rivers_bridges', 'Rivers and bridges', 'A lake with four rivers, and bridges over them.', ['11x11'], 8),
  map('hz_rivers_bridges_lg', 'Rivers and bridges, large', 'The same on 19x19.', ['19x19'], 12),
  map('hz_rivers_bridges_xl', 'Rivers and bridges, huge', 'The same on 25x25.', ['25x25'], 12),
  map('hz_islands_bridges', 'Islands and bridges', 'Four islands behind rivers.', ['11x11'], 4),
  map('hz_islands_bridges_lg', 'Islands and bridges, large', 'The same on 19x19.', ['19x19'], 16),
  map('arcade_maze', 'Arcade maze', 'A maze with walls of hazards; its edges are tunnels in the wrapped rules.', ['19x21'], 6),
  map('solo_maze', 'Solo maze', 'One snake looks for one food in maze after maze.', ['7x7', '11x11', '19x19', '19x21', '25x25'], 1),
];

/** `rules` as a creation names them. */
export const GAME_TYPES = [
  { name: 'standard', title: 'Standard' },
  { name: 'solo', title: 'Solo' },
  { name: 'royale', title: 'Royale' },
  { name: 'wrapped', title: 'Wrapped' },
  { name: 'constrictor', title: 'Constrictor' },
  { name: 'wrapped_constrictor', title: 'Wrapped constrictor' },
] as const;

export function mapNamed(name: string | null): MapChoice | undefined {
  return MAPS.find((map) => map.name === name);
}

export const mapTitle = (name: string) => mapNamed(name)?.title ?? name;

const USUAL_BOARD = '11x11';

/** The board to offer for a map: the one that was chosen where the map takes it, the usual one, or the map's first. */
export function boardFor(map: MapChoice, chosen: string): string {
  return [chosen, USUAL_BOARD].find((board) => map.boards.includes(board)) ?? map.boards[0] ?? USUAL_BOARD;
}
