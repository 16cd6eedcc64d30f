// What the page for operators says. English; pure. Names and sentences are texts of strangers: components show them as text.
import type { Schemas } from '../api/client.ts';
import { decimal, number } from '../common/format.ts';

export type KindName = 'tables' | 'games' | 'hunts' | 'worlds' | 'tournaments' | 'ladders';

export const TITLE = 'Operate';
export const LEAD = 'How this server is, whom it limits, and what it takes to end something. What is not of all nodes is of the one process that answers.';
export const TABS = [
  { name: '', text: 'Load' },
  { name: 'nodes', text: 'Nodes' },
  { name: 'limits', text: 'Limits' },
  { name: 'end', text: 'End something' },
  { name: 'accounts', text: 'Accounts' },
  { name: 'bans', text: 'Bans' },
  { name: 'audit', text: 'Audit log' },
  { name: 'settings', text: 'Settings' },
] as const;

export const NEEDED = {
  title: 'This page is for operators',
  signedOut: 'You are not signed in. Open a sign-in link whose role is operator or admin; the command below prints one.',
  weak: (role: string) => `You are signed in as ${role}, and this takes the role operator or admin. Whoever runs this server can make you a link that signs in with it.`,
  command: 'gauntlet token sign-in --account NAME --role operator',
} as const;

export const LOAD = {
  noMetrics: 'The metrics of this server could not be read: what is made of them is missing.',
  ready: 'Ready for work',
  notReady: 'Not ready for work',
  noErrors: 'No match failed in the last 24 hours.',
} as const;

export const PAST = {
  title: 'The past',
  spans: 'How far back',
  nothing: 'This process has just begun: it remembers nothing yet.',
  scope: 'The process that answers remembers the last ten minutes by the second, two hours by ten seconds, and a day by the minute, since it began. A gap is time of which it knows nothing.',
} as const;

export const NODES = {
  lead: 'Every process that serves from this database, by the leases that it renews each second; those that have gone stay here for a day.',
  empty: 'No node has a lease now, not even this one: it is starting, or cannot reach its database.',
  living: 'lives',
  gone: 'gone',
  isThis: 'this one',
  endless: 'needs no renewal',
  endlessWhy: 'This server has its database for itself: its leases last as long as its process.',
  leftOver: 'What a node that is gone still holds, another one takes over; while that is more than nothing for longer than some seconds, none can.',
  workers: 'Workers',
  drainTitle: 'Drain this node',
  drainLead: 'Before an update, or to take a machine away. It does what SIGTERM does to this one process.',
  drain: 'Drain this node …',
  drainDoes: 'Drain it',
  drainQuestion: (address: string) => `Drain ${address}?`,
  drainMeans: ['This node takes no work any more, hands over its matches, tables and worlds, and its process ends within some seconds. That cannot be called off.', 'Whoever supervises the process starts it again. If nobody does, it stays away.'],
  drainOthers: (count: number) => (count === 1 ? 'The other node goes on with everything.' : `The ${number(count)} other nodes go on with everything.`),
  drainAlone: 'It is the only node that lives: nobody reaches this server until it is started again. What was saved goes on then where it was.',
  drained: (address: string, ms: number) => `${address} drains: its process ends within ${span(ms)}. This page comes back by itself as soon as a node answers.`,
  admins: 'A node is drained by an admin here, or by SIGTERM on its machine: your role is operator.',
} as const;

const JOBS: Readonly<Record<string, string>> = { matchmaking_queue: 'finds players for hunts', ladders: 'rates ladders', tournaments: 'runs tournaments', duels: 'runs duels', bot_health: 'checks bots', retention: 'deletes what is old' };
/** What a node does for all. */
export const jobText = (name: string) => JOBS[name] ?? name;

