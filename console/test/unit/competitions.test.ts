import { describe, expect, test } from 'vitest';
import type { TournamentDetails, TournamentEvent, TournamentFeed, TournamentPairing } from '../../src/api/client.ts';
import { duelOf, newDuelForm, optionsOf } from '../../src/competitions/duels/form.ts';
import { scaleOfElo } from '../../src/competitions/duels/interval.ts';
import { choiceOf, commandOf, elo, progressText } from '../../src/competitions/duels/words.ts';
import { gameOf, newGameForm } from '../../src/competitions/game.ts';
import { rangeOf, scaleOf, shareOf } from '../../src/competitions/ladders/rating.ts';
import { change, score } from '../../src/competitions/ladders/words.ts';
import { bracketOf, type Section } from '../../src/competitions/tournaments/bracket.ts';
import { adjudicated, begin, earlierAfter, type Environment, Feed, KEPT_AT_START, received, type Stream, withEarlier } from '../../src/competitions/tournaments/feed.ts';
import { newTournamentForm, tournamentOf } from '../../src/competitions/tournaments/form.ts';
import { currentRound, openGames, roundsOf } from '../../src/competitions/tournaments/rounds.ts';
import { eventText, formatText, gameText, groupName, pairingText, playerText, roundTitle } from '../../src/competitions/tournaments/words.ts';
import { count, ordinal, playedFacts } from '../../src/competitions/words.ts';
import { double, single } from '../brackets.ts';

const SIZES = Array.from({ length: 63 }, (_, at) => at + 2);

/** What holds for every part of every bracket: no two boxes lie over each other, lines go to the right, and a box is in the middle of those before it. */
function expectDrawn({ boxes, lines, columns, rows }: Section) {
  const byColumn = new Map<number, number[]>();
  for (const { column, row } of boxes) byColumn.set(column, [...(byColumn.get(column) ?? []), row]);
  expect([...byColumn.keys()].sort((a, b) => a - b)).toEqual(columns.map((_, at) => at));
  for (const taken of byColumn.values()) {
    const sorted = [...taken].sort((a, b) => a - b);
    for (const [at, row] of sorted.entries()) expect(row - (sorted[at - 1] ?? -1)).toBeGreaterThanOrEqual(1);
  }
  expect(Math.min(...boxes.map(({ row }) => row))).toBeGreaterThanOrEqual(0.5);
  expect(Math.max(...boxes.map(({ row }) => row))).toBeLessThanOrEqual(rows - 0.5);
  expect(lines.every(({ from, to }) => boxes.includes(from) && boxes.includes(to) && from.column < to.column)).toBe(true);
  for (const box of boxes) {
    const before = lines.filter(({ to }) => to === box).map(({ from }) => from.row);
    if (before.length > 0) expect(box.row).toBeCloseTo(before.reduce((sum, row) => sum + row, 0) / before.length);
  }
  expect(columns.every((title) => title !== '')).toBe(true);
}

const drawn = (sections: readonly Section[]) => sections.flatMap(({ boxes }) => boxes.map(({ pairing }) => pairing.number)).sort((a, b) => a - b);
const meetings = (pairings: readonly TournamentPairing[]) => pairings.filter(({ decision }) => decision === 'games').map(({ number }) => number);

describe('brackets', () => {
  test.each(SIZES)('of %i bots, one defeat is the end', (size) => {
    for (const hasThird of [false, true]) {
      const pairings = single(size, hasThird && size > 3);
      const sections = bracketOf(pairings);
      sections.forEach(expectDrawn);
      expect(drawn(sections)).toEqual(meetings(pairings));
      expect(meetings(pairings).length).toBe(size - 1 + (hasThird && size > 3 ? 1 : 0));
      const [bracket] = sections;
      expect(bracket?.boxes.filter(({ pairing, column }) => pairing.stage === 'winners' && column === bracket.columns.length - 1)).toHaveLength(1);
      // All but the ends lead on.
      expect(bracket?.lines).toHaveLength(size - 2);
    }
  });
  test.each(SIZES)('of %i bots, two defeats are the end', (size) => {
    const pairings = double(size);
    const sections = bracketOf(pairings);
    sections.forEach(expectDrawn);
    expect(drawn(sections)).toEqual(meetings(pairings));
    expect(meetings(pairings).length).toBe(2 * size - 2);
    expect(sections.map(({ name }) => name)).toEqual(size > 2 ? ['winners', 'losers', 'final'] : ['winners', 'final']);
  });
  test('a bye takes no room', () => {
    const rows = (size: number) => bracketOf(single(size))[0]?.rows;
    expect([rows(2), rows(3), rows(8), rows(33), rows(64)]).toEqual([1, 1, 4, 16, 32]);
  });
  test('nothing is drawn where there is no bracket', () => {
    expect(bracketOf([])).toEqual([]);
    expect(bracketOf([{ ...single(2)[0]!, stage: 'swiss' }])).toEqual([]);
  });
  test('rounds have names', () => {
    expect(bracketOf(single(16, true))[0]?.columns).toEqual(['Round 1', 'Quarterfinals', 'Semifinals', 'Final']);
    expect(bracketOf(double(8)).map(({ columns }) => columns.at(-1))).toEqual(['Winners’ final', 'Losers’ final', 'Grand final']);
  });
  test('a second final stands beside the first', () => {
    const pairings = double(4).map((pairing) => (pairing.stage === 'final_reset' ? { ...pairing, decision: 'games' as const } : pairing));
    expect(bracketOf(pairings).at(-1)?.columns).toEqual(['Grand final', 'Second final']);
  });
});

