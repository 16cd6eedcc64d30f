// Bots and matches for pages under test, in the shapes of the API.
import { FakeApi, type Reply } from './api.ts';

export const BOT = '01a20a0e-e204-71dd-a91a-45e6f3d457b0';
export const GAME = '01a20a0e-e204-71dd-a91a-45e6f3d457af';
export const LADDER = '01a20a0e-e204-71dd-a91a-45e6f3d457aa';
const AT = '2026-01-31T12:00:00.000Z';
export const ACCOUNT = { player: 'p', role: 'player', name: null, is_guest: false, expires_at: null };

export const uuid = (n: number) => `01a20a0e-e204-71dd-a91a-${n.toString(16).padStart(12, '0')}`;
const face = (n: number) => ({ color: `#${((n * 2_654_435) & 0xffffff).toString(16).padStart(6, '0')}`, head: ['smile', 'fang', 'evil', 'beluga'][n % 4], tail: 'sharp' });

export const publicBot = (n: number, more: object = {}) => ({ id: uuid(n), name: `Bot ${n}`, owner: `owner-${n % 7}`, created_at: AT, face: face(n), ...more });
export const ownBot = (more: object = {}) => ({ id: BOT, name: 'Ophidia', url: 'https://snake.example/ophidia', is_public: true, created_at: AT, updated_at: AT, face: face(1), ...more });
export const profile = (more: object = {}) => ({ id: BOT, name: 'Ophidia', owner: 'ann', created_at: AT, face: face(1), is_public: true, is_own: true, leaderboards: [], ...more });
export const ladder = (more: object = {}) => ({ id: LADDER, name: 'Standard 11x11', active: true, rank: 3, rating: 17.25, games_played: 120, first_place_finishes: 40, min_games: 10, ...more });

export function game(n: number, more: object = {}) {
  const snakes = [
    { id: BOT, name: 'Ophidia', owner: 'ann', face: face(1), placement: 2, cause: 'wall-collision', outcome: 'lost', deciding_turn: 57, evidence: '' },
    { id: uuid(2), name: 'Flood', owner: 'ben', face: face(2), placement: 1, outcome: 'won' },
  ];
  return { id: uuid(1_000 + n), status: 'finished', winner: uuid(2), snakes, board: '11x11', game_type: 'Standard', map: 'standard', turns: 58, created_at: AT, updated_at: AT, enqueued_at: AT, started_at: AT, finished_at: AT, ...more };
}

export const turnRow = (turn: number, more: object = {}) => ({ turn, move: 'up', class: turn % 9 === 8 ? 'late' : 'valid', latency_ms: 10 + (turn % 30), is_late: turn % 9 === 8, shout: '', health: 90, length: 3, cause: null, ...more });

const subject = { game_id: GAME, seat: 0, snake_id: BOT, you_id: 'you', name: 'Ophidia', status: 'finished', timeout_ms: 500 };
export function turns(count: number, offset = 0, limit = 1_000) {
  const rows = Array.from({ length: Math.max(0, Math.min(limit, count - offset)) }, (_, at) => turnRow(offset + at, offset + at === count - 1 ? { cause: 'wall-collision' } : {}));
  return { ...subject, count, turns: rows };
}

export function evidence(turn: number, more: object = {}) {
  const snake = { id: 'you', name: 'Ophidia', health: 90, body: [{ x: 1, y: 1 }, { x: 1, y: 0 }], shout: '', customizations: { color: '#d24a5a', head: 'smile', tail: 'sharp' } };
  const body = { game: { id: GAME }, turn, board: { width: 11, height: 11, food: [{ x: 5, y: 5 }], hazards: [], snakes: [snake] }, you: snake };
  const answer = { class: 'valid', latency_ms: 12, move: 'up', shout: '', response: null };
  return { ...subject, call: 'move', turn, request: { url: 'https://snake.example/ophidia/move', body, curl: `curl -X POST 'https://snake.example/ophidia/move' # turn ${turn}` }, answer, death: null, ...more };
}

export const health = (more: object = {}) => ({ status: 'healthy', since: AT, reason: null, next_probe_at: AT, failures_in_a_row: 0, successes_in_a_row: 3, records: [{ at: AT, source: 'request', is_passed: true, fault: null, took_ms: 20 }, { at: AT, source: 'match', is_passed: false, fault: 'silent_in_match', took_ms: 0 }], ...more });

