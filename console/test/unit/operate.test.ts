import { describe, expect, test } from 'vitest';
import { decidedSince, EVERY_MS, KEPT_MAX, levels, placesOf, rates, type Reading, withReading } from '../../src/operate/history.ts';
import { gameOf, huntOf, idIn, inspected, tableOfState, worldOf } from '../../src/operate/kinds.ts';
import { decisionsOf, readMetrics, sumOf } from '../../src/operate/metrics.ts';
import { chartsOf, SERIES, SPANS } from '../../src/operate/past.ts';
import { changesText, definitionOf, formOf, resultText, wordsOf } from '../../src/operate/policies.ts';
import { bytes, duration, jobText, type KindName, nodesText, span, storyTitle, uptime } from '../../src/operate/words.ts';
import { menuFor } from '../../src/shell/menu.ts';
import { routeOf } from '../../src/shell/routes.ts';
import { ID, inspection, listedGame, metrics, node, others, policy, remembered, stats, table } from '../operate.ts';

describe('metrics', () => {
  const page = readMetrics(metrics(40, 6));
  test.each<[string, Record<string, string>, number | null]>([
    ['gauntlet_matches_running', {}, 340],
    ['gauntlet_http_requests_total', {}, 1_230],
    ['gauntlet_http_requests_total', { status: '4xx' }, 30],
    ['gauntlet_http_requests_total', { status: '5xx' }, null],
    ['nothing_of_it', {}, null],
  ])('%s %j', (name, labels, want) => expect(sumOf(page, name, labels)).toBe(want));
  test('labels with quotes, commas and braces', () =>
    expect(readMetrics('a{b="x\\"y\\\\,}",c="d"} 1e3\nno figure\n# c 1\n').get('a')).toEqual([{ labels: { b: 'x"y\\,}', c: 'd' }, value: 1_000 }]));
  test.each([
    ['search', { allowed: 100, refused: 40, shadow: 0 }],
    ['trial-run', { allowed: 0, refused: 0, shadow: 6 }],
    ['unknown', { allowed: 0, refused: 0, shadow: 0 }],
  ])('what %s decided', (name, want) => expect(decisionsOf(page, name)).toEqual(want));
});

/** At so many seconds, the process up for so long, with so much refused. */
const reading = (atS: number, uptimeS = 1_000 + atS, refused: number | null = 0): Reading => ({ atMs: atS * 1_000, stats: stats({ process: { uptime_s: uptimeS, cpu_s: uptimeS / 2 } }), metrics: refused === null ? null : readMetrics(metrics(refused)), readiness: null });

describe('history', () => {
  test('is bounded, and keeps its order', () => {
    let history: readonly Reading[] = [];
    for (let at = 0; at < KEPT_MAX + 20; at += 1) history = withReading(history, reading(at * 5));
    expect(history).toHaveLength(KEPT_MAX);
    expect(history[0]?.atMs).toBe(20 * EVERY_MS);
    expect(withReading(history, reading(3))).toBe(history);
  });
  test.each<[string, readonly Reading[], readonly (number | null)[]]>([
    ['one reading has no rate', [reading(0)], [null]],
    ['half a core', [reading(0), reading(5), reading(10)], [null, 0.5, 0.5]],
    ['a gap is a place of its own', [reading(0), reading(5), reading(605), reading(610)], [null, 0.5, null, null, 0.5]],
    ['so is a restart', [reading(0), reading(5, 2), reading(10, 7)], [null, null, null, 0.5]],
  ])('%s', (_, history, want) => {
    const places = placesOf(history);
    expect(rates(places, ({ stats }) => stats.process.cpu_s)).toEqual(want);
    expect(levels(places, () => 1).filter((value) => value === null)).toHaveLength(places.length - history.length);
    expect(places.every(({ atS }, at) => at === 0 || atS > (places[at - 1]?.atS ?? 0))).toBe(true);
  });
  test.each<[string, readonly Reading[], number]>([
    ['nothing yet', [], 0],
    ['what came before the page is not counted', [reading(0, 1_000, 40)], 0],
    ['what grew', [reading(0, 1_000, 40), reading(5, 1_005, 43), reading(10, 1_010, 45)], 5],
    ['not over a gap', [reading(0, 1_000, 40), reading(600, 1_600, 90), reading(605, 1_605, 91)], 1],
    ['not over a restart', [reading(0, 1_000, 40), reading(5, 2, 3), reading(10, 7, 4)], 1],
    ['not without metrics', [reading(0, 1_000, 40), reading(5, 1_005, null), reading(10, 1_010, 60)], 0],
  ])('refused: %s', (_, history, want) => expect(decidedSince(history, 'search').refused).toBe(want));
});

