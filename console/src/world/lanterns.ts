// What a world without a hunt is for: find the next lantern, and meet others on the way. Lanterns are drawn for each player by the page
// itself and kept in this browser: no other player can take one, and nothing of it is a score. Two people who stand beside each other have met,
// which both pages see by themselves: nothing is sent, so no player can be bothered with it. Pure; chance and the date are handed in.
import { type Cell, isInside, keyOf } from './grid.ts';
import { distance } from './pathfinding.ts';
import { ownCell, type World } from './state.ts';

/** Lanterns of a day: an end, so that no player walks for ever. */
export const LANTERNS = 7;
/** How far the first one is, and how much further each next one. */
const FIRST_CELLS = 10;
const FURTHER_CELLS = 4;
/** Draws until a lantern hangs in a tree: then the player looks for it there, and another one is drawn. */
const DRAWS_MAX = 50;
/** Of so many people it is remembered that they were met: a day's worth. */
const MET_MAX = 200;

/** What this browser remembers of today. */
export interface Evening {
  readonly day: string;
  readonly lit: number;
  readonly met: readonly string[];
}

export const evening = (day: string): Evening => ({ day, lit: 0, met: [] });

/** What was remembered, if it is of this day and makes sense. */
export function readEvening(text: string | null, day: string): Evening {
  try {
    const { day: then, lit, met } = JSON.parse(text ?? '') as Partial<Evening>;
    const isWhole = then === day && Number.isInteger(lit) && Array.isArray(met) && met.every((name) => typeof name === 'string');
    return isWhole ? { day, lit: Math.min(LANTERNS, Math.max(0, lit ?? 0)), met: met.slice(0, MET_MAX) } : evening(day);
  } catch {
    return evening(day);
  }
}

/** Where the next lantern stands: some way off, in the world, and in no tree that is known. */
export function drawLantern(world: World, lit: number, chance: () => number): Cell {
  const own = ownCell(world);
  const away = FIRST_CELLS + FURTHER_CELLS * lit;
  let cell = own;
  for (let draw = 0; draw < DRAWS_MAX; draw += 1) {
    // Nearer with every draw: small worlds have lanterns too.
    const reach = Math.max(1, Math.round(away * (1 - draw / DRAWS_MAX)));
    const angle = chance() * 2 * Math.PI;
    cell = { x: own.x + Math.round(reach * Math.cos(angle)), y: own.y + Math.round(reach * Math.sin(angle)) };
    if (isInside(cell, world.size) && !world.trees.has(keyOf(cell)) && keyOf(cell) !== keyOf(own)) return cell;
  }
  return isInside(cell, world.size) ? cell : own;
}

/** Whether one stands on it or beside it. */
export const isFound = (own: Cell, lantern: Cell) => distance(own, lantern) <= 1;

/** Who stands beside the own mover, of those with a name. */
export function beside(world: World): readonly { readonly name: string; readonly at: Cell }[] {
  const own = world.confirmed;
  return [...world.movers.values()].flatMap(({ name, at }) => (name && distance(own, at) <= 1 ? [{ name, at }] : []));
}

/** A player who was not met before, is now. */
export function meet(now: Evening, name: string): Evening {
  return now.met.includes(name) || now.met.length >= MET_MAX ? now : { ...now, met: [...now.met, name] };
}

const WAYS = ['east', 'south-east', 'south', 'south-west', 'west', 'north-west', 'north', 'north-east'] as const;

/** How far and which way: `24 cells north-east`. */
export function wayTo(own: Cell, to: Cell): string {
  const eighth = Math.round(Math.atan2(to.y - own.y, to.x - own.x) / (Math.PI / 4));
  const cells = distance(own, to);
  return `${cells} ${cells === 1 ? 'cell' : 'cells'} ${WAYS[(eighth + 8) % 8]}`;
}