/** How many live, and how many have gone. */
export function nodesText(nodes: readonly Schemas['NodeView'][]): string {
  const living = nodes.filter((node) => node.is_living).length;
  const gone = nodes.length - living;
  return `${living === 1 ? '1 node lives' : `${number(living)} nodes live`}${gone === 0 ? '' : `, ${number(gone)} ${gone === 1 ? 'has' : 'have'} gone`}.`;
}

/** What the times of the last minute are of, in the order of a match's way. */
export const TIMES: readonly (readonly [name: keyof Schemas['TimingStats'], text: string])[] = [
  ['queue_wait_ms', 'A match waits in the queue'],
  ['run_time_ms', 'A match is played'],
  ['bot_call_ms', 'A bot answers'],
  ['commit_wait_ms', 'A command waits for the writer'],
  ['commit_ms', 'A batch is saved'],
  ['pool_wait_ms', 'A read waits for a reader'],
  ['query_ms', 'A read in the database'],
  ['scheduler_delay_ms', 'A task waits for the processor'],
  ['rating_lag_ms', 'A rating is saved after its game'],
];

/** Counts of things that went wrong since the process began, from the metrics. */
export const TROUBLES: readonly (readonly [metric: string, text: string])[] = [
  ['gauntlet_matches_failed_total', 'Matches that ended without a result'],
  ['gauntlet_shed_total', 'Requests refused under overload'],
  ['gauntlet_store_batches_failed_total', 'Batches that were not saved'],
  ['gauntlet_store_queries_failed_total', 'Reads that failed'],
  ['gauntlet_store_damaged_total', 'Stored data that are damaged'],
  ['gauntlet_store_readers_missing', 'Readers of the store that cannot be opened'],
  ['gauntlet_leases_lost_total', 'Leases lost before they were released'],
  ['gauntlet_forwards_failed_total', 'Requests forwarded to a node that did not answer'],
  ['gauntlet_background_jobs_failed_total', 'Background jobs that failed'],
  ['gauntlet_http_timeouts_total', 'Clients that were too slow'],
  ['gauntlet_http_accept_errors_total', 'Connections lost for lack of files or memory'],
  ['gauntlet_quota_exceeded_total', 'Requests beyond an address’s quota'],
  ['gauntlet_world_claims_lost_total', 'Claims in worlds that were not saved'],
  ['gauntlet_tournaments_failing', 'Tournaments that could not be moved on'],
  ['gauntlet_ladders_failing', 'Ladders that could not be moved on'],
  ['gauntlet_duels_failing', 'Duels that could not be moved on'],
];

/** What is in memory of the process, from the metrics. */
export const HELD: readonly (readonly [metric: string, text: string])[] = [
  ['gauntlet_matches_running', 'matches'],
  ['gauntlet_tables', 'tables'],
  ['gauntlet_table_players', 'people at tables'],
  ['gauntlet_worlds', 'worlds'],
  ['gauntlet_world_connected_movers', 'people in worlds'],
  ['gauntlet_spectators', 'spectators'],
  ['gauntlet_bot_connections', 'connections to bots'],
];

const QUEUED: Readonly<Record<string, string>> = { run_game: 'matches to play', advance_competition: 'competitions to move on', probe_bot: 'bots to check' };
export const queuedText = (name: string) => QUEUED[name] ?? name;

export const LIMITS = {
  scope: 'Counts are of this process alone: behind several nodes each counts for itself.',
  shadowAll: 'The whole limiter is in shadow mode (limiter.shadow): it decides and counts, and refuses nothing.',
  none: 'No policy is in force: nothing is limited. Policies are built in where others reach the server (limiter.defaults), come from the file limiter.policies, or are set here.',
  noKeys: 'Which keys are refused the API does not list; a key that you suspect can be tried below.',
  counted: 'Refused and shadow are counted while this page reads, over the last fifteen minutes at most.',
  tryTitle: 'Try a key',
  tryLead: 'Asks the limiter as another service would. If it is allowed, it takes these units from the key’s quota. Classes of the gateway itself (gateway.…) cannot be tried.',
  tryOff: 'This server does not offer the limiter as a service (limiter.service is off): no key can be tried here.',
  newPolicy: 'New policy',
  sources: {
    built_in: 'It is built in, for servers that others reach. What you save here takes its place until it is deleted here; so does a policy of this name in the file.',
    file: 'It comes from the file of policies. What you save here wins over the file until it is deleted here.',
    api: 'It was set over the API, and wins over a policy of this name in the file or a built-in one.',
  } as Readonly<Record<string, string>>,
  saves: 'It holds at once for every request to this process, and for other nodes within a second. What keys have used stays used, unless the algorithm changes.',
  deletes: 'The setting and the quotas of single keys that were set under it are deleted. A policy of this name in the file, or a built-in one, holds again; without one, nothing of it remains.',
} as const;

