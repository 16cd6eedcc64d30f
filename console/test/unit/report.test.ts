// How a report's document becomes drawings and words.
import { expect, test } from 'vitest';
import { logSplits, runsOf } from '../../src/common/chart.ts';
import type { ChartData, Layer, Unit } from '../../src/report/document.ts';
import { cellsOf, rowsOf, strength } from '../../src/report/heat.ts';
import { inOneUnit, plotOf } from '../../src/report/plot.ts';
import { atAxis, figure, moment, percentile, withUnit } from '../../src/report/units.ts';
import { chosenRuns, timeOf, toggled } from '../../src/trials/choice.ts';
import { embeddable, filled, visible } from '../../plugins/report.ts';

const layer = (parts: Partial<Layer>): Layer => ({ name: 'a', colour: 0, style: 'line', x: [], y: [], low: [], high: [], ...parts });
const chart = (layers: readonly Layer[], log = false, unit: Unit = { kind: 'count', of: '' }): ChartData => {
  const axis = { unit, log, reaches_at_least: 0 };
  return { title: '', caption: '', x: axis, y: axis, layers, bands: [], marks: [], thresholds: [{ y: 512, label: 'all' }], findings: [] };
};

test.each<[string, ChartData, readonly number[], readonly (readonly (number | null | undefined)[])[]]>([
  ['nothing', chart([]), [], []],
  ['one layer as it is, with its gap', chart([layer({ x: [0, 1, 2], y: [5, null, 7] })]), [0, 1, 2], [[5, null, 7]]],
  ['what another has is no gap', chart([layer({ x: [0, 2], y: [5, 7] }), layer({ x: [1], y: [6] })]), [0, 1, 2], [[5, undefined, 7], [undefined, 6, undefined]]],
  ['nothing stands with the lowest on a logarithmic axis', chart([layer({ x: [0, 1, 2], y: [0, 3, 9] })], true), [0, 1, 2], [[3, 3, 9]]],
  ['only nothing has no place there', chart([layer({ x: [0], y: [0] })], true), [0], [[null]]],
  ['the top of a stack is drawn first', chart([layer({ style: 'area', x: [0], y: [2], low: [0], high: [2] }), layer({ style: 'area', x: [0], y: [5], low: [2], high: [5] })]), [0], [[5], [2]]],
])('lines of a chart: %s', (_, of, places, values) => {
  const plot = plotOf(of);
  expect(plot.places).toEqual(places);
  expect(plot.lines.map((line) => line.values)).toEqual(values);
});

test('a part of a stack tells its own height', () => {
  const plot = plotOf(chart([layer({ style: 'bars', x: [1], y: [2], low: [0], high: [2] }), layer({ style: 'bars', x: [1], y: [5], low: [2], high: [5] })]));
  expect(plot.lines.map(({ shown }) => shown)).toEqual([[3], [2]]);
});

test.each([
  [[1_024, 2_048], 'KiB', [1, 2], 0.5],
  [[3 * 1_024 ** 2, null], 'MiB', [3, null], 512 / 1_024 ** 2],
] as const)('bytes %j are written in one unit', (y, name, scaled, threshold) => {
  const of = inOneUnit(chart([layer({ x: [0, 1], y })], false, { kind: 'bytes' }));
  expect([of.y.unit, of.layers[0]?.y, of.thresholds[0]?.y]).toEqual([{ kind: 'number', of: name }, scaled, threshold]);
});

test.each<[Unit, number, string, string]>([
  [{ kind: 'number', of: 'ms' }, 12.34, '12.3 ms', '12.3'],
  [{ kind: 'number', of: '' }, 1_234_567, '1,234,567', '1,234,567'],
  [{ kind: 'count', of: 'games' }, 3, '3', '3'],
  [{ kind: 'bytes' }, 140 * 1_024 ** 2, '140 MiB', '140 MiB'],
  [{ kind: 'time' }, 61, '1:01', '1:01'],
  [{ kind: 'percentile_rank' }, 1_000, 'p99.9', 'p99.9'],
  [{ kind: 'items', of: ['burst 1', 'burst 2'] }, 2, 'burst 2', 'burst 2'],
  [{ kind: 'items', of: ['burst 1'] }, 2, '', ''],
])('a figure of %j', (unit, value, whole, beside) => {
  expect([withUnit(unit, value), atAxis(unit, value)]).toEqual([whole, beside]);
});