describe('the past', () => {
  test('one request has room for all series', () => expect(SERIES.split(',').length).toBeLessThanOrEqual(32));
  test('points begin a step apart, gaps stay, and each line has its own figures', () => {
    const { places, charts } = chartsOf(remembered(SERIES, 10));
    expect(places.slice(0, 3).map((place) => place - (places[0] ?? 0))).toEqual([0, 10, 20]);
    expect(new Date((places[0] ?? 0) * 1_000).toISOString()).toBe(new Date(remembered('turns', 1).from).toISOString());
    expect(charts.map(({ lines }) => lines.length)).toEqual([2, 3, 3, 4, 2, 1, 2, 3]);
    expect(charts[0]?.lines[0]?.values.slice(19, 22)).toEqual([20, null, 22]);
    expect(charts.every(({ lines }) => lines.every(({ values }) => values.length === places.length))).toBe(true);
  });
  test('what the system does not say has no line, and a chart without lines is none', () => {
    const view = remembered(SERIES, 1);
    const without = { ...view, series: view.series.map((series) => (/memory|allocated|open_files/.test(series.name) ? { ...series, values: series.values.map(() => null) } : series)) };
    const { charts } = chartsOf(without);
    expect(charts.map(({ title }) => title)).not.toContain('Memory');
    expect(charts.find(({ title }) => title === 'Sockets')?.lines.map(({ label }) => label)).toEqual(['Clients']);
  });
  test('a server that has just begun has no places', () => expect(chartsOf(remembered(SERIES, 60, 0)).places).toEqual([]));
  test.each(SPANS.map((span) => [span] as const))('%j is asked for again when its next point is there, or later', ({ stepS, everyMs }) => expect(everyMs).toBeGreaterThanOrEqual(stepS * 1_000));
});

describe('what can be ended', () => {
  test.each<[string, KindName, string | null]>([
    [ID, 'tables', ID],
    [`  ${ID.toUpperCase()} `, 'games', ID],
    [`https://play.example/stories/${ID}?game=2`, 'tables', ID],
    ['harbour', 'tables', null],
    ['harbour', 'hunts', 'harbour'],
    ['https://play.example/hunts/harbour?x=1', 'hunts', 'harbour'],
    ['https://play.example/world?world=meadow&at=1,2', 'worlds', 'meadow'],
    ['Not a name', 'worlds', null],
    ['../../admin/x y', 'hunts', null],
    ['', 'hunts', null],
  ])('%j names of %s %j', (text, kind, want) => expect(idIn(text, kind)).toBe(want));
  test.each([
    ['a table that plays', tableOfState(table('vote') as never), false],
    ['a table whose game is over', tableOfState(table('canceled') as never), true],
    ['a table without a game', tableOfState({ ...table(), game: null } as never), true],
    ['a match that runs', gameOf(listedGame(1) as never), false],
    ['a match that is over', gameOf(listedGame(1, { status: 'finished' }) as never), true],
    ['an inspected match', inspected(inspection() as never), false],
    ['a hunt of the server', huntOf({ name: 'hunt' } as never), true],
    ['a hunt of somebody', huntOf({ name: 'harbour' } as never), false],
    ['the plaza', worldOf({ name: 'plaza' } as never), true],
  ])('%s', (_, { endRefusal }, isSpared) => expect(endRefusal !== '').toBe(isSpared));
  test('a match that failed can be played on', () => expect(gameOf(listedGame(1, { status: 'failed' }) as never)).toMatchObject({ canRequeue: true, endRefusal: 'It is over.' }));
  test('where a match is played', () => expect(inspected(inspection() as never).facts.join(', ')).toContain('on 10.0.0.2:4000'));
  test.each([
    ['Once', 'Ann', '“Once”'],
    [null, 'Ann', 'Ann’s table'],
    [null, null, 'A table'],
  ])('the table of %j by %j', (sentence, teller, want) => expect(storyTitle(sentence, teller)).toBe(want));
});

