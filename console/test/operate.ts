// A server as operators see it, for pages under test.
import type { Schemas } from '../src/api/client.ts';
import { FakeApi } from './api.ts';

export const ID = '01a20a0e-e204-71dd-a91a-45e6f3d457af';
export const uuid = (number: number) => `01a20a0e-e204-71dd-a91a-${`${number}`.padStart(12, '0')}`;
const AT = '2026-01-02T03:04:05Z';
export const OPERATOR = { player: uuid(1), role: 'operator', is_guest: false, name: 'Olga' };
export const ADMIN = { ...OPERATOR, role: 'admin', name: 'Ada' };

const time = (p50: number | null, p99: number | null) => ({ p50, p99 });

export const stats = (more: Partial<Schemas['AdminStats']> = {}): Schemas['AdminStats'] => ({
  job_queue: { ready: 12, running: 340, scheduled: 7, total: 359 },
  jobs_by_name: [{ name: 'run_game', count: 352 }, { name: 'advance_competition', count: 4 }, { name: 'probe_bot', count: 3 }],
  game_counts: { waiting: 12, running: 340, finished: 120_345, failed: 8, cancelled: 15, total: 120_720 },
  orphaned: 0,
  games_created: { last_hour: 900, last_24h: 20_100, last_7d: 120_720 },
  games_finished: { last_hour: 880, last_24h: 20_000, last_7d: 120_345 },
  avg_game_duration_secs: 61.25,
  recent_errors: [],
  turns_per_s: 1_234.5,
  late_moves: 77,
  commands_waiting: 3,
  process: { rss_bytes: 66_179_072, cpu_s: 100, threads: 14, open_files: 912, uptime_s: 93_784 },
  connections: { open: 801, max: 19_436, refused_full: 0, refused_address: 5, evicted: 0 },
  timing: {
    pool_wait_ms: time(0.04, 4.2),
    query_ms: time(0.087, 4.4),
    commit_wait_ms: time(0.16, 9.7),
    commit_ms: time(0.457, 11.75),
    queue_wait_ms: time(120, 1_800),
    run_time_ms: time(52_000, 118_000),
    scheduler_delay_ms: time(0.1, 2.3),
    bot_call_ms: time(12.5, 480),
    rating_lag_ms: time(null, null),
  },
  tables: { loaded: 5, players: 14, waiters: 20, changes: 4_310 },
  worlds: { loaded: 2, movers: 61, connected: 9, inputs: 1_200_450, inputs_refused: 0, claims: 312 },
  hunts: { tickets_waiting: 3, tickets_matched: 41, tickets_timed_out: 2, claims_uncounted: 0 },
  competitions: { results_waiting: 0, results_rated: 90_211, ladder_matches: 120, tournament_results: 514, duel_pairs: 77, failing: 0 },
  limiter: { allowed: 3_400_000, refused: 812, shadow: 6 },
  ...more,
});

export const errors = (count: number): Schemas['RecentError'][] =>
  Array.from({ length: count }, (_, at) => ({ name: 'run_game', error_count: count - at, last_error_message: `snake ${at + 1} could not be reached: https://bots.example/${'long'.repeat(8)}/${at}`, last_failed_at: AT }));

/** The text of the metrics, with what `search` has refused so far. */
export const metrics = (refused = 40, shadow = 6) => `# HELP gauntlet_http_requests_total Requests that got a response.
gauntlet_http_requests_total{route="/api/games",status="2xx"} 1200
gauntlet_http_requests_total{route="/api/games",status="4xx"} 30
gauntlet_matches_running 340
gauntlet_tables 5
gauntlet_worlds 2
gauntlet_matches_failed_total 8
gauntlet_store_queries_failed_total 0
process_max_fds 20000
gauntlet_allocated_bytes 41000000
gauntlet_limiter_decisions_total{policy="search",class="search",outcome="allowed"} 100
gauntlet_limiter_decisions_total{policy="search",class="search",outcome="denied"} ${refused}
gauntlet_limiter_decisions_total{policy="trial-run",class="search",outcome="shadow"} ${shadow}
`;

export const policy = (name: string, more: Partial<Schemas['LimitPolicyView']> = {}): Schemas['LimitPolicyView'] => ({ name, class: 'search', key: 'user:*', algorithm: 'gcra', limit: 5, window_ms: 60_000, shadow: false, when_full: 'deny', source: 'file', keys: 2, overrides: 0, ...more });

const POLICIES = [policy('visitors', { class: 'gateway.anonymous.*', key: 'address:*', limit: 300, keys: 12_034 }), policy('search'), policy('trial-run', { shadow: true, key: '*', source: 'api', overrides: 1 })];

