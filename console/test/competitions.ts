// Ladders, tournaments and duels for pages under test, as the server would have them.
import type { DuelDetails, EntryDetails, LeaderboardDetails, Opponent, RankingEntry, RatedGame, RegisteredSnake, TournamentDetails, TournamentEvent, TournamentGame, TournamentPairing, TournamentStanding } from '../src/api/client.ts';
import { type Asked, FakeApi } from './api.ts';
import { double, single } from './brackets.ts';

export const ID = '01a20a0e-e204-71dd-a91a-45e6f3d457af';
export const ANN = '01a20a0e-0000-7000-8000-00000000000a';
export const PLAYER = { player: ANN, role: 'player', is_guest: false };
const AT = '2026-01-02T03:04:05Z';
const NAMES = ['Hungry', 'Flood', 'A name that is quite long for a snake', '<b>Björn & co</b>', 'Random', 'Late sometimes', 'Seven', 'Eight'];
export const uuid = (number: number) => `01a20a0e-e204-71dd-a91a-${`${number}`.padStart(12, '0')}`;
export const botName = (at: number) => (at < NAMES.length ? (NAMES[at] ?? '') : `Bot ${at + 1}`);

export const bot = (at: number, more: Partial<RegisteredSnake> = {}): RegisteredSnake => ({ id: uuid(at), name: botName(at), url: 'http://127.0.0.1:4100/hungry', is_public: true, created_at: AT, updated_at: AT, ...more });

export const ladder = (more: Partial<LeaderboardDetails> = {}): LeaderboardDetails => ({
  id: ID,
  name: 'Standard 11x11',
  owner_id: uuid(99),
  active: true,
  created_at: AT,
  is_public: true,
  players: 4,
  game_type: 'Standard',
  map: 'standard',
  board: '11x11',
  timeout_ms: 500,
  min_games: 10,
  season: 3,
  season_ends_at: '2099-01-01T00:00:00Z',
  season_days: 30,
  games_ended: 1_234,
  games_applied: 1_230,
  games_under_way: 3,
  entries_active: 8,
  ...more,
});

const rating = (mu: number, sigma: number) => ({ mu, sigma, display_score: mu - 3 * sigma });

export function rankingEntry(at: number, isRanked: boolean): RankingEntry {
  const { mu, sigma, display_score } = rating(34 - 20 * (at / (at + 30)), isRanked ? 0.8 + (at % 5) / 10 : 6);
  const games = isRanked ? 200 - (at % 90) : at % 10;
  const scores = { rating: display_score, mu, sigma, win_rate: 1 / (at + 2), food_eaten: 3_000 - at };
  const counts = { games_played: games, first_place_finishes: Math.floor(games / (at + 2)), non_first_finishes: games - Math.floor(games / (at + 2)), first_place_rate: 1 / (at + 2) };
  return { rank: isRanked ? at + 1 : 0, battlesnake_id: uuid(at), snake_name: botName(at), owner: ['ann', 'bob', 'cyd'][at % 3] ?? '', display_score, ...counts, scores };
}

export function ratedGame(number: number): RatedGame {
  const [before, after] = [rating(25 + Math.sin(number / 4) + number / 20, 2), rating(25 + Math.sin((number + 1) / 4) + (number + 1) / 20, 1.9)];
  return { number, game_id: uuid(number), ended_at: AT, seat: number % 4, place: 1 + (number % 4), players: 4, before, after };
}

export const opponent = (at: number): Opponent => ({ battlesnake_id: uuid(at), snake_name: botName(at), wins: 12 - (at % 7), losses: at % 9, ties: at % 2 });

