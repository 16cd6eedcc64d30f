// How a bracket is drawn: a column for each round, and each pairing beside the middle of those that lead to it. What never was a meeting (a bye,
// an empty place, a second final that was not needed) takes no room. In columns and rows; pure.
import type { TournamentPairing } from '../../api/client.ts';
import { roundTitle, sectionTitle } from './words.ts';

export interface Box {
  readonly pairing: TournamentPairing;
  readonly column: number;
  /** Its middle, from the top. */
  readonly row: number;
}

/** From a pairing to the one that its winner comes to. */
export interface Line {
  readonly from: Box;
  readonly to: Box;
}

export type SectionName = 'winners' | 'losers' | 'final';

export interface Section {
  readonly name: SectionName;
  readonly title: string;
  /** What each column is. */
  readonly columns: readonly string[];
  readonly rows: number;
  readonly boxes: readonly Box[];
  readonly lines: readonly Line[];
}

const STAGES: readonly (readonly [SectionName, readonly string[]])[] = [
  ['winners', ['winners', 'third_place']],
  ['losers', ['losers']],
  ['final', ['grand_final', 'final_reset']],
];
const NO_MEETINGS: readonly (string | null | undefined)[] = ['bye', 'empty', 'not_needed'];

/** The parts of a bracket that have any meetings; none where the format has no bracket, or before the start. */
export function bracketOf(pairings: readonly TournamentPairing[]): readonly Section[] {
  const isDouble = pairings.some(({ stage }) => stage === 'grand_final');
  const sections = STAGES.map(([name, stages]) => {
    const own = pairings.filter(({ stage }) => stages.includes(stage));
    return sectionOf(name, own, isDouble);
  });
  return sections.filter(({ boxes }) => boxes.length > 0);
}

const columnOf = ({ stage, round }: TournamentPairing) => (stage === 'final_reset' ? 1 : round - 1);

function sectionOf(name: SectionName, pairings: readonly TournamentPairing[], isDouble: boolean): Section {
  const known = new Map(pairings.map((pairing) => [pairing.number, pairing]));
  const isShown = ({ decision }: TournamentPairing) => !NO_MEETINGS.includes(decision);
  // Who passes a bye comes from where he came to the bye from.
  const feedersOf = (pairing: TournamentPairing): readonly TournamentPairing[] =>
    pairing.players.flatMap(({ winner_of }) => {
      const feeder = typeof winner_of === 'number' ? known.get(winner_of) : undefined;
      return feeder ? (isShown(feeder) ? [feeder] : feedersOf(feeder)) : [];
    });
  const shown = pairings.filter(isShown);
  const feeders = new Map(shown.map((pairing) => [pairing.number, feedersOf(pairing)]));
  const fed = new Set([...feeders.values()].flat().map(({ number }) => number));
  const boxes: Box[] = [];
  const lines: Line[] = [];
  let rows = 0;
  const place = (pairing: TournamentPairing): Box => {
    const before = (feeders.get(pairing.number) ?? []).map(place);
    const row = before.length > 0 ? before.reduce((sum, { row }) => sum + row, 0) / before.length : (rows += 1) - 0.5;
    const box: Box = { pairing, column: columnOf(pairing), row };
    boxes.push(box);
    lines.push(...before.map((from) => ({ from, to: box })));
    return box;
  };
  // What leads nowhere is an end: the final first, what is played beside it below.
  shown.filter(({ number }) => !fed.has(number)).forEach(place);
  const first = Math.min(...boxes.map(({ column }) => column));
  const last = Math.max(...boxes.map(({ column }) => column));
  const width = boxes.length > 0 ? last - first + 1 : 0;
  const rounds = Math.max(0, ...pairings.filter(({ stage }) => stage !== 'third_place').map(({ round }) => round));
  const moved = new Map(boxes.map((box) => [box, { ...box, column: box.column - first }]));
  const titleOf = (column: number) => {
    const pairing = shown.find((pairing) => columnOf(pairing) === column + first && pairing.stage !== 'third_place');
    return pairing ? roundTitle(pairing, rounds, isDouble) : '';
  };
  return {
    name,
    title: sectionTitle(name, isDouble),
    columns: Array.from({ length: width }, (_, column) => titleOf(column)),
    rows,
    boxes: [...moved.values()],
    lines: lines.map(({ from, to }) => ({ from: moved.get(from) ?? from, to: moved.get(to) ?? to })),
  };
}