export const listedTable = (at: number): Schemas['StoryListed'] => ({ id: `${uuid(at)}-1`, table: uuid(at), storyteller: uuid(900 + at), storyteller_name: `Guest ${at}`, sentence: at % 2 ? `Story number ${at}` : null, phase: at % 2 ? 'invitation' : 'create', players: 1, players_max: 4, created_at: AT, ended_at: null });
export const listedGame = (at: number, more: Partial<Schemas['GameSummary']> = {}) => ({ id: uuid(at), board: '11x11', game_type: 'Standard', status: 'running', created_at: AT, enqueued_at: AT, updated_at: AT, winner: null, snakes: [{ name: 'Hungry' }, { name: 'Flood' }], ...more });
const hunt = (name: string) => ({ id: uuid(3), name, admission: 'everybody', width: 120, height: 120, players: 3, players_max: 0, chests: 10, power_ups: 2, rounds: 3, round_ms: 120_000, created_at: AT, ends_at: '2099-01-01T00:00:00Z', creator: null, address: '10.0.0.1:4000' });
const world = (name: string) => ({ id: uuid(4), name, kind: 'world', admission: 'everybody', width: 1_000, height: 1_000, is_here: true, is_shared: true, has_life: false, move_min_ms: 200, tree_permille: 50, created_at: AT, ends_at: null, address: null });
const tournament = { id: ID, name: 'Spring cup', status: 'running', is_public: true, games_created: 12, entrants_min: 2, entrants_max: 64, entry: 'open', organizer_id: uuid(5), created_at: AT, started_at: AT, ended_at: null, starts_at: null, format: { type: 'swiss' } };
const ladder = { id: ID, name: 'Standard 11x11', active: true, is_public: true, game_type: 'Standard', board: '11x11', map: 'standard', players: 4, entries_active: 8, created_at: AT };
/** The node that answers, by itself. */
export const node = (more: Partial<Schemas['NodeView']> = {}): Schemas['NodeView'] => ({ address: '10.0.0.1:4000', is_this: true, is_living: true, since: AT, lease_ends_at: null, workers: [11, 12, 13].map(uuid), games: 340, tables: 5, worlds: 1, hunts: 1, jobs: ['matchmaking_queue', 'ladders', 'tournaments', 'duels', 'bot_health'], ...more });
export const others: readonly Schemas['NodeView'][] = [
  node({ address: '10.0.0.2:4000', is_this: false, lease_ends_at: '2026-01-02T03:04:10Z', games: 12, jobs: [], workers: [uuid(21)] }),
  node({ address: 'a-machine-with-a-long-name.europe.games.example:4000', is_this: false, is_living: false, since: null, lease_ends_at: AT, games: 3, tables: 0, worlds: 0, hunts: 0, jobs: [], workers: [] }),
];
export const listedAccount = (at: number): Schemas['AccountListed'] => ({ id: uuid(at), name: at % 5 ? `guild-${at}` : `A name of many words, number ${at}`, created_at: AT, snakes: at, tokens: at % 3, is_disabled: at % 7 === 0 });
export const tokenOf = (at: number, more: Partial<Schemas['TokenView']> = {}): Schemas['TokenView'] => ({ id: uuid(at), name: at % 2 ? 'browser' : `script ${at}`, role: 'player', purpose: 'use', created_at: AT, last_used_at: at % 2 ? AT : null, expires_at: at % 2 ? '2099-01-01T00:00:00Z' : null, is_session: at % 2 === 1, ...more });
const invite = (at: number): Schemas['InviteView'] => ({ id: uuid(at), name: at % 3 ? `Friend ${at}` : null, role: 'player', made_by: 'Olga', created_at: AT, expires_at: '2099-01-01T00:00:00Z' });

export const ban = (at: number, more: Partial<Schemas['BanView']> = {}): Schemas['BanView'] => ({
  id: uuid(300 + at), account: null, account_name: null, guest: null, address: `192.0.2.${at % 256}`, is_disabled: false, reason: `floods the lobby, case ${at}`,
  made_by: uuid(1), made_by_name: 'Olga', may_lift: true, created_at: AT, expires_at: '2099-01-01T00:00:00Z', ...more,
});
/** One of each kind: of an account, a guest, a network, a disabled account, and one that was made on the command line. */
export const BANS = [
  ban(1, { address: null, account: uuid(41), account_name: 'cheater', reason: 'plays with an engine in a league for people, and says so in the chat of every table where anybody asks' }),
  ban(2, { address: null, guest: uuid(42), reason: 'insults', expires_at: null }),
  ban(3, { address: '2001:db8::/32', reason: 'floods' }),
  ban(4, { address: null, account: uuid(44), account_name: 'A name of many words, number 44', is_disabled: true, reason: 'left the club', expires_at: null }),
  ban(5, { address: '198.51.100.0/24', made_by: null, made_by_name: null, reason: 'scans' }),
];
export const entry = (at: number, more: Partial<Schemas['AuditEntryView']> = {}): Schemas['AuditEntryView'] => ({
  id: uuid(500 + at), at: AT, account: uuid(1), account_name: 'Olga', token: uuid(9), address: '203.0.113.7', action: 'lift_ban', target: `address:192.0.2.${at % 256}`,
  detail: `ban:${uuid(300 + at)}`, reason: null, outcome: 'done', ...more,
});
export const ENTRIES = [
  entry(1, { action: 'create_ban', target: `account:${uuid(41)}`, reason: 'plays with an engine', detail: `ban:${uuid(301)} until:2099-01-01T00:00:00Z` }),
  entry(2, { action: 'create_ban', target: `account:${uuid(1)}`, outcome: 'bad_value', detail: null }),
  entry(3, { account: null, account_name: null, token: null, address: null, action: 'create_token', target: `account:${uuid(2)}`, detail: `token:${uuid(8)} role:operator` }),
  entry(4, { action: 'drain', target: 'node:a-machine-with-a-long-name.europe.games.example:4000', token: null, detail: null }),
  entry(5, { action: 'sow_something_new', target: null, detail: null }),
  entry(6, { action: 'cancel_any_game', target: `game:${ID}`, detail: null }),
];