describe('rounds', () => {
  const pairings = single(8);
  test('come in order, and the one that is played is shown', () => {
    const rounds = roundsOf(pairings);
    expect(rounds.map(({ key }) => key)).toEqual(['winners-1', 'winners-2', 'winners-3']);
    expect(currentRound(rounds)?.key).toBe('winners-3');
    const open = pairings.map((pairing) => (pairing.round === 2 ? { ...pairing, status: 'running' } : pairing));
    expect(currentRound(roundsOf(open))?.key).toBe('winners-2');
    expect(currentRound([])).toBeUndefined();
  });
  test('what nobody came to is left out', () => expect(roundsOf(double(3)).every(({ pairings }) => pairings.every(({ decision }) => decision !== 'empty' && decision !== 'not_needed'))).toBe(true));
  test('games that are open are those one can watch', () => {
    const game = (id: string, created_at: string, status: string) => ({ id, created_at, status, seats: [0, 1] });
    const games = [game('b', '2026-01-02T00:00:00Z', 'queued'), game('x', '2026-01-01T00:00:00Z', 'played'), game('a', '2026-01-01T00:00:00Z', 'running')];
    expect(openGames({ pairings: [{ ...pairings[0]!, games }] }).map(({ game }) => game.id)).toEqual(['a', 'b']);
  });
});

const event = (seq: number, type = 'game_played', more: Partial<TournamentEvent> = {}): TournamentEvent => ({ seq, type, at: '2026-01-01T00:00:00Z', ...more });
const feedOf = (...seqs: readonly number[]): TournamentFeed => ({ seq: seqs.at(-1) ?? 0, timed_out: false, is_over: false, events: seqs.map((seq) => event(seq)) });
const kept = ({ events }: { events: readonly TournamentEvent[] }) => events.map(({ seq }) => seq);

describe('the log of a tournament', () => {
  test('has nothing twice and nothing out of order', () => {
    let log = received(begin(0), feedOf(1, 2, 3));
    log = received(log, feedOf(2, 3, 4));
    log = received(log, feedOf(1));
    expect([kept(log), log.seq]).toEqual([[1, 2, 3, 4], 4]);
  });
  test('ends', () => {
    const log = received(received(begin(0), feedOf(1)), { ...feedOf(2), is_over: true });
    expect([log.isOver, received(log, feedOf(3)).isOver]).toEqual([true, true]);
  });
  test('begins a little before what is shown, and earlier events are fetched on request', () => {
    const at = begin(1_000);
    expect([at.seq, earlierAfter(at)]).toEqual([1_000 - KEPT_AT_START, 1_000 - 2 * KEPT_AT_START]);
    const log = received(at, feedOf(at.seq + 1, at.seq + 2));
    expect(earlierAfter(log)).toBe(1_000 - 2 * KEPT_AT_START);
    expect(kept(withEarlier(log, feedOf(at.seq - 1, at.seq, at.seq + 1)))).toEqual([at.seq - 1, at.seq, at.seq + 1, at.seq + 2]);
    expect([earlierAfter(received(begin(0), feedOf(1))), earlierAfter(begin(0))]).toEqual([null, null]);
  });
  test('knows games that were decided by their board', () => {
    const log = received(begin(0), { ...feedOf(), seq: 2, events: [event(1, 'game_played', { game_id: 'a' }), event(2, 'game_adjudicated', { game_id: 'b' })] });
    expect([...adjudicated(log)]).toEqual(['b']);
  });
});

