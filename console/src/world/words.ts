// What the page of a world says, in English. Pure.
import type { Cell } from './grid.ts';
import { counted } from '../common/words.ts';

export const walkingTo = ({ x, y }: Cell) => `Walking to ${x}, ${y}. Any key stops.`;
export const TREE_THERE = 'A tree stands there.';
export const WALK_ENDS = {
  there: '',
  near: 'As near as double steps lead.',
  no_way: 'There is no way there: trees stand around it, or somebody is on it.',
} as const;
export const pickedCell = (own: Cell, { x, y }: Cell, way: string) =>
  own.x === x && own.y === y ? 'Choose a cell with the arrow keys. Enter walks there, Escape stops choosing.' : `${x}, ${y}: ${way}. Enter walks there.`;

const NAMED_MAX = 3;
/** Whom one met just now. */
export function met(names: readonly string[]): string {
  const others = names.length - NAMED_MAX;
  return `You met ${names.slice(0, NAMED_MAX).join(', ')}${others > 0 ? ` and ${counted(others, 'other')}` : ''}.`;
}

/** Three lines for a player who is here for the first time. */
export function help(isHunt: boolean, isTouched: boolean): readonly string[] {
  const walk = isTouched ? 'Tap a cell to walk there, yourself to stop.' : 'Arrow keys, W A S D or a click walk. Enter chooses a cell.';
  return isHunt
    ? [walk, '🎁 Walk onto chests: the most points win the round.', '👟 🔭 🧲 What you find helps for twenty seconds.']
    : [walk, '🏮 Find your lantern: the arrow leads to it.', '👋 Stand beside somebody, and you have met.'];
}
export const HELP_TITLE = { world: 'A place to stroll', hunt: 'A treasure hunt' } as const;
export const HELP_DONE = 'Got it';

export const LANTERNS_TITLE = 'Lanterns this evening';
export const LANTERNS_DONE = 'All of them burn. New ones come tomorrow; the evening is for walking.';
export const lanternsLit = (lit: number, all: number) => `${lit} of ${all} burn`;
export const nextLantern = (way: string) => `The next one is ${way}.`;
export const metToday = (people: number) => (people === 0 ? 'You met nobody yet: stand beside somebody.' : `You met ${people === 1 ? 'one person' : `${people} people`} today.`);

export const ME = {
  title: 'How others see you',
  open: 'Change',
  openWhat: 'Change name and emoji',
  name: 'Name',
  nameHelp: 'Another name makes you another guest: points and hunts stay with the old one.',
  accountName: 'An account keeps its name.',
  look: 'Emoji',
  note: 'You come in anew where you stand. This browser remembers both.',
  save: 'Come in like this',
  cancel: 'Cancel',
  unnamed: 'nobody in particular',
} as const;

export const OVER_WHO_WON = 'See who won';
export const NEAREST = 'Walk to the nearest in sight';