/** A ladder with so many ranked and five in placement, in pages of 200; the last page has no link. */
export function playLadder(api: FakeApi, options: { readonly ranked?: number; readonly more?: Partial<LeaderboardDetails> } = {}) {
  const { ranked = 3, more = {} } = options;
  const all = [...Array.from({ length: ranked }, (_, at) => rankingEntry(at, true)), ...(ranked > 0 ? [1, 2, 3, 4, 5].map((at) => rankingEntry(ranked + at, false)) : [])];
  const of = ladder({ entries_active: all.length, ...more });
  const rankings = ({ query }: Asked) => {
    const from = Number(query.get('after') ?? 0);
    const page = all.slice(from, from + 200);
    const next = from + 200 < all.length ? { link: `</api/leaderboards/${ID}/rankings?after=${from + 200}>; rel="next"` } : {};
    return { json: { leaderboard_id: ID, leaderboard_name: of.name, season: 3, min_games: 10, ranked: page.filter(({ rank }) => rank > 0), placement: page.filter(({ rank }) => rank === 0) }, headers: next };
  };
  const { scores, owner, snake_name, battlesnake_id, ...counts } = rankingEntry(0, true);
  const entry: EntryDetails = { ...counts, battlesnake_id, snake_name, owner, scores, leaderboard_entry_id: uuid(1), active: true, season: 3, rank: 1, joined_at: AT, last_game_at: AT, seats: [5, 6, 5, 4] };
  return api
    .on('GET /api/leaderboards', { json: [of] })
    .on('GET /api/leaderboards/{id}', { json: of })
    .on('GET /api/leaderboards/{id}/rankings', rankings)
    .on('GET /api/leaderboards/{id}/seats', { json: [0, 1, 2, 3].map((seat) => ({ seat, games: 400, first_place_finishes: 90 + 5 * seat, place_mean: 2.4 + seat / 20 })) })
    .on('GET /api/leaderboards/{id}/seasons', { json: [1, 2].map((season) => ({ season, ended_at: AT, last_game: 100 * season, rankings: '' })) })
    .on('GET /api/leaderboards/{id}/entries/{snake}', { json: entry })
    .on('GET /api/leaderboards/{id}/entries/{snake}/games', { json: Array.from({ length: 40 }, (_, at) => ratedGame(40 - at)) })
    .on('GET /api/leaderboards/{id}/entries/{snake}/opponents', ({ query }) => ({ json: query.has('opponent') ? [{ ...opponent(2), last_games: [{ ...ratedGame(7), opponent_place: 2 }] }] : [2, 3, 4].map(opponent) }))
    .on('GET /api/snakes', { json: [bot(0), bot(1), bot(6, { name: 'Mine', is_public: false })] })
    .on('GET /api/leaderboards/{id}/entries', { json: [{ ...counts, leaderboard_entry_id: uuid(1), battlesnake_id: uuid(0), active: true }] });
}

const gameOf = (pairing: TournamentPairing, at: number, more: Partial<TournamentGame>): TournamentGame => ({
  id: uuid(1_000 * (pairing.number + 1) + at),
  seats: pairing.players.flatMap(({ entrant }) => (typeof entrant === 'number' ? [entrant] : [])),
  created_at: AT,
  status: 'played',
  ...more,
});

const standing = (entrant: number, more: Partial<TournamentStanding> = {}): TournamentStanding => ({ entrant, place: entrant + 1, points: 20 - entrant, losses: entrant, byes: 0, buchholz: 30 - entrant, sonneborn_berger: 12, direct_encounter: 1, games_won: 40 - entrant, games_lost: entrant, food: 300, ...more });

