// What the pages of bots and matches compute: maps, creations, latencies by hour, records, evidence.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { CheckCall, RatedGame, SnakeLatency, SnakeTurn } from '../../src/api/client.ts';
import { type Draft, EMPTY, obstacle, request, withMap } from '../../src/bots/creation.ts';
import { boardOf, noteworthyFrom, readable } from '../../src/bots/evidence.ts';
import { classes, localHours } from '../../src/bots/latency.ts';
import { lookOf } from '../../src/bots/looks.ts';
import { boardFor, MAPS, mapNamed } from '../../src/bots/maps.ts';
import { bySeat, ratingHistory } from '../../src/bots/record.ts';
import { steps } from '../../src/bots/steps.ts';
import { evenly } from '../../src/common/evenly.ts';
import { once } from '../../src/common/once.ts';
import { evidencePath, ladderPath } from '../../src/shell/paths.ts';
import { routeOf } from '../../src/shell/routes.ts';

const ID = '01a20a0e-e204-71dd-a91a-45e6f3d457af';

test('the maps of the form are those of the documentation', () => {
  const text = readFileSync(join(import.meta.dirname, '../../../docs/maps.md'), 'utf8');
  const sections = [...text.matchAll(/### `(\w+)`[^]*?\nTakes (.*?); (?:1 to (\d+) snakes|one snake)\./g)];
  const documented = sections.map(([, name, boards = '', most]) => ({ name, boards: boards.match(/\d+x\d+/g) ?? 'odd sides', snakesMax: Number(most ?? 1) }));
  const offered = MAPS.map(({ name, boards, snakesMax }) => ({ name, boards: boards.length === 10 ? 'odd sides' : boards, snakesMax }));
  expect(offered).toEqual(documented);
  expect(new Set(MAPS.map(({ title }) => title)).size).toBe(25);
});

describe('a creation', () => {
  const seat = (id: string) => ({ id, name: id, face: undefined });
  const draft = (more: Partial<Draft>): Draft => ({ ...EMPTY, seats: [seat('a'), seat('b')], ...more });

  test.each([
    [draft({}), ''],
    [draft({ seats: [] }), 'Choose at least one bot.'],
    [draft({ map: 'solo_maze' }), 'This map takes one snake, not 2'],
    [draft({ map: 'hz_hazard_pits', seats: ['a', 'b', 'c', 'd', 'e'].map(seat) }), 'This map takes 1 to 4 snakes, not 5'],
    [draft({ gameType: 'solo' }), 'The rules Solo are for one snake'],
  ])('obstacle %#', (of, want) => expect(obstacle(of).startsWith(want) && (want !== '' || obstacle(of) === '')).toBe(true));

  test('what is usual is left to the server, and what is no number goes as it was typed', () => {
    expect(request(draft({}))).toEqual({ snakes: ['a', 'b'], map: 'standard', board: '11x11', game_type: 'standard', timeout_ms: null });
    const typed = draft({ timeoutMs: ' 300 ', seed: '7', settings: { ...EMPTY.settings, hazardDamagePerTurn: '-10', minimumFood: 'two' } });
    expect(request(typed)).toMatchObject({ timeout_ms: 300, seed: '7', settings: { hazardDamagePerTurn: -10, minimumFood: 'two' } });
  });

  test.each([
    ['hz_rings', '19x19', '19x19'],
    ['hz_castle_wall_xl', '19x19', '25x25'],
    ['sinkholes', '9x9', '11x11'],
  ])('a board for %s', (name, chosen, want) => {
    const map = mapNamed(name)!;
    expect([boardFor(map, chosen), withMap(draft({ board: chosen }), map).board]).toEqual([want, want]);
  });
});

test('a colour that is none is replaced by the seat’s', () => {
  expect(lookOf({ color: '#ABCDEF', head: 'smile' })).toEqual({ color: '#abcdef', head: 'smile' });
  expect(lookOf({ color: 'red;x:url(//y)', head: 'smile' }, 1)).toEqual({ color: '#56c2b0', head: 'smile' });
  expect(lookOf(undefined, 9).color).toBe(lookOf(null, 1).color);
});

describe('latencies', () => {
  const hour = (hour: number, calls: number, classes: SnakeLatency['hours'][number]['classes'] = []) => ({ hour, calls, classes, p50_ms: hour, p95_ms: null, p99_ms: null });
  const of = { since: '2026-01-01T00:00:00Z', hours: Array.from({ length: 24 }, (_, at) => hour(at, at)) } as SnakeLatency;

  test.each([
    [0, 0],
    [-120, 22],
    [300, 5],
    [-330, 19],
  ])('midnight of a zone %d minutes before UTC is hour %d of UTC', (offset, utc) => {
    const rows = localHours(of, offset);
    expect(rows.map(({ hour }) => hour)).toEqual(Array.from({ length: 24 }, (_, at) => at));
    expect(rows[0]?.p50).toBe(utc);
  });

  test('classes add up over the day', () => {
    const day = { ...of, hours: [hour(1, 3, [{ class: 'late', calls: 1 }, { class: 'valid', calls: 2 }]), hour(2, 5, [{ class: 'valid', calls: 5 }])] } as SnakeLatency;
    expect(classes(day)).toEqual([{ name: 'valid', calls: 7, share: 7 / 8 }, { name: 'late', calls: 1, share: 1 / 8 }]);
    expect(classes(of)).toEqual([]);
  });
});

test('rated games become a history from the first, and a row a seat', () => {
  const game = (number: number, seat: number, place: number) =>
    ({ number, game_id: ID, ended_at: '2026-01-01T00:00:00Z', seat, place, players: 4, before: { mu: 25, sigma: 2, display_score: 19 }, after: { mu: 25 + number, sigma: 2, display_score: 19 + number } }) as RatedGame;
  const games = [game(3, 1, 4), game(2, 0, 1), game(1, 1, 1)];
  expect(ratingHistory(games).map(({ number, rating, low, high }) => [number, rating, low, high])).toEqual([[1, 20, 20, 32], [2, 21, 21, 33], [3, 22, 22, 34]]);
  expect(bySeat(games)).toEqual([{ seat: 0, games: 1, firstPlaces: 1, meanPlace: 1 }, { seat: 1, games: 2, firstPlaces: 1, meanPlace: 2.5 }]);
});

describe('evidence', () => {
  const turn = (turn: number, answered = 'valid', cause: string | null = null) => ({ turn, class: answered, cause, move: 'up', latency_ms: 1, is_late: false, shout: '', health: 1, length: 3 }) as SnakeTurn;
  const turns = [turn(0), turn(1, 'late'), turn(2), turn(3), turn(4, 'valid', 'hazard')];

  test.each([
    [0, 1, 1],
    [1, 1, 4],
    [4, 1, null],
    [4, -1, 1],
    [1, -1, null],
  ])('from turn %d in direction %d the next problem is %s', (at, direction, want) => expect(noteworthyFrom(turns, at, direction)).toBe(want));

  test('the board of a request begins with the own snake', () => {
    const snake = (id: string) => ({ id, name: id, health: 90, body: [{ x: 1, y: 2 }], shout: '', customizations: { color: '#112233', head: 'smile', tail: 'sharp' } });
    const shown = boardOf({ turn: 7, board: { width: 11, height: 9, food: [{ x: 5, y: 5 }], hazards: [], snakes: [snake('a'), snake('b')] }, you: snake('b') });
    expect(shown?.board).toEqual({ width: 11, height: 9 });
    expect([shown?.frame.turn, shown?.frame.snakes.map(({ id }) => id), shown?.frame.food]).toEqual([7, ['b', 'a'], [{ x: 5, y: 5 }]]);
    for (const body of [{}, { board: null }, { board: { width: 1, height: 2 } }]) expect(boardOf(body)).toBe(null);
  });

  test('cells stay in one line', () => expect(readable({ head: { x: -1, y: 2 } })).toBe('{\n  "head": { "x": -1, "y": 2 }\n}'));
});

test.each([
  [{ dns: 1, connect: 2, tls: 3, first_byte: 4, total: 12 }, ['dns 1', 'connect 2', 'tls 3', 'wait 4', 'rest 2']],
  [{ dns: 1, connect: 2, tls: null, first_byte: 4, total: 7.01 }, ['dns 1', 'connect 2', 'wait 4']],
  [{ dns: null, connect: null, tls: null, first_byte: null, total: 2_000 }, ['rest 2000']],
])('the steps of a call %#', (times, want) => expect(steps(times as CheckCall['times_ms']).map(({ name, duration }) => `${name} ${duration}`)).toEqual(want));

test('figures are thinned evenly, with both ends', () => {
  expect(evenly(3, 100)).toEqual([0, 1, 2]);
  for (const length of [100, 101, 1_000]) {
    const at = evenly(length, 100);
    expect([at.length, at[0], at.at(-1), new Set(at).size]).toEqual([100, 0, length - 1, 100]);
  }
});

test('a row that two pages bring is shown once', () => expect(once(['a', 'b', 'a', 'c'], (row) => row)).toEqual(['a', 'b', 'c']));

test('addresses of bots, matches and ladders are pages', () => {
  for (const [path, page] of [['/games', 'matches'], ['/bots', 'bots'], [`/bots/${ID}`, 'bot'], [`/games/${ID}/bots/0`, 'evidence'], [`/games/${ID}`, 'match'], [ladderPath(ID), 'ladder'], ['/bots/1', 'missing']] as const) {
    expect(routeOf(path).page).toBe(page);
  }
  expect([evidencePath(ID, 2, null), evidencePath(ID, 2, 7)]).toEqual([`/games/${ID}/bots/2`, `/games/${ID}/bots/2?turn=7`]);
});