describe('the feed of a tournament', () => {
  function stage() {
    const streams: (Stream & { after: number; isClosed: boolean })[] = [];
    const waits: { run: () => void; ms: number }[] = [];
    const said: string[] = [];
    const environment: Environment = {
      open(after) {
        const stream = { after, isClosed: false, onmessage: null, onerror: null, onopen: null, close: () => void (stream.isClosed = true) };
        streams.push(stream);
        return stream;
      },
      later: (run, ms) => (waits.push({ run, ms }), () => {}),
      chance: () => 1,
      explain: (after, tell) => tell({ why: `Refused after ${after}.`, waitMs: 5_000, isLasting: false }),
    };
    const feed = new Feed(environment, { feed: ({ seq }) => said.push(`feed ${seq}`), connected: () => said.push('connected'), broken: (why) => said.push(why) }, 7);
    return { streams, waits, said, feed };
  }
  const send = (stream: Stream, feed: object | string) => stream.onmessage?.({ data: typeof feed === 'string' ? feed : JSON.stringify(feed) });

  test('goes on behind the last event, later after each failure', () => {
    const { streams, waits, said, feed } = stage();
    feed.start();
    streams[0]!.onopen?.();
    send(streams[0]!, feedOf(8, 9));
    streams[0]!.onerror?.();
    expect([streams[0]!.isClosed, waits[0]!.ms]).toEqual([true, 400]);
    waits[0]!.run();
    streams[1]!.onopen?.();
    streams[1]!.onerror?.();
    expect([streams.map(({ after }) => after), waits[1]!.ms]).toEqual([[7, 9], 800]);
    expect(said).toEqual(['connected', 'feed 9', 'connected', 'The tournament’s feed is interrupted.']);
  });
  test('that is not opened says why the second time, and is opened anew for a device that slept', () => {
    const { streams, waits, said, feed } = stage();
    feed.start();
    streams[0]!.onerror?.();
    waits[0]!.run();
    streams[1]!.onerror?.();
    expect([said, waits.map(({ ms }) => ms)]).toEqual([['Refused after 7.'], [5_000, 5_000]]);
    waits[1]!.run();
    feed.renew();
    expect([streams[2]!.isClosed, streams[2]!.onerror, streams.length]).toEqual([true, null, 4]);
    feed.stop();
    feed.renew();
    expect([streams[3]!.isClosed, streams.length]).toEqual([true, 4]);
  });
  test('ends where the tournament is over, and takes no nonsense', () => {
    const { streams, waits, said, feed } = stage();
    feed.start();
    for (const nonsense of ['', '{', 'null', '{"seq":"1"}', '{"seq":8}']) send(streams[0]!, nonsense);
    send(streams[0]!, { ...feedOf(8), is_over: true });
    streams[0]!.onerror?.();
    expect([said[0], streams[0]!.isClosed, streams.length]).toEqual(['feed 8', true, 1]);
    waits.forEach(({ run }) => run());
    expect(streams).toHaveLength(1);
  });
});

const entrants = ['Ann', 'Bob', 'Cyd'].map((snake_name, number) => ({ number, snake_id: `s${number}`, snake_name, author: 'x', entered_at: '', seed: number + 1 }));
const named: Pick<TournamentDetails, 'entrants' | 'pairings'> = { entrants, pairings: [...single(3)] };

