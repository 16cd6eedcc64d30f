// The match viewer's plain parts: turns and playback, what is read from the feed, latencies, the line of a body, the feed's reconnecting.
import { describe, expect, test } from 'vitest';
import { Feed, type Socket } from '../../src/match/feed.ts';
import type { Refusal } from '../../src/world/api.ts';
import { readEvent, readFrame } from '../../src/match/frame.ts';
import { PICTURES_MAX, turnsShown } from '../../src/match/gif.ts';
import { HEADS, headFor, TAILS, tailFor } from '../../src/match/heads.ts';
import { piecesOf } from '../../src/match/path.ts';
import { advance, AT_START, faster, follow, type Playback, seek, step, toggle, turnIn, turnOf } from '../../src/match/playback.ts';
import { Recording, TURNS_MAX } from '../../src/match/recording.ts';
import { deathText, errorText, resultText } from '../../src/match/words.ts';

const snakeData = (seat: number, more: object = {}) => ({ ID: `s${seat}`, Name: `Snake ${seat}`, Body: [{ X: 1, Y: 2 }], Health: 90, Latency: '12', Color: '#112233', Death: null, ...more });
const frameData = (Turn: number, Snakes: readonly object[] = [snakeData(0)]) => ({ Turn, Snakes, Food: [], Hazards: [] });
function frame(turn: number, snakes?: readonly object[]) {
  const read = readFrame(frameData(turn, snakes));
  if (!read) throw new Error('a frame of a test is one');
  return read;
}

describe('playback', () => {
  const at = (position: number, more: Partial<Playback> = {}): Playback => ({ ...AT_START, position, ...more });

  test.each([
    ['stands still when it is paused', at(3), 1_000, 10, false, 3, false],
    ['goes on by its speed', at(3, { isPlaying: true, turnsPerS: 4 }), 500, 10, false, 5, true],
    ['stops at the end of what is over', at(9, { isPlaying: true }), 5_000, 10, true, 10, false],
    ['waits at the end of what goes on', at(9, { isPlaying: true }), 5_000, 10, false, 10, true],
    ['has nowhere to go before the first turn', at(0, { isPlaying: true }), 5_000, -1, false, 0, true],
    ['live, far behind: a jump', at(0, { isLive: true }), 0, 100, false, 99, false],
    ['live, near: walks', at(99.5, { isLive: true }), 10, 100, false, 99.58, false],
  ] as const)('%s', (_name, from, elapsedMs, lastTurn, isOver, position, isPlaying) => {
    const to = advance(from, elapsedMs, lastTurn, isOver);
    expect(to.position).toBeCloseTo(position);
    expect(to.isPlaying).toBe(isPlaying);
  });

  test('live ends when the match does', () => {
    expect(advance(at(10, { isLive: true }), 16, 10, true).isLive).toBe(false);
  });

  test.each([
    [5, 1, 10, 6],
    [5.4, 1, 10, 6],
    [5.4, -1, 10, 5],
    [0, -1, 10, 0],
    [10, 10, 10, 10],
    [0, 1, -1, 0],
  ])('a step from %d by %d of %d ends at %d', (from, turns, last, wanted) => {
    const to = step(at(from, { isPlaying: true }), turns, last);
    expect([to.position, to.isPlaying, to.isLive]).toEqual([wanted, false, false]);
  });

  test('every step ends at a turn that there is', () => {
    for (let n = 0; n < 1_000; n += 1) {
      const last = n % 17;
      const { position } = step(at((n * 7.3) % (last + 1)), ((n * 31) % 41) - 20, last);
      expect(Number.isInteger(position) && position >= 0 && position <= last).toBe(true);
    }
  });

  test('play begins again at the end, and pause stays at a whole turn', () => {
    expect(toggle(at(10), 10, true)).toMatchObject({ position: 0, isPlaying: true });
    expect(toggle(at(10), 10, false)).toMatchObject({ position: 10, isPlaying: true });
    expect(toggle(at(4.7, { isPlaying: true }), 10, true)).toMatchObject({ position: 4, isPlaying: false });
    expect(toggle(follow(at(4.7)), 10, false)).toMatchObject({ position: 4, isLive: false });
    expect(turnOf(seek(at(1), 99, 10))).toBe(10);
  });

  test('speeds have ends', () => {
    let playback = at(0);
    for (let n = 0; n < 20; n += 1) playback = faster(playback, 1);
    expect(playback.turnsPerS).toBe(64);
    for (let n = 0; n < 20; n += 1) playback = faster(playback, -1);
    expect(playback.turnsPerS).toBe(1);
  });

  test.each([
    ['turn=12', 12],
    ['turn=0', 0],
    ['turn=-1', null],
    ['turn=1e9', null],
    ['turn=12345678', null],
    ['turn=', null],
    ['', null],
  ])('%s names the turn %s', (query, wanted) => expect(turnIn(new URLSearchParams(query))).toBe(wanted));
});