export const ALGORITHMS: readonly (readonly [name: string, text: string])[] = [
  ['gcra', 'gcra: units come back evenly'],
  ['log', 'log: exact in every window'],
  ['counter', 'counter: about so many a window'],
];

interface KindWords {
  readonly tab: string;
  readonly one: string;
  readonly listed: string;
  readonly empty: string;
  readonly find: string;
  readonly does: string;
  readonly title: (name: string) => string;
  /** What will happen. */
  readonly means: readonly string[];
  readonly done: (name: string) => string;
}

export const KIND_WORDS: Readonly<Record<KindName, KindWords>> = {
  tables: {
    tab: 'Stories',
    one: 'this table',
    listed: 'Tables with a game that still takes players, the newest first. A full table is found by its id or link.',
    empty: 'No table waits for players now.',
    find: 'Id or link of a table',
    does: 'End its game',
    title: (name) => `End the game of ${name}?`,
    means: ['The game ends at once, without points, and everybody at the table is told that an operator closed it.', 'Its members stay at the table, and may begin another game.', 'What was played stays in the history.'],
    done: (name) => `The game of ${name} is ended.`,
  },
  games: {
    tab: 'Matches',
    one: 'this match',
    listed: 'Matches of all accounts, the newest first.',
    empty: 'No match was created yet.',
    find: 'Id or link of a match',
    does: 'Cancel it',
    title: (name) => `Cancel ${name}?`,
    means: ['It stops at its next turn, without a result, and its bots are not called any more.', 'In a ladder it rates nobody; in a tournament or a duel it is played again.', 'The turns that were played stay.'],
    done: (name) => `${name} is cancelled.`,
  },
  hunts: {
    tab: 'Hunts',
    one: 'this hunt',
    listed: 'Hunts that are not over, the one that ends last first; those of matched players too.',
    empty: 'No hunt is open now.',
    find: 'Name or link of a hunt',
    does: 'End it',
    title: (name) => `End the hunt ${name}?`,
    means: ['It is over at once, for everybody in it: they are disconnected.', 'Points that were counted stay. It cannot be opened again.'],
    done: (name) => `The hunt ${name} is over.`,
  },
  worlds: {
    tab: 'Worlds',
    one: 'this world',
    listed: 'Worlds that are not over and that you may enter.',
    empty: 'There is no world.',
    find: 'Name or link of a world',
    does: 'End it',
    title: (name) => `End the world ${name}?`,
    means: ['It is over at once, for everybody in it: they are disconnected, and cannot come back.', 'It cannot be opened again.'],
    done: (name) => `The world ${name} is over.`,
  },
  tournaments: {
    tab: 'Tournaments',
    one: 'this tournament',
    listed: 'Public tournaments, the newest first. A private one is found by its id or link.',
    empty: 'No public tournament was held yet.',
    find: 'Id or link of a tournament',
    does: 'Cancel it',
    title: (name) => `Cancel the tournament ${name}?`,
    means: ['It ends without a champion, and its matches that are under way are called off.', 'What was played stays. It cannot be started again.'],
    done: (name) => `The tournament ${name} is cancelled.`,
  },
  ladders: {
    tab: 'Ladders',
    one: 'this ladder',
    listed: 'Public ladders. A private one is found by its id or link.',
    empty: 'There is no public ladder.',
    find: 'Id or link of a ladder',
    does: 'End it',
    title: (name) => `End the ladder ${name}?`,
    means: ['No bot can enter any more, and no match begins. Matches under way still count.', 'Its ranking stays. It cannot be opened again.'],
    done: (name) => `The ladder ${name} has ended.`,
  },
};

