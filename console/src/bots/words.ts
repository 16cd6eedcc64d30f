// The texts of the pages of bots and matches. English; pure.
import { counted } from '../common/words.ts';

/** Classes of answers to `/move`. */
const CLASSES: Readonly<Record<string, readonly [short: string, meaning: string]>> = {
  valid: ['valid', 'A move, in time.'],
  late: ['late', 'No whole answer before the time was up. The previous move was played again.'],
  unreachable: ['unreachable', 'No connection, or one that broke. The previous move was played again.'],
  bad_status: ['bad status', 'The status was not 200. Redirects are not followed.'],
  oversized: ['too long', 'The answer was longer than 64 KiB.'],
  malformed: ['malformed', 'The answer was no HTTP, or not the expected JSON.'],
  unknown_move: ['unknown move', 'The move was none of up, down, left and right.'],
  forbidden: ['forbidden', 'The URL leads to no address that may be called.'],
  throttled: ['not called', 'The bot did not answer before, so it was not called. Make it answer /move: the next call finds it.'],
  server_fault: ['server fault', 'This server could not make the call. It counts against nobody.'],
};

export const className = (name: string) => CLASSES[name]?.[0] ?? name;
export const classMeaning = (name: string) => CLASSES[name]?.[1] ?? `An answer of the class ${name}.`;

const CAUSES: Readonly<Record<string, string>> = {
  'wall-collision': 'left the board',
  'snake-self-collision': 'ran into itself',
  'snake-collision': 'ran into another snake',
  'head-collision': 'lost head to head',
  'out-of-health': 'starved',
  hazard: 'died in a hazard',
};

/** Why a snake was out: `ran into itself`. */
export const causeText = (cause: string) => CAUSES[cause] ?? `died of ${cause}`;

const STATUS: Readonly<Record<string, string>> = { waiting: 'Waits', running: 'Is played', finished: 'Finished', failed: 'Failed', cancelled: 'Called off' };
export const statusText = (status: string) => STATUS[status] ?? status;

const OUTCOMES: Readonly<Record<string, string>> = { won: 'Won', drawn: 'Drawn', lost: 'Lost' };
export const outcomeText = (outcome: string) => OUTCOMES[outcome] ?? outcome;

const HEALTH: Readonly<Record<string, readonly [title: string, meaning: string]>> = {
  untested: ['Not tried yet', 'It has not been called yet. Call it now to see whether it answers.'],
  healthy: ['Answers', 'It answered the last calls with a move.'],
  failing: ['Fails', 'The last call failed. After three failures in a row ladders and tournaments pause it.'],
  paused: ['Paused', 'Ladders and tournaments give it no new games until two calls in a row succeed. Two checks bring it back.'],
};

export const healthTitle = (status: string) => HEALTH[status]?.[0] ?? status;
export const healthMeaning = (status: string) => HEALTH[status]?.[1] ?? '';

const SOURCES: Readonly<Record<string, string>> = { sweep: 'regular probe', request: 'check', match: 'matches' };
export const sourceText = (source: string) => SOURCES[source] ?? source;

const FAULTS: Readonly<Record<string, string>> = { silent_in_match: 'gave no valid move in a whole match' };
/** The code of a fault, as words: codes are words of their own. */
export const faultText = (code: string) => FAULTS[code] ?? code.replaceAll('_', ' ');

const CALLS: Readonly<Record<string, string>> = { index: 'Looks', start: 'Start', move: 'Move', end: 'End' };
export const callTitle = (call: string) => CALLS[call] ?? call;

export const snakesText = (max: number) => (max === 1 ? 'one snake' : `1 to ${max} snakes`);
export const turnsText = (turns: number) => counted(turns, 'turn');

/** What making a bot private, or deleting it, will do. */
export const HIDE_MEANS = 'Others cannot choose it any more, and it leaves all its ladders at once. Matches that were public stay public.';
export const SHOW_MEANS = 'Everybody sees its name, who owns it and its public matches, and may let it play. Its URL stays yours alone.';
export const DELETE_MEANS = [
  'It leaves all ladders and tournaments at once, and its health and latencies are deleted.',
  'Its matches stay, with its name; matches that have begun go on.',
  'A bot that is registered again, even with this name and URL, is a new one without a rating.',
];

export const verdict = (isPassed: boolean) => (isPassed ? 'It can play.' : 'It cannot play.');