describe('the feed', () => {
  test.each([
    ['{', null],
    ['null', null],
    ['{"Type":"news"}', null],
    ['{"Type":"frame","Data":{"Turn":-1}}', null],
    ['{"Type":"frame","Data":{"Turn":1.5}}', null],
    ['{"Type":"frame","Data":null}', null],
    ['{"Type":"game_end","Data":{}}', 'end'],
    ['{"Type":"error","Data":{"message":"why"}}', 'error'],
    ['{"Type":"frame","Data":{"Turn":1,"Snakes":"x","Food":{},"Hazards":[null]}}', 'frame'],
  ])('%s is %s', (text, kind) => expect(readEvent(text)?.kind ?? null).toBe(kind));

  test('what a stranger sends is cut to what a page can hold', () => {
    const [snake] = frame(1, [snakeData(0, { Name: 'n'.repeat(5_000), Shout: 's'.repeat(5_000), Color: 'red;background:url(x)', Latency: 'NaN' })]).snakes;
    expect([snake?.name.length, snake?.shout.length, snake?.color, snake?.latencyMs]).toEqual([100, 256, '#f2735c', 0]);
  });

  test('snakes of one colour are told apart', () => {
    const { snakes } = frame(1, Array.from({ length: 8 }, (_, seat) => snakeData(seat)));
    expect(new Set(snakes.map(({ color }) => color)).size).toBe(8);
    expect(snakes[0]?.color).toBe('#112233');
  });

  /** A feed whose sockets, waits and reasons the test holds. */
  function setup() {
    const [sockets, waits, log] = [[] as (Socket & { isClosed: boolean })[], [] as { run: () => void; ms: number }[], [] as string[]];
    const explained: ((refusal: Refusal) => void)[] = [];
    const environment = {
      open: () => {
        const socket = { onmessage: null, onclose: null, onopen: null, isClosed: false, close: () => void (socket.isClosed = true) };
        sockets.push(socket);
        return socket;
      },
      later: (run: () => void, ms: number) => (waits.push({ run, ms }), () => {}),
      chance: () => 1,
      explain: (tell: (refusal: Refusal) => void) => void explained.push(tell),
    };
    const feed = new Feed(environment, { event: ({ kind }) => log.push(kind), connected: () => log.push('connected'), broken: (why) => log.push(why) });
    return { feed, sockets, waits, log, explained };
  }
  const because = (why: string, waitMs = 0): Refusal => ({ why, waitMs, isLasting: false });

  test('opens again after it broke, later each time, and not after the end', () => {
    const { feed, sockets, waits, log } = setup();
    feed.start();
    feed.start();
    expect(sockets.length).toBe(1);
    for (let n = 0; n < 3; n += 1) {
      sockets.at(-1)?.onopen?.();
      sockets.at(-1)?.onclose?.();
      waits.at(-1)?.run();
    }
    expect(waits.map(({ ms }) => ms)).toEqual([400, 800, 1_600]);
    sockets.at(-1)?.onopen?.();
    sockets.at(-1)?.onmessage?.({ data: '{"Type":"game_end","Data":{}}' });
    sockets.at(-1)?.onclose?.();
    expect(log).toEqual([...Array.from({ length: 3 }, () => ['connected', 'The match is interrupted.']).flat(), 'connected', 'end']);
    expect([sockets.length, waits.length]).toEqual([4, 3]);
  });

  test('that is not opened says why, and leaves the server alone for as long as it wants', () => {
    const { feed, sockets, waits, log, explained } = setup();
    feed.start();
    sockets[0]?.onclose?.();
    explained[0]?.(because('Too many watch.', 5_000));
    expect([log, waits[0]?.ms]).toEqual([['Too many watch.'], 5_000]);
    waits[0]?.run();
    sockets[1]?.onclose?.();
    feed.renew();
    explained[1]?.(because('Of the socket before.'));
    expect([log.length, waits.length, sockets.length]).toEqual([1, 1, 3]);
    feed.stop();
    expect(sockets[2]?.isClosed).toBe(true);
  });

  test('is opened anew for a device that slept, until it is over', () => {
    const { feed, sockets, log } = setup();
    feed.start();
    feed.renew();
    expect([sockets[0]?.isClosed, sockets[0]?.onclose, sockets.length]).toEqual([true, null, 2]);
    sockets[1]?.onmessage?.({ data: '{"Type":"game_end","Data":{}}' });
    feed.renew();
    expect([sockets.length, log]).toEqual([2, ['end']]);
  });
});