export const END = {
  duels: 'A duel can only be called off by the account that began it; its matches can be cancelled one by one under Matches.',
  badId: 'That has no id in it: paste the link of its page, or the id.',
  badName: 'That is no name: small letters, digits and hyphens.',
  itsAccount: 'the account that made it',
  ban: (name: string) => `Ban ${name} …`,
  requeue: 'Put it back into the queue',
  requeueTitle: (name: string) => `Play ${name} on?`,
  requeueMeans: ['It goes back into the queue, and continues after its last saved turn.', 'Its attempts are counted from zero again.'],
  requeued: (name: string) => `${name} is in the queue again.`,
} as const;

export const ACCOUNTS = {
  disabled: 'disabled',
  disabledWhy: (account: string) => `disabled: why ${account} is, and who did it`,
  own: 'your own',
  disable: 'Disable',
  enable: 'Enable',
  disableOf: (account: string) => `Disable ${account}`,
  enableOf: (account: string) => `Enable ${account}`,
  disableQuestion: (account: string) => `Disable the account ${account}?`,
  disableDoes: 'Disable it',
  disableMeans: [
    'Every request with its tokens is refused from now on, with your reason, and what it has open ends: here at once, on other nodes within two seconds.',
    'Its games that wait to be played are cancelled, but for those of competitions. Games that are played go on.',
    'Nothing of it is deleted: it can be enabled again, here or under Bans. What was cancelled stays so.',
  ],
  disableReasonHelp: 'Its owner reads it: one line of at most 200 characters.',
  disabledNow: (account: string, games: number) => `The account ${account} is disabled${games > 0 ? `; ${number(games)} ${games === 1 ? 'game that waited is' : 'games that waited are'} cancelled` : ''}.`,
  deleteAccount: 'Delete',
  deleteAccountOf: (account: string) => `Delete the account ${account}`,
  deleteAccountQuestion: (account: string) => `Delete the account ${account} for ever?`,
  deleteAccountMeans: [
    'Its tokens and sessions end with it, and what it has open: here at once, on other nodes within two seconds. Its name is free for others, unless it is banned.',
    'Its bots, games that wait and competitions follow within seconds. Results stay in the games, rankings and tournaments of others, of a deleted account.',
    'Nobody can undo it. To keep somebody out for now, disable the account.',
  ],
  deleteAccountReasonHelp: 'For the audit log: one line of at most 200 characters.',
  deletedNow: (account: string) => `The account ${account} is deleted.`,
  accountTitle: 'Make an account',
  accountLead: 'Without an invitation: for a program, or before its owner comes. An account of this name is found, and not made twice.',
  tokenTitle: 'Make a token for an account',
  tokenLead: 'Whoever has its secret acts as this account, until it is deleted.',
  admins: 'Accounts and their tokens are for admins alone to see and to make: your role is operator.',
  listTitle: 'Find an account',
  listLead: 'All accounts by name, or those whose names begin as you type; capitals count.',
  empty: 'There is no account yet.',
  none: (name: string) => `No account’s name begins with “${name}”.`,
  tokensOf: (name: string) => `Tokens of ${name}`,
  unnamed: 'this account',
  noTokens: 'It has none: nobody is signed in with it, and no program acts as it.',
  tokensLead: 'Programs send them, and each browser that is signed in has one. Their secrets are kept nowhere.',
  deleteQuestion: (token: string, account: string) => `Delete the token ${token} of ${account}?`,
  deleteAgain: 'It cannot be brought back: its owner needs another one.',
  deleted: (token: string) => `The token ${token} is deleted.`,
  ban: (account: string) => `Ban ${account} …`,
  did: 'by it',
  wasDone: 'on it',
  didOf: (account: string) => `What was done by it: by ${account}`,
  doneTo: (account: string) => `What was done on it: on ${account}`,
} as const;