/** A tournament of so many, in one of its states: a bracket that is played, or over. */
export function tournament(options: { readonly format?: string; readonly size?: number; readonly status?: string; readonly more?: Partial<TournamentDetails> } = {}): TournamentDetails {
  const { format = 'single_elimination', size = 8, status = 'running', more = {} } = options;
  const isBefore = status === 'scheduled';
  const isOver = status === 'finished';
  const made = (): readonly TournamentPairing[] => {
    if (format === 'double_elimination') return double(size);
    if (format === 'single_elimination') return single(size, size > 3);
    const stage = { swiss: 'swiss', heats: 'heat', groups: 'group' }[format] ?? 'round_robin';
    const each = format === 'heats' ? 4 : 2;
    return Array.from({ length: Math.floor(size / each) }, (_, number) => ({
      number,
      stage,
      round: 1,
      ...(stage === 'group' && { group: number % 2 }),
      status: 'decided',
      players: Array.from({ length: each }, (_, seat) => ({ entrant: number * each + seat, games_won: seat === 0 ? 2 : 0 })),
      games: [],
      winner: number * each,
      decision: number === 1 ? 'walkover' : 'games',
    }));
  };
  const whole = isBefore ? [] : made().map((pairing) => ({ ...pairing, games: pairing.decision === 'games' ? [gameOf(pairing, 0, { places: [1, 2] }), gameOf(pairing, 1, { places: [1, 2] })] : [] }));
  // What is played: the last meeting; it and all behind it have no winner.
  const last = whole.findLast(({ decision }) => decision === 'games')?.number ?? -1;
  const pairings = isOver ? whole : whole.map((pairing) => (pairing.number === last ? { ...pairing, status: 'running', decision: null, winner: null, games: [gameOf(pairing, 0, { places: [2, 1] }), gameOf(pairing, 1, { status: 'running' })] } : pairing));
  return {
    id: ID,
    name: 'Spring cup',
    status,
    organizer_id: uuid(99),
    is_public: true,
    format: { type: format, ...(format === 'groups' && { groups: 2, advance: 2 }), ...(format === 'heats' && { size: 4, advance: 2 }) },
    entrants_min: 2,
    entrants_max: Math.max(64, size),
    entry: 'open',
    created_at: AT,
    starts_at: null,
    started_at: isBefore ? null : AT,
    ended_at: isOver || status === 'cancelled' ? AT : null,
    games_created: 20,
    seq: 12,
    rules: { best_of: 3, replays_max: 4, tie_breaks: ['food', 'seed'], game_deadline_s: 7_200, games_at_once: 64, seeding: 'random', entrants_per_account_max: 1, board: '11x11', game_type: 'Standard', map: 'standard', timeout_ms: 500 },
    entrants: Array.from({ length: size }, (_, number) => ({ number, snake_id: uuid(number), snake_name: botName(number), author: ['ann', 'bob', 'cyd'][number % 3] ?? '', entered_at: AT, seed: isBefore ? null : number + 1, ...(number === 3 && { withdrawn: 'owner' }) })),
    pairings,
    standings: isBefore ? [] : Array.from({ length: size }, (_, number) => standing(number)),
    groups: format === 'groups' && !isBefore ? [0, 1].map((group) => Array.from({ length: size / 2 }, (_, at) => standing(2 * at + group))) : [],
    champion: isOver ? 0 : null,
    ...more,
  };
}

export const event = (seq: number, type: string, more: Partial<TournamentEvent> = {}): TournamentEvent => ({ seq, at: AT, type, ...more });

/** A tournament whose feed the test sends: a stream is open until something is sent. */
export class FakeTournament {
  #waiting: (() => void)[] = [];
  #events: TournamentEvent[] = [];
  opened = 0;