describe('a recording', () => {
  test('keeps turns in order, once each, up to an end', () => {
    const recording = new Recording();
    expect([0, 1, 1, 0, 3, 2].map((turn) => recording.add(frame(turn)))).toEqual([true, true, false, false, false, true]);
    expect([recording.lastTurn, recording.at(2)?.turn, recording.at(3)]).toEqual([2, 2, undefined]);
    recording.frames.length = TURNS_MAX;
    expect([recording.add(frame(TURNS_MAX)), recording.isFull]).toEqual([false, true]);
  });

  test('percentiles are of the answers of the living', () => {
    const recording = new Recording();
    const snakes = (latency: number, death: object | null = null) => [snakeData(0, { Latency: `${latency}` }), snakeData(1, { Latency: '5', Death: death })];
    recording.add(frame(0, snakes(999)));
    for (let turn = 1; turn <= 100; turn += 1) recording.add(frame(turn, snakes(101 - turn, turn > 10 ? { Cause: 'hazard', Turn: 10, EliminatedBy: '' } : null)));
    expect([0.5, 0.95, 1].map((share) => recording.latencyMs(0, share))).toEqual([50, 95, 100]);
    expect([recording.percentile(0, 50), recording.percentile(1, 5), recording.latencyMs(2, 0.5)]).toEqual([0.5, 1, null]);
    expect(recording.deaths().map(({ turn }) => turn)).toEqual([10]);
  });
});

describe('the line of a body', () => {
  const body = (...cells: readonly (readonly [number, number])[]) => frame(1, [snakeData(0, { Body: cells.map(([X, Y]) => ({ X, Y })) })]).snakes[0]!;

  test('half way, head and tail are between their cells', () => {
    const pieces = piecesOf(body([2, 0], [1, 0], [0, 0]), body([3, 0], [2, 0], [1, 0]), 0.5);
    expect(pieces).toEqual([[{ x: 2.5, y: 0 }, { x: 2, y: 0 }, { x: 1, y: 0 }, { x: 0.5, y: 0 }]]);
  });

  test('over an edge it leaves on one side and comes in on the other', () => {
    const pieces = piecesOf(body([0, 0], [10, 0], [9, 0]), undefined, 0);
    expect(pieces).toEqual([[{ x: 0, y: 0 }, { x: -0.7, y: 0 }], [{ x: 10.7, y: 0 }, { x: 10, y: 0 }, { x: 9, y: 0 }]]);
  });

  test('who dies does not move, and who has no body has no line', () => {
    const dead = frame(2, [snakeData(0, { Body: [{ X: 9, Y: 9 }], Death: { Cause: 'hazard', Turn: 2, EliminatedBy: '' } })]).snakes[0];
    expect(piecesOf(body([2, 0], [1, 0]), dead, 0.5)).toEqual([[{ x: 2, y: 0 }, { x: 1, y: 0 }]]);
    expect(piecesOf(body(), undefined, 0.5)).toEqual([]);
  });
});

test('GIFs show all turns, or evenly some, always the last', () => {
  expect(turnsShown(3, 6)).toEqual([3, 4, 5, 6]);
  expect(turnsShown(7, 7)).toEqual([7]);
  for (const last of [399, 400, 1_000, 19_999]) {
    const turns = turnsShown(0, last);
    expect([turns.length <= PICTURES_MAX, turns.at(-1)]).toEqual([true, last]);
  }
});

test('every name of a head or tail has a drawing', () => {
  for (const head of HEADS) expect(headFor(head)).toBe(head);
  for (const tail of TAILS) expect(tailFor(tail)).toBe(tail);
  for (const name of ['', 'nonsense', '__proto__', 'constructor']) expect([headFor(name), tailFor(name)]).toEqual(['default', 'default']);
  expect([headFor('Sand-Worm'), headFor('nr-rocket'), tailFor('fat-rattle'), tailFor('block-bum')]).toEqual(['cyclops', 'shades', 'rattle', 'block']);
});

test('deaths, errors and results are said in words', () => {
  const snakes = frame(9, [snakeData(0), snakeData(1, { Death: { Cause: 'snake-collision', Turn: 8, EliminatedBy: 's0' } }), snakeData(2, { Death: { Cause: 'flood', Turn: 9, EliminatedBy: '' } })]).snakes;
  expect(snakes.map((snake) => deathText(snake, snakes))).toEqual(['', 'Ran into Snake 0 in turn 8', 'Died of flood in turn 9']);
  expect(['', 'late', 'odd'].map(errorText)).toEqual(['', 'answered too late', 'failed to answer: odd']);
  const dead = { Death: { Cause: 'hazard', Turn: 9, EliminatedBy: '' } };
  expect(resultText(frame(9, [snakeData(0), snakeData(1, dead)]))).toBe('Snake 0 wins');
  expect(resultText(frame(9, [snakeData(0, dead), snakeData(1, dead)]))).toBe('A draw');
  expect(resultText(frame(9, [snakeData(0)]))).toBe('Over after 9 turns');
});
