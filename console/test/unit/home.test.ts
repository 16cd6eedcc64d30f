// The home page's plain parts: what is read from the feed, its reconnecting, and the words.
import { describe, expect, test } from 'vitest';
import { type Environment, type Source, SummaryFeed } from '../../src/home/feed.ts';
import { boardSize, isOld, moversIn, readSummary, SILENT_AFTER_MS } from '../../src/home/summary.ts';
import { count, figures, healthText, WAYS, wayText, whyText } from '../../src/home/words.ts';
import { BUSY, FEATURED, QUIET } from '../home.ts';

describe('the feed', () => {
  function opened() {
    const timers: { run: () => void; ms: number }[] = [];
    const log: string[] = [];
    const sources: (Source & { isClosed: boolean })[] = [];
    const environment: Environment = {
      open: () => {
        const source = { onmessage: null, onerror: null, isClosed: false, close: () => void (source.isClosed = true) } as Source & { isClosed: boolean };
        sources.push(source);
        return source;
      },
      later: (run, ms) => {
        const timer = { run, ms };
        timers.push(timer);
        return () => void (timers.includes(timer) && timers.splice(timers.indexOf(timer), 1));
      },
      chance: () => 0,
    };
    const feed = new SummaryFeed(environment, { summary: ({ games }) => log.push(`${games.running}`), broken: () => log.push('broken') });
    const fire = () => timers.splice(0).forEach(({ run }) => run());
    return { feed, log, sources, timers, fire };
  }

  test('tells what it says, and leaves out what is none', () => {
    const { feed, log, sources } = opened();
    feed.start();
    feed.start();
    for (const data of [JSON.stringify(QUIET), 'x', 'null', '{}', 7, JSON.stringify(BUSY)]) sources[0]?.onmessage?.({ data });
    expect([log, sources.length]).toEqual([['0', '10000'], 1]);
  });

  test('opens again after it broke, later each time, and soon again once it spoke', () => {
    const { feed, log, sources, timers, fire } = opened();
    feed.start();
    const waits: number[] = [];
    for (let n = 0; n < 3; n += 1) {
      sources.at(-1)?.onerror?.();
      waits.push(timers[0]?.ms ?? 0);
      fire();
    }
    sources.at(-1)?.onmessage?.({ data: JSON.stringify(QUIET) });
    sources.at(-1)?.onerror?.();
    waits.push(timers[0]?.ms ?? 0);
    expect(waits).toEqual([200, 400, 800, 200]);
    expect(log).toEqual(['broken', 'broken', 'broken', '0', 'broken']);
    expect(sources.every(({ isClosed }) => isClosed)).toBe(true);
  });

  test('silence is a break', () => {
    const { feed, log, sources, timers, fire } = opened();
    feed.start();
    sources[0]?.onmessage?.({ data: JSON.stringify(QUIET) });
    expect(timers.map(({ ms }) => ms)).toEqual([SILENT_AFTER_MS]);
    fire();
    expect([log, sources[0]?.isClosed]).toEqual([['0', 'broken'], true]);
  });

  test('nothing is opened after it was stopped', () => {
    const { feed, sources, timers } = opened();
    feed.start();
    sources[0]?.onerror?.();
    feed.stop();
    expect([timers.length, sources.length]).toEqual([0, 1]);
  });
});

test.each([
  ['11x11', { width: 11, height: 11 }],
  ['19x21', { width: 19, height: 21 }],
  ['x', null],
  ['11', null],
  ['1111x2', null],
] as const)('a board of %s', (text, want) => expect(boardSize(text)).toEqual(want));

test('what is no summary is none', () => {
  expect([readSummary('{"games":{}}'), readSummary(undefined)]).toEqual([null, null]);
  expect(readSummary(JSON.stringify(BUSY))).toEqual(BUSY);
});

test('figures are old after a while', () => expect([isOld(1_000, 16_000), isOld(1_000, 16_001)]).toEqual([false, true]));

test('movers are counted by kind, as far as they are known', () => expect([moversIn(BUSY, 'world'), moversIn(BUSY, 'hunt'), moversIn(QUIET, 'world')]).toEqual([204, 1, 0]));

test.each([
  [0, '0'],
  [9_999, (9_999).toLocaleString()],
  [10_000, `${(10_000).toLocaleString()}+`],
] as const)('%i is counted as %s', (value, want) => expect(count(value)).toBe(want));

describe('words', () => {
  test('one and many', () => {
    const one = { ...QUIET, stories: { live: 1, open: 1, players_waiting: 1, seats_open: 1 }, leaderboards: { active: 1, rated_last_minute: 0 } };
    expect(WAYS.map(({ id }) => wayText(id, one))).toEqual(['1 table with a free seat', '', '1 ladder is open', '']);
    expect(WAYS.map(({ id }) => wayText(id, BUSY))).toEqual(['3 tables with a free seat', '204 walk there now', '321 matches rated in the last minute', '']);
    expect(WAYS.map(({ id }) => wayText(id, QUIET))).toEqual(['', '', '', '']);
    expect(wayText('stories', { ...QUIET, stories: { ...QUIET.stories, live: 2 } })).toBe('2 stories being told');
  });

  test('figures say what else is known', () => {
    expect(figures(BUSY).map(({ more }) => more)).toEqual([`12 wait, ${(1_234).toLocaleString()} ended in the last minute`, '5 players wait, 9 seats are free', '1 world on other servers', '1 hunt to join, 4 joined', '2 ladders open']);
    expect(figures(QUIET).map(({ value }) => value)).toEqual(['0', '0', '0', '0', '0']);
  });

  test.each(['ok', 'busy', 'draining', 'degraded'] as const)('%s is told', (health) => expect(healthText({ ...QUIET, health })).not.toBe(''));

  test('why a match is shown', () => {
    const [first] = FEATURED.snakes;
    expect(whyText(FEATURED)).toBe('The highest rated pair on Standard now');
    expect(whyText({ ...FEATURED, leaderboard: null })).toBe('2 snakes, the fullest board now');
    expect(whyText({ ...FEATURED, leaderboard: null, snakes: first ? [first] : [] })).toBe('A snake on its own');
  });
});