export const BANS = {
  title: 'Ban somebody',
  lead: 'Who is banned gets every request refused, with your reason and the end, on all nodes within two seconds. Games that run go on.',
  kinds: { player: 'A player', address: 'Addresses' },
  player: 'Id of the player',
  playerHelp: 'Of an account or a guest: under “End something”, a table that is looked up names its players, and a match its account. A link to a hunter’s page will do, too.',
  address: 'Address or network',
  addressHelp: 'Such as 192.0.2.7, 192.0.2.0/24 or 2001:db8::/32.',
  reason: 'Reason',
  reasonHelp: 'The banned read it: one line of at most 200 characters.',
  badPlayer: 'That is no player’s id: paste the id, or the link of a hunter’s page.',
  endPast: 'The end must be in the future.',
  endFar: 'A ban lasts ten years at most, or until it is lifted.',
  endless: 'It lasts until somebody lifts it.',
  endsAt: (time: string) => `It ends by itself on ${time}.`,
  question: (whom: string) => `Ban ${whom}?`,
  questionPlayer: 'Ban this player?',
  does: 'Ban',
  meansPlayer: [
    'Every request of theirs is refused from now on, and what they have open ends: tables, worlds, feeds. Their games go on.',
    'An account is banned with all its tokens and browsers, from any address.',
    'A guest is banned until their token ends. They may come back as another guest: then ban their address.',
  ],
  meansAddress: (address: string, addresses: string) => [
    `Everybody at ${address}${addresses && addresses !== '1 address' ? `, ${addresses},` : ''} is refused from now on, and what they have open ends. A school or a phone network may share one.`,
    'Requests with a token of an operator or admin still pass.',
  ],
  reads: 'They read:',
  made: (whom: string, end: string) => `${whom} is banned. ${end}`,
  listTitle: 'Bans in force',
  listLead: 'The newest first, disabled accounts among them. Those that ended or were lifted are in the audit log.',
  empty: 'Nobody is banned.',
  none: 'No ban in what was looked through is so.',
  commandLine: 'the command line',
  chips: { account: 'account', guest: 'guest', address: 'address', disabled: 'disabled' },
  guest: (id: string) => `Guest ${id.slice(-12)}`,
  until: 'ends',
  forever: 'until it is lifted',
  lift: 'Lift it',
  enable: 'Enable it',
  adminsOnly: 'Only admins lift it.',
  adminsEnable: 'Only admins enable it.',
  liftQuestion: (whom: string) => `Lift the ban of ${whom}?`,
  enableQuestion: (whom: string) => `Enable the account ${whom}?`,
  liftMeans: ['They may use the server again: here at once, on other nodes within two seconds.', 'The same ban can be made again, with another reason or end.'],
  enableMeans: ['Its tokens and browsers work again: here at once, on other nodes within two seconds.', 'Its games that were cancelled stay so.'],
  lifted: (whom: string) => `The ban of ${whom} is lifted.`,
  enabled: (whom: string) => `The account ${whom} is enabled.`,
  entry: 'Its entry in the log',
  entryOf: (whom: string) => `Its entry in the log: ${whom}`,
} as const;