describe('words of tournaments', () => {
  const decided = (decision: string | null, winner: number | null = 0): TournamentPairing => ({ ...named.pairings[1]!, decision, winner });
  test.each([
    ['games', 'Ann won more games.'],
    ['tie_break_food', 'As many games won on both sides: Ann ate more in them.'],
    ['tie_break_seed', 'Equal in games: Ann has the better seed.'],
    ['walkover', 'Ann went on by walkover: the other side had left, or was not there.'],
    ['bye', 'Ann had a bye: no opponent in this round.'],
  ])('a pairing that was decided by %s', (decision, want) => expect(pairingText(named, decided(decision))).toBe(want));
  test.each(['tie_break_lot', 'double_walkover', 'empty', 'not_needed'])('%s has words of its own', (decision) => expect(pairingText(named, decided(decision, null))).not.toContain('Waits'));
  test('a pairing that waits says for what', () => {
    const waiting = { ...decided(null, null), status: 'waiting' };
    expect(pairingText(named, waiting)).toBe('Waits for other matches.');
    const absent = { ...named, entrants: entrants.map((entrant) => ({ ...entrant, absent_since: '2026-01-01T00:00:00Z' })) };
    expect(pairingText(absent, { ...waiting, players: [{ entrant: 0, games_won: 0 }] })).toBe('Waits for a bot that does not answer.');
  });
  test.each([
    [{ entrant: 1, games_won: 0 }, 'Bob'],
    [{ entrant: null, is_bye: true, games_won: 0 }, 'Nobody'],
    [{ entrant: null, winner_of: 1, games_won: 0 }, 'Winner of Bob – Cyd'],
    [{ entrant: null, loser_of: 9, games_won: 0 }, 'Loser of match 10'],
    [{ entrant: null, games_won: 0 }, 'Not known yet'],
  ])('the place %j is named %s', (player, want) => expect(playerText(named, player)).toBe(want));
  const game = { id: 'g', seats: [0, 1], created_at: '', status: 'played', places: [1, 2] };
  test.each([
    [game, false, 'Ann won'],
    [{ ...game, places: [1, 1] }, false, 'Drawn'],
    [{ ...game, seats: [0, 1, 2], places: [1, 1, 3] }, false, 'Ann and Bob shared the first place'],
    [game, true, 'Ann won, by the board: it was not over at its deadline'],
    [{ ...game, status: 'queued' }, false, 'In the queue'],
    [{ ...game, status: 'running' }, false, 'Being played'],
    [{ ...game, status: 'void', void: 'server_fault' }, false, 'Does not count: this server failed to call a bot'],
  ])('a game %#', (game, isAdjudicated, want) => expect(gameText(named, game, isAdjudicated)).toBe(want));
  test.each(['invited', 'entered', 'withdrawn', 'absent', 'returned', 'seeds_set', 'started', 'round_paired', 'game_created', 'game_played', 'game_adjudicated', 'game_void', 'cancelled', 'ended'])('%s is a sentence', (type) =>
    expect(eventText(named, event(1, type, { snake_id: 's0', pairing: 1, reason: 'late' }))).toMatch(/^[A-Z].* .*\.$/));
  test.each([
    [{ type: 'single_elimination', third_place: true }, 'Single elimination, with a match for the third place'],
    [{ type: 'double_elimination', final_reset: true }, 'Double elimination, the unbeaten must lose the final twice'],
    [{ type: 'swiss', rounds: 5 }, 'Swiss, 5 rounds'],
    [{ type: 'groups', groups: 4, advance: 2, third_place: false }, 'Groups, then a bracket, 4 groups, the best 2 of each group go on'],
    [{ type: 'heats', size: 4, advance: 1 }, 'Heats, 4 in a heat, the best one of each heat goes on'],
    [{ type: 'new_one' }, 'new_one'],
  ])('%j is %s', (format, want) => expect(formatText(format)).toBe(want));
  test.each([[0, 'Group A'], [25, 'Group Z'], [26, 'Group AA'], [255, 'Group IV']])('group %i is %s', (group, want) => expect(groupName(group)).toBe(want));
  test('heats and groups have rounds', () => expect([roundTitle({ stage: 'heat', round: 2 }, 3, false), roundTitle({ stage: 'group', round: 1 }, 3, false)]).toEqual(['Heats, round 2', 'Groups, round 1']));
});

describe('forms', () => {
  test('each format has its own numbers', () => {
    const sent = (format: string) => tournamentOf({ ...newTournamentForm(), format }).format;
    expect(['single_elimination', 'double_elimination', 'swiss', 'round_robin', 'groups', 'heats'].map(sent)).toEqual([
      { type: 'single_elimination', third_place: true },
      { type: 'double_elimination', final_reset: true },
      { type: 'swiss' },
      { type: 'round_robin' },
      { type: 'groups', third_place: true, groups: 4, advance: 2 },
      { type: 'heats', size: 4, advance: 2 },
    ]);
  });
  test('what is left empty is left to the server', () => {
    const sent = tournamentOf({ ...newTournamentForm(), name: 'Cup', entrants_max: 8, entrants_min: null, isFoodFirst: false, last_tie_break: 'lot' });
    expect(Object.keys(sent).sort()).toEqual(['best_of', 'entrants_max', 'entry', 'format', 'game', 'is_public', 'name', 'seeding', 'tie_breaks']);
    expect(sent.tie_breaks).toEqual(['lot']);
    expect(gameOf({ ...newGameForm(), map: ' ', board: '7×7' })).toEqual({ game_type: 'standard', board: '7x7', timeout_ms: 500 });
    expect(gameOf({ ...newGameForm(), settings: { ...newGameForm().settings, minimumFood: 0 } }).settings).toEqual({ minimumFood: 0 });
  });
  test('a time is sent as a moment', () => expect(tournamentOf({ ...newTournamentForm(), starts_at: '2026-01-31T18:00' }).starts_at).toMatch(/^2026-0(1-31|2-01)T\d\d:\d\d:00\.000Z$/));
  test('a league has no test', () => {
    const form = newDuelForm(['a', 'http://b']);
    expect(duelOf(form)).toMatchObject({ bots: [{ snake_id: 'a' }, { url: 'http://b' }], elo0: 0, elo1: 50 });
    expect(Object.keys(duelOf({ ...form, bots: [...form.bots, { value: 'c', name: '' }] }))).not.toContain('elo0');
  });
});