export const table = (phase = 'vote') => ({ table: ID, role: 'visitor', bots: true, seq: 4, chat: [], committed_at_us: null, members: [{ player: uuid(7), name: 'Rude guest', level: 1, is_bot: false }], next_storyteller: null, settings: null, presence: { players: [], visitors: 0 }, game: { phase, storyteller: uuid(7), sentence: 'Something nobody should read' } });
export const inspection = (more: object = {}) => ({ id: ID, account_id: uuid(8), attempts: { epoch: 2, charged: 1 }, worker: { id: uuid(9), address: '10.0.0.2:4000' }, log: { version: 61, tail: [] }, status: 'running', turns: 60, late_moves: 0, failure: null, node: '10.0.0.2:4000', created_at: AT, enqueued_at: AT, started_at: AT, finished_at: null, updated_at: AT, ...more });

/** A minute of points of these series, with a gap in it. */
export const remembered = (series: string, stepS: number, count = 60): Schemas['HistoryView'] => ({
  from: AT,
  step_s: stepS,
  series: series.split(',').map((name, of) => ({ name, unit: '', values: Array.from({ length: count }, (_, at) => (at === 20 ? null : (of + 1) * (at + 1))) })),
});

/** Pages of so many rows, a hundred at a time, as the server's `Link` header has them. */
export const paged = <T>(path: string, count: number, row: (at: number) => T, perPage = 100) => ({ query }: { query: URLSearchParams }) => {
  const from = Number(query.get('after') ?? 0);
  const to = Math.min(count, from + perPage);
  const json = Array.from({ length: to - from }, (_, at) => row(from + at));
  return { json, ...(to < count && { headers: { link: `<${path}?after=${to}>; rel="next"` } }) };
};

/** A server with something of everything. */
export function operated(session: object = ADMIN): FakeApi {
  const api = Object.assign(new FakeApi(), { session });
  api.on('GET /api/admin/stats', { json: stats() });
  api.on('GET /metrics', { body: metrics(), headers: { 'content-type': 'text/plain' } });
  api.on('GET /api/admin/history', ({ query }) => ({ json: remembered(query.get('series') ?? '', Number(query.get('step') ?? 1)) }));
  api.on('GET /readyz', { json: { ready: true, checks: [{ name: 'store', ok: true }] } });
  api.on('GET /api/admin/nodes', { json: [node({ lease_ends_at: '2026-01-02T03:04:10Z' }), ...others] });
  api.on('GET /api/admin/accounts', { json: [1, 2, 5, 7].map(listedAccount) });
  api.on('GET /api/admin/accounts/{id}/tokens', { json: [1, 2].map((at) => tokenOf(at)) });
  api.on('GET /api/admin/bans', { json: BANS });
  api.on('GET /api/admin/audit', { json: ENTRIES });
  api.on('GET /api/limits/policies', { json: { scope: 'process', shadow: false, policies: POLICIES } });
  api.on('GET /api/stories/lobby', { json: [1, 2].map(listedTable) });
  api.on('GET /api/stories/tables/{table}', { json: table() });
  api.on('GET /api/games', { json: [listedGame(1), listedGame(2, { status: 'failed' }), listedGame(3, { status: 'finished' })] });
  api.on('GET /api/admin/games/{id}', { json: inspection() });
  api.on('GET /api/hunts', { json: ['harbour', 'hunt'].map(hunt) });
  api.on('GET /api/worlds', { json: ['meadow', 'plaza'].map(world) });
  api.on('GET /api/tournaments', { json: [tournament] });
  api.on('GET /api/leaderboards', { json: [ladder] });
  api.on('GET /api/invites', { json: [1, 2, 3].map(invite) });
  api.on('GET /api/admin/config', { json: { entries: [{ key: 'server.port', value: '4100', source: 'flag --port' }, { key: 'server.interface', value: '127.0.0.1', source: 'default' }, { key: 'store.data', value: '/var/lib/gauntlet/games.db', source: 'file' }] } });
  api.on('GET /api/admin/aggregator', { json: { running: true, claims_counted: 1_204, claims_behind: 3, hunts_behind: 1 } });
  return api;
}