test('figures have as many digits as a reader needs', () => {
  expect([0, 0.000_01, 0.012_34, 9.876, 999.4, 1_000.4].map(figure)).toEqual(['0', '1.0e-5', '0.0123', '9.88', '999', '1,000']);
  expect([0, 59.6, 3_600, 3_725].map(moment)).toEqual(['0:00', '1:00', '1:00:00', '1:02:05']);
  expect([2, 10, 100, 200, 1_000, 100_000].map(percentile)).toEqual(['p50', 'p90', 'p99', 'p99.5', 'p99.9', 'p99.999']);
});

test.each([
  [1, 10, [1, 1.5, 2, 3, 5, 7, 10]],
  [15, 1_200, [20, 50, 100, 200, 500, 1_000]],
  [0.01, 1_000_000, [0.01, 0.1, 1, 10, 100, 1_000, 10_000, 100_000, 1_000_000]],
])('marks of a logarithmic axis from %d to %d', (min, max, splits) => {
  expect(logSplits(min, max).map((split) => Number(split.toPrecision(6)))).toEqual(splits);
});

test('edges of means break in gaps and not where only another line has a value', () => {
  expect(runsOf([1, 1, undefined, 1, null, 1, 1], [2, 2, undefined, 2, null, 2, 2])).toEqual([[0, 1, 3], [5, 6]]);
  expect(runsOf([], [])).toEqual([]);
});

test('a heatmap as cells and as rows', () => {
  const heatmap = { title: '', step_s: 2, bounds_ms: [1, 2, 4, 8], columns: [[0, 5, 2, 1], [], [1, 3]] };
  expect(cellsOf(heatmap)).toEqual([{ column: 0, row: 0, count: 5 }, { column: 0, row: 2, count: 1 }, { column: 2, row: 1, count: 3 }]);
  expect(rowsOf(heatmap)).toEqual([{ column: 0, count: 6, fastest: 0, usual: 0, slowest: 2 }, { column: 2, count: 3, fastest: 1, usual: 1, slowest: 1 }]);
  expect([strength(0, 9), strength(1, 9), strength(9, 9), strength(1, 1)]).toEqual([0, 0.18, 1, 1]);
});

test('what is built stands in the template as it is', () => {
  expect(filled('{{style}}|{{report title}}|{{script}}', { style: '{{script}}', script: '$&' })).toBe('{{script}}|{{report title}}|$&');
  expect(embeddable('"</SCRIPT>" + "<!--" + 1<script')).toBe('"\\x3C/SCRIPT>" + "\\x3C!--" + 1<script');
  expect(visible('a\tb\u202ec\n')).toBe('a\\u0009b\\u202ec\n');
});

test.each([
  [null, []],
  ['', []],
  ['a', ['a']],
  ['a,b', ['a', 'b']],
  ['a,a,,b,c', ['a', 'b']],
])('the runs that ?compare=%s names', (query, runs) => expect(chosenRuns(query)).toEqual(runs));

test('a third run takes the place of the older one', () => {
  expect(toggled([], 'a')).toEqual(['a']);
  expect(toggled(['a', 'b'], 'c')).toEqual(['b', 'c']);
  expect(toggled(['a', 'b'], 'a')).toEqual(['b']);
});

test.each<[string | null, string | null, object | null]>([
  [null, null, null],
  ['0', '10.5', { from: 0, to: 10.5 }],
  ['10', '5', null],
  ['-1', '5', null],
  ['x', '5', null],
])('the time from %s to %s', (from, to, time) => expect(timeOf(from, to)).toEqual(time));