export const AUDIT = {
  title: 'What operators and admins changed',
  lead: 'Each of their requests that changes something for others or for this server, also those that were refused; of the command line, bans and tokens. Nobody can change an entry.',
  filter: 'Filter',
  account: 'Id of who did it',
  action: 'What was done',
  target: 'On whom or what',
  from: 'From',
  until: 'Until',
  outcome: 'What came of it',
  any: 'Anything',
  badAccount: 'That is no account’s id. Its entries are found by its name in any entry of it.',
  badTimes: 'The end must be after the beginning.',
  show: 'Show',
  clear: 'Clear',
  empty: 'Nothing was changed yet.',
  none: 'No entry in what was looked through is so.',
  commandLine: 'The command line',
  server: 'this server',
  done: 'done',
  refused: (code: string) => `refused: ${code}`,
  details: 'Details',
  detailsOf: (who: string, did: string, when: string) => `Details: ${who} ${did}, ${when}`,
  entry: 'An entry',
  missing: 'There is no such entry: the link is wrong, or the entry was deleted with its time.',
  bootstrap: 'The one that the server was started with',
  ofThem: 'All that they did',
  onIt: 'All that was done to it',
  itsPage: 'Its page',
  itsBans: 'Its bans',
} as const;

export const SETTINGS = {
  lead: 'The configuration in force, and where each value came from. Secrets are masked. It is changed in the file, the environment or on the command line, with a restart.',
  none: 'No setting has these letters.',
  aggregatorTitle: 'Points of hunts',
  pause: 'Pause the counting',
  resume: 'Resume the counting',
  pauseMeans: ['Players notice nothing at first: claims are decided and saved, but leaderboards and results of hunts stand still.', 'Claims that are not counted are kept, and counted later.', 'It resumes by itself after six hours, or when ten million claims wait.'],
  paused: 'The counting is paused.',
  resumed: 'The counting goes on.',
} as const;

/** What a table plays, in a list. */
export function storyTitle(sentence: string | null, teller: string | null): string {
  if (sentence !== null) return `“${sentence}”`;
  return teller ? `${teller}’s table` : 'A table';
}

export const snakesText = (names: readonly string[]) => (names.length === 0 ? 'a match' : names.join(names.length === 2 ? ' against ' : ', '));

export const competitionText = (kind: string | undefined): readonly string[] => (kind ? [`for a ${kind}`] : []);

/** What an operator sees of a match beyond its page. */
export function inspectionFacts({ account_id, attempts, failure, log, node, turns, worker }: Schemas['Inspection']): readonly string[] {
  const where = worker ? (worker.address ? `on ${worker.address}` : 'its worker is gone: it waits to be taken over') : node ? `last on ${node}` : 'taken up by no node yet';
  return [`${number(turns)} turns`, where, `claimed ${number(attempts.epoch)} times`, `${number(log.version)} entries in its log`, `account ${account_id}`, ...(failure ? [`failed: ${failure}`] : [])];
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** How often something happens. */
export const aSecond = (value: number) => `${decimal(value, value < 1 ? 2 : value < 10 ? 1 : 0)}/s`;

/** In steps of a thousand: `66.2 MB`. */
export function bytes(value: number): string {
  const step = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, value)) / 3)));
  return `${decimal(value / 1_000 ** step, step === 0 ? 0 : 1)} ${UNITS[step]}`;
}

/** Milliseconds as one reads them: `0.04 ms`, `12 ms`, `3.2 s`. */
export function duration(ms: number): string {
  if (ms >= 1_000) return `${decimal(ms / 1_000, 1)} s`;
  return `${decimal(ms, ms >= 10 ? 0 : ms >= 1 ? 1 : 2)} ms`;
}

const SPANS: readonly (readonly [number, string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
  [1, 'ms'],
];

/** A span in its largest whole unit: `60 s` is `1 min`. */
export function span(ms: number): string {
  const [length, unit] = SPANS.find(([length]) => ms >= length && ms % length === 0) ?? [1, 'ms'];
  return `${number(ms / length)} ${unit}`;
}

/** How long the process runs: `3 d 4 h`, `12 min`. */
export function uptime(seconds: number): string {
  const [days, hours, minutes] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3_600) % 24, Math.floor(seconds / 60) % 60];
  if (days > 0) return `${number(days)} d ${hours} h`;
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min` : `${Math.floor(seconds)} s`;
}