describe('limits', () => {
  test.each<[boolean, object, string]>([
    [true, { remaining: 4 }, 'Allowed; 4 more could be taken now.'],
    [true, {}, 'Allowed: nothing limits it.'],
    [false, { code: 'rate_limited', retry_after_ms: 11_696 }, 'Refused for 11.7 s (rate_limited).'],
    [false, { code: 'cost_exceeds_limit' }, 'Refused: it is more than a window ever holds (cost_exceeds_limit).'],
    [false, { code: 'limiter_full', retry_after_ms: 10_000 }, 'Refused for 10.0 s (limiter_full).'],
  ])('%s %j', (isAllowed, decided, want) => expect(resultText(isAllowed, decided)).toBe(want));
  const part = { name: 'search', limit: 5, window_ms: 60_000, shadow: false };
  test.each<[object, string]>([
    [{ remaining: 4 }, 'allows it; 4 left'],
    [{ retry_after_ms: 1_500 }, 'allows it in 1.5 s'],
    [{}, 'never allows so much at once'],
    [{ shadow: true, retry_after_ms: 1_500 }, 'would refuse it: allows it in 1.5 s'],
  ])('%j', (more, want) => expect(wordsOf({ ...part, ...more })).toBe(want));
  test('a policy that is saved as it was stays what it was', () => {
    const { name: _, source: __, keys: ___, overrides: ____, ...definition } = policy('search');
    expect(definitionOf(formOf(policy('search')))).toEqual(definition);
  });
  test('a new policy begins in shadow', () => expect(formOf(null).shadow).toBe(true));
  test('who confirms a policy reads whether it begins to refuse', () => {
    const before = formOf(policy('search', { shadow: true }));
    expect(changesText(before, { ...before, shadow: false }).join(' ')).toContain('429');
    expect(changesText(before, before).join(' ')).toContain('refuses nothing');
    expect(changesText(before, { ...before, algorithm: 'log' }).join(' ')).toContain('forgotten');
  });
});

describe('words', () => {
  test.each([[0, '0 B'], [999, '999 B'], [66_179_072, '66.2 MB'], [1e9, '1.0 GB']])('%d bytes', (value, want) => expect(bytes(value)).toBe(want));
  test.each([[0.04, '0.04 ms'], [1.26, '1.3 ms'], [480, '480 ms'], [3_210, '3.2 s']])('%d ms', (value, want) => expect(duration(value)).toBe(want));
  test.each([[60_000, '1 min'], [90_000, '90 s'], [500, '500 ms'], [86_400_000, '1 d']])('a window of %d ms', (value, want) => expect(span(value)).toBe(want));
  test.each([[5.2, '5 s'], [65, '1 min'], [7_500, '2 h 5 min'], [93_784, '1 d 2 h']])('up for %d s', (value, want) => expect(uptime(value)).toBe(want));
});

describe('the way to the page', () => {
  test.each([[null, false], ['guest', false], ['player', false], ['operator', true], ['admin', true]])('the menu of %j', (role, want) => expect(menuFor(role, false).some(({ page }) => page === 'operate')).toBe(want));
  test('its address', () => expect(routeOf('/operate').page).toBe('operate'));
});

describe('nodes', () => {
  const gone = node({ is_living: false });
  test.each([
    [[], '0 nodes live.'],
    [[node()], '1 node lives.'],
    [[node(), ...others], '2 nodes live, 1 has gone.'],
    [[gone, gone], '0 nodes live, 2 have gone.'],
  ])('how many', (nodes, want) => expect(nodesText(nodes)).toBe(want));
  test('a job that this page does not know keeps its name', () => expect([jobText('ladders'), jobText('new_job')]).toEqual(['rates ladders', 'new_job']));
});
