// What a report's page says in words of its own; the rest is the lab's.
import type { SweepVerdict, Verdict } from './document.ts';

export const VERDICTS: Readonly<Record<Verdict, string>> = { passed: 'Passed', failed: 'Failed', void: 'Void', interrupted: 'Interrupted' };

export const SWEEP_VERDICTS: Readonly<Record<SweepVerdict, string>> = { passed: 'Best found', failed: 'None holds', interrupted: 'Interrupted' };

export const TEXTS = {
  running: 'Running',
  sections: 'Sections',
  failing: 'Gates that do not hold',
  beside: 'What the figures say about this',
  timeShown: 'Time shown',
  from: 'From',
  to: 'To',
  wholeRun: 'Whole run',
  zoomHint: 'Drag over a chart to look closer at all of them; a double click shows the whole run again.',
  meansHint: 'A shaded edge shows the lowest and highest of what a point is the mean of.',
  heatHint: 'The stronger the colour, the more answers took that long in that second.',
  newer: 'This report was written by a newer Gauntlet than this page knows: some of it may be missing.',
  nothing: 'Nothing was measured.',
  sweep: 'Sweep',
  ownServers: 'a server for each run',
} as const;

export const footer = (id: string, program: string) => `Run ${id}, written by gauntlet ${program || 'of an unnamed version'}. All figures stand in run.json.`;
export const sweepFooter = (id: string, program: string) => `Sweep ${id}, written by gauntlet ${program || 'of an unnamed version'}. All figures stand in sweep.json.`;
export const cellText = (count: number, time: string, range: string) => `${time}: ${count.toLocaleString()} ${count === 1 ? 'answer' : 'answers'} in ${range}`;