  constructor(
    readonly api: FakeApi,
    public of: TournamentDetails,
  ) {
    this.#events = [event(1, 'entered', { snake_id: uuid(0) }), event(2, 'entered', { snake_id: uuid(1) }), event(of.seq, 'game_adjudicated', { pairing: 0, game_id: of.pairings[0]?.games[0]?.id ?? uuid(1), places: [1, 2] })];
    api
      .on('GET /api/tournaments', () => ({ json: [this.of] }))
      .on('GET /api/tournaments/{id}', () => ({ json: this.of }))
      .on('GET /api/snakes', { json: [bot(0), bot(20, { name: 'Mine' })] })
      .on('GET /api/tournaments/{id}/feed', async ({ query }) => {
        this.opened += 1;
        const after = Number(query.get('after') ?? 0);
        const isOver = () => this.of.ended_at !== null;
        if (this.#after(after).length === 0 && !isOver()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
        const events = this.#after(after);
        const feed = { seq: events.at(-1)?.seq ?? after, timed_out: false, is_over: isOver(), events };
        return { body: `retry: 1000\n\nid: ${feed.seq}\ndata: ${JSON.stringify(feed)}\n\n`, headers: { 'content-type': 'text/event-stream' } };
      });
  }

  #after = (seq: number) => this.#events.filter((event) => event.seq > seq);

  /** This is so now, and the feed says that something happened. */
  happen(of: TournamentDetails, ...events: readonly TournamentEvent[]) {
    this.of = of;
    this.#events.push(...events);
    this.#waiting.splice(0).forEach((resolve) => resolve());
  }
}

export function duel(options: { readonly pairs?: number; readonly end?: string | null; readonly bots?: number; readonly more?: Partial<DuelDetails> } = {}): DuelDetails {
  const { pairs = 40, end = null, bots = 2, more = {} } = options;
  const isLeague = bots > 2;
  const strength = (at: number) => ({ elo: 80 - 30 / (at + 1), elo_low: at < 3 ? null : 80 - 400 / at, elo_high: at < 3 ? null : 80 + 400 / at });
  const pairings = Array.from({ length: bots }, (_, first) => Array.from({ length: bots - first - 1 }, (_, at) => ({ first, second: first + at + 1 }))).flat();
  const counts: [number, number, number, number, number] = pairs === 0 ? [0, 0, 0, 0, 0] : [4, 2, 12, 3, pairs - 21];
  return {
    id: ID,
    name: 'old against new',
    status: end === null ? 'running' : 'finished',
    is_public: true,
    is_own: false,
    bots: Array.from({ length: bots }, (_, at) => ({ name: at === 0 ? 'old' : at === 1 ? 'new' : `v${at + 1}`, snake_id: at === 0 ? uuid(0) : null })),
    games_ended: 2 * pairs,
    created_at: AT,
    ended_at: end === null ? null : AT,
    end,
    verdict: end === null ? 'It is not known yet.' : 'new is better than old: more than 0 Elo stronger. Of bots that are not, 5 % at most get this verdict.',
    board: '11x11',
    game_type: 'Standard',
    map: 'standard',
    timeout_ms: 500,
    seed: end === null ? null : '12345678901234567890',
    test: isLeague ? null : { elo0: 0, elo1: 50, alpha: 0.05, beta: 0.05, llr_lower: -2.94, llr_upper: 2.94 },
    games_max: 2_000,
    pairs_at_once: 4,
    games_in_flight: end === null ? 8 : 0,
    games_repeated: 1,
    silent_bot: null,
    pairings: pairings.map((pair) => ({ ...pair, wins: 50, draws: 2, losses: 28, pairs: counts, void_pairs: 1, llr: isLeague ? null : 1.74, ...strength(pairs) })),
    history: isLeague ? [] : Array.from({ length: pairs }, (_, at) => ({ pairs: at + 1, llr: 2 * Math.sin(at / 14) + (at % 3) / 10, ...strength(at) })),
    table: isLeague ? Array.from({ length: bots }, (_, at) => ({ elo: 100 - 60 * at, elo_margin: 40, superiority: Array.from({ length: bots }, (_, other) => (other === at ? 0.5 : other > at ? 0.97 : 0.03)) })) : [],
    ...more,
  };
}

export const duelGame = (at: number) => ({
  pairing: 0,
  pair: at >> 1,
  game_of_pair: at % 2,
  attempt: at === 3 ? 1 : 0,
  game: { id: uuid(5_000 + at), status: at < 2 ? 'running' : 'finished', board: '11x11', game_type: 'Standard', created_at: AT, enqueued_at: AT, updated_at: AT, snakes: [{ id: uuid(0), name: 'old' }, { id: uuid(1), name: 'new' }], winner: at < 2 || at === 4 ? null : uuid(at % 2) },
});

export const playDuel = (api: FakeApi, of: () => DuelDetails) =>
  api
    .on('GET /api/duels', () => ({ json: [of()] }))
    .on('GET /api/duels/{id}', () => ({ json: of() }))
    .on('GET /api/duels/{id}/games', { json: Array.from({ length: 8 }, (_, at) => duelGame(at)) })
    .on('GET /api/snakes', { json: [bot(0), bot(1)] });
