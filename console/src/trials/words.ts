// The texts of the pages of trials.
import type { TrialRun } from '../api/client.ts';
import type { Verdict } from '../report/document.ts';
import { VERDICTS } from '../report/words.ts';

export const TEXTS = {
  title: 'Trials',
  run: 'Run',
  lead: 'Load tests of this server’s folder: what runs, what they found, and one against the other.',
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
} as const;

export const failureText = (scenario: string, message: string) => `The last trial that was started here (${scenario}) left no run. It said: ${message}`;

/** How a run stands, in a word. */
export function standing({ state, verdict }: TrialRun): string {
  if (state === 'running') return 'Running';
  if (state === 'unreadable') return 'Unreadable';
  return VERDICTS[verdict as Verdict] ?? VERDICTS.interrupted;
}

/** Which chip says so. */
export function tone({ state, verdict }: TrialRun): 'good' | 'bad' | 'live' | '' {
  if (state === 'running') return 'live';
  if (verdict === 'passed') return 'good';
  return verdict === 'failed' || state === 'unreadable' ? 'bad' : '';
}
