// The texts of the pages of trials.
import type { TrialRun } from '../api/client.ts';
import { counted } from '../common/words.ts';
import type { SweepVerdict, Verdict } from '../report/document.ts';
import { SWEEP_VERDICTS, VERDICTS } from '../report/words.ts';

export const TEXTS = {
  title: 'Trials',
  run: 'Run',
  lead: 'Load tests of this server’s folder: what runs, what they found, and one against the other.',
  sweepOf: 'Sweep of',
  off: 'This server shows no trials',
  offHint: 'It was started without a folder of runs. Start it with --trials DIR, and sign in as an operator.',
  noRun: 'There is no such run',
  noRunHint: 'It was never in the folder of trials, or was removed.',
  back: 'All trials',
  start: 'Start a trial',
  scenario: 'Scenario',
  against: 'Against',
  ownServer: 'A server of its own',
  startNow: 'Start',
  starting: 'Starting …',
  oneAtATime: 'A trial runs: the next one can begin when it is over.',
  loads: 'A trial takes all that this machine has, so that games of this server are slower meanwhile. It ends by itself after an hour at most.',
  empty: 'No run is here yet',
  emptyHint: 'Start one above, or run gauntlet run --out with this folder.',
  compare: 'Compare',
  compareHint: 'Choose two runs of one scenario to compare them.',
  comparison: 'Comparison',
  stop: 'Stop it',
  stopTitle: 'Stop this trial?',
  stopWhat: 'It ends as with Ctrl-C: nothing more is sent, its own server and bots are stopped, and its report is written from what was measured. It counts as interrupted.',
  stopping: 'It is asked to end, and writes its report.',
  live: 'It runs: the figures are those until now, and new ones come every few seconds.',
  sweeping: 'It goes on: the table is made of the runs that are over, and new ones come by themselves.',
} as const;

/** How far a sweep is: `12 runs`, `5 of 12 runs`. */
export function runsOf({ runs_made, runs_planned }: TrialRun): string {
  if (runs_made === null || runs_planned === null) return '';
  return runs_made === runs_planned ? counted(runs_planned, 'run') : `${runs_made.toLocaleString('en')} of ${counted(runs_planned, 'run')}`;
}

export const failureText = (scenario: string, message: string) => `The last trial that was started here (${scenario}) left no run. It said: ${message}`;

/** How a run stands, in a word. */
export function standing({ kind, state, verdict }: TrialRun): string {
  if (state === 'running') return 'Running';
  if (state === 'unreadable') return 'Unreadable';
  if (kind === 'sweep') return SWEEP_VERDICTS[verdict as SweepVerdict] ?? SWEEP_VERDICTS.interrupted;
  return VERDICTS[verdict as Verdict] ?? VERDICTS.interrupted;
}

/** Which chip says so. */
export function tone({ state, verdict }: TrialRun): 'good' | 'bad' | 'live' | '' {
  if (state === 'running') return 'live';
  if (verdict === 'passed') return 'good';
  return verdict === 'failed' || state === 'unreadable' ? 'bad' : '';
}