export const latency = (calls: number) => ({
  since: AT,
  hours: Array.from({ length: 24 }, (_, hour) => ({ hour, calls, p50_ms: calls ? 10 + hour : null, p95_ms: calls ? 40 + hour : null, p99_ms: calls ? 90 + hour : null, classes: calls ? [{ class: 'valid', calls: calls - 1 }, { class: 'late', calls: 1 }] : [] })),
});

const times = { dns: 1.2, connect: 21.3, tls: null, first_byte: 22.1, total: 45 };
const sent = (call: string) => ({ method: call === 'index' ? 'GET' : 'POST', url: `https://snake.example/ophidia${call === 'index' ? '' : `/${call}`}`, body: call === 'index' ? '' : '{"turn":0}' });
export function check(isPassed: boolean) {
  const fault = { code: 'html', problem: 'the answer was a web page (HTML), not JSON', remedy: 'check the URL: this is probably the page of a host', detail: null };
  const response = { status: 200, headers: [{ name: 'content-type', value: 'text/html' }], body_start: '<html>Welcome!<script>document.title=1</script>', body_bytes: 1_400 };
  const calls = ['index', 'start', 'move', 'end'].map((call) => ({ call, request: sent(call), response, class: isPassed ? 'valid' : 'malformed', fault: isPassed ? null : fault, times_ms: times }));
  return {
    snake_id: BOT, url: 'https://snake.example/ophidia', checked_at: AT, is_passed: isPassed, fault: isPassed ? null : fault, calls,
    move_times: isPassed ? { first_call_ms: 45, open_connection_ms: [20, 21], open_connection_median_ms: 20.5, is_connection_closed: false, fault: null } : null,
    health: isPassed ? health() : health({ status: 'failing', reason: fault }),
  };
}

export function rated(n: number) {
  const at = (mu: number) => ({ mu, sigma: 2, display_score: mu - 6 });
  return { number: n, game_id: uuid(n), ended_at: AT, seat: n % 4, place: 1 + (n % 3), players: 4, before: at(20 + Math.sin(n / 9)), after: at(20 + Math.sin((n + 1) / 9)) };
}

/** A page of this list, with the link to the next one, as the server gives it. */
export function pageOf(rows: readonly object[], query: URLSearchParams, path: string): Reply {
  const [limit, from] = [Number(query.get('limit') ?? 20), Number(query.get('after') ?? 0)];
  const next = from + limit < rows.length ? { link: `<${path}?limit=${limit}&after=${from + limit}>; rel="next"` } : undefined;
  return { json: rows.slice(from, from + limit), ...(next ? { headers: next } : {}) };
}

/** A server on which Ophidia is registered, and these matches and bots are public. */
export function server({ games = [game(1)], bots = [publicBot(1), publicBot(2)], own = [ownBot()] }: { games?: readonly object[]; bots?: readonly object[]; own?: readonly object[] } = {}) {
  const api = new FakeApi();
  for (const path of ['/api/games/live', '/api/games/recent', '/api/games', `/api/snakes/${BOT}/games`]) api.on(`GET ${path}`, ({ query }) => pageOf(games, query, path));
  api.on('GET /api/snakes', ({ query }) => pageOf(own, query, '/api/snakes'));
  api.on('GET /api/snakes/{id}', { json: ownBot() });
  api.on('GET /api/snakes/public', ({ query }) => pageOf(bots, query, '/api/snakes/public'));
  api.on('GET /api/snakes/{id}/profile', { json: profile() });
  api.on('GET /api/snakes/{id}/health', { json: health() });
  api.on('GET /api/snakes/{id}/latency', { json: latency(100) });
  api.on('GET /api/leaderboards', { json: [{ id: LADDER, name: 'Standard 11x11', active: true, players: 4, board: '11x11', map: 'standard', game_type: 'Standard' }] });
  api.on('GET /api/leaderboards/{id}/entries/{snake}/games', ({ query }) => pageOf(Array.from({ length: 250 }, (_, at) => rated(250 - at)), query, `/api/leaderboards/${LADDER}/entries/${BOT}/games`));
  api.on('GET /api/leaderboards/{id}/entries/{snake}/opponents', { json: [{ battlesnake_id: uuid(2), snake_name: 'Flood', wins: 12, losses: 30, ties: 1 }] });
  api.on(`GET /api/games/${GAME}/snakes/0/turns`, ({ query }) => ({ json: turns(60, Number(query.get('offset') ?? 0)) }));
  api.on(`GET /api/games/${GAME}/snakes/0/turns/{turn}`, ({ params }) => ({ json: evidence(Number(params[0])) }));
  return api;
}

export function signedIn(api: FakeApi) {
  api.session = ACCOUNT;
  return api;
}