describe('words of duels', () => {
  test.each([
    ['https://a.example/x', 'new', { url: 'https://a.example/x', name: 'new' }],
    [' 01a2 ', 'new', { snake_id: '01a2' }],
    ['HTTP://a', '', { url: 'HTTP://a' }],
  ])('%j named %j', (text, name, want) => expect(choiceOf(text, name)).toEqual(want));
  test('the command can be pasted into a shell', () => {
    const bots = [choiceOf('id-1'), choiceOf("http://h/a b?x=1&y='2'", 'my new')];
    expect(commandOf(bots, 'http://127.0.0.1:4000', { elo0: -50, games: null, map: '' })).toBe(
      `gauntlet duel id-1 'my new=http://h/a b?x=1&y='\\''2'\\''' --elo0 -50 --server http://127.0.0.1:4000`,
    );
    expect(Object.values(optionsOf(newDuelForm(['a', 'b']))).every((value) => value === null || value === '')).toBe(true);
  });
  test.each([[0, '0'], [12.4, '+12'], [-1_234, '−1,234'], [null, 'unbounded']])('%j Elo', (value, want) => expect(elo(value)).toBe(want));
  test('how far a test is', () => {
    const pairing = { first: 0, second: 1, wins: 1, draws: 0, losses: 1, pairs: [0, 0, 1, 0, 0], void_pairs: 0, llr: 1.5, elo: 0, elo_low: null, elo_high: null };
    const duel = { bots: [{ name: 'Old' }, { name: 'New' }], pairings: [pairing], test: { llr_lower: -3, llr_upper: 3 } };
    const said = (more: object) => progressText({ ...duel, pairings: [{ ...pairing, ...more }] } as never);
    expect(said({})).toContain('50% of the way to “New is better”');
    expect(said({ llr: -0.3 })).toContain('10% of the way to “New is not better”');
    expect(said({ pairs: [0, 0, 0, 0, 0] })).toBe('No pair of games has ended yet.');
  });
  test('the line of an interval holds zero and every end', () => {
    const scale = scaleOfElo([null, 40, null, 300]);
    expect([scale.from < 0, scale.to > 300]).toEqual([true, true]);
  });
});

describe('ratings', () => {
  test('stand on one scale', () => {
    const ratings = [{ mu: 25, sigma: 1 }, { mu: 30, sigma: 2 }];
    const scale = scaleOf(ratings);
    expect(scale).toEqual({ from: 22, to: 36 });
    expect(rangeOf(ratings[0]!)).toEqual({ from: 22, to: 28 });
    expect([shareOf(22, scale), shareOf(29, scale), shareOf(99, scale), shareOf(-9, scale)]).toEqual([0, 0.5, 1, 0]);
    expect(scaleOf([])).toEqual({ from: 0, to: 1 });
  });
  test.each([[0.04, '0.0'], [-0.04, '0.0'], [-1.25, '−1.3'], [12, '12.0']])('%f is written %s', (value, want) => expect(score(value)).toBe(want));
  const rating = (display_score: number) => ({ mu: 0, sigma: 0, display_score });
  test.each([[1, 2.5, '+1.5'], [2, 1, '−1.0'], [2, 2, '0.0']])('from %f to %f is %s', (before, after, want) =>
    expect(change({ number: 1, game_id: '', ended_at: '', seat: 0, place: 1, players: 2, before: rating(before), after: rating(after) })).toBe(want));
});

test.each([[1, '1st'], [2, '2nd'], [3, '3rd'], [4, '4th'], [11, '11th'], [22, '22nd'], [113, '113th']])('%i is %s', (value, want) => expect(ordinal(value)).toBe(want));
test.each([[1, '1 entry'], [0, '0 entries'], [2_000, '2,000 entries']])('%i: %s', (value, want) => expect(count(value, 'entry', 'entries')).toBe(want));
test('what is played', () => {
  const played = { game_type: 'Standard', map: 'standard', board: '11x11', timeout_ms: 500 };
  expect(playedFacts(played)).toEqual(['Standard', '11×11', '500 ms a move']);
  expect(playedFacts({ ...played, map: 'hz_rivers', players: 4 })).toEqual(['4 in a game', 'Standard', 'map hz_rivers', '11×11', '500 ms a move']);
});
