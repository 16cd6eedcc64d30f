// A report of every kind of block, for tests of its page; and report.html of it, filled as the lab fills it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import type { Axis, Block, Cell, ChartData, Layer, ReportDocument, SweepDocument, Tone } from '../src/report/document.ts';

const TEMPLATE = join(import.meta.dirname, '..', 'dist', 'report', 'report.html');
const SECONDS = 120;

const cell = (text: string, tone: Tone = 'plain', bar: number | null = null): Cell => ({ text, tone, bar });
const axis = (unit: Axis['unit'], log = false, reaches_at_least = 0): Axis => ({ unit, log, reaches_at_least });
const TIME = axis({ kind: 'time' }, false, SECONDS);

/** A wave over the run, with a hole from the 60th to the 70th second. */
function layer(name: string, colour: number, style: Layer['style'] = 'line', size = 40): Layer {
  const x = Array.from({ length: SECONDS }, (_, second) => second).filter((second) => second < 60 || second >= 70);
  const y = x.map((second) => Math.round((size + 20 * Math.sin(second / 9)) * 100) / 100);
  const at = x.indexOf(70);
  const holed = <Value>(values: readonly Value[], hole: Value) => [...values.slice(0, at), hole, ...values.slice(at)];
  return { name, colour, style, x: holed(x, 65), y: holed<number | null>(y, null), low: holed<number | null>(y.map((value) => value * 0.8), null), high: holed<number | null>(y.map((value) => value * 1.3), null) };
}

const flat = (name: string, colour: number, style: Layer['style'], points: readonly (readonly [number, number])[]): Layer => ({ name, colour, style, x: points.map(([x]) => x), y: points.map(([, y]) => y), low: [], high: [] });

function chart(title: string, parts: Partial<ChartData>): Block {
  const whole: ChartData = { title, caption: '', x: TIME, y: axis({ kind: 'number', of: 'ms' }), layers: [], bands: [], marks: [], thresholds: [], findings: [], ...parts };
  return { kind: 'chart', content: whole };
}

const stack = (name: string, colour: number, from: number, to: number): Layer => {
  const xs = Array.from({ length: SECONDS }, (_, second) => second);
  return { name, colour, style: 'area', x: xs, y: xs.map((x) => to * x), low: xs.map((x) => from * x), high: xs.map((x) => to * x) };
};

const bar = (name: string, colour: number, from: number, to: number): Layer => ({ name, colour, style: 'bars', x: [1, 2, 3], y: [to, to, to], low: [from, from, from], high: [to, to, to] });

const FINDING = 'The pool of connections was used up: from 0:40 on requests waited 1.2 s for one.';

export function sampleReport(): ReportDocument {
  const bands = [{ from: 0, to: 60, label: 'burst 1' }, { from: 70, to: SECONDS, label: 'burst 2' }];
  const gates = ['ok', 'FAIL', 'void'].map((text, at) => [cell(text, (['good', 'bad', 'doubtful'] as const)[at]), cell(`create.latency_ms.p${99 - at}`), cell('< 50'), cell('61.2'), cell('122 %')]);
  return {
    format: 1,
    kind: 'run',
    id: '20260131-120000-ab12',
    title: 'sample',
    summary: 'A service that takes jobs <b>and more</b>',
    verdict: 'failed',
    is_running: false,
    target: 'http://127.0.0.1:4000',
    started_at: '2026-01-31T12:00:00Z',
    duration_s: 123.4,
    program: '0.1.0 (abc)',
    headline: {
      amount: { value: '2,412', label: 'jobs finished a minute', sentence: 'job: 6,497 of 6,501 finished at 2,412 a minute' },
      timing: { value: '49.5 s', label: 'until done, p99', sentence: 'job: done in p99 49.5 s, p50 22.1 s' },
      total: 'total: 6,501 arrivals, 6,497 ok, 3 errors, 1 denied',
      gate_status: 'FAILED: 1 of 3 gates hold',
    },
    failing: ['create.latency_ms.p98 < 50: found 61.2'],
    findings_title: 'What broke',
    findings: [FINDING],
    sections: [
      { id: 'gates', title: 'Gates', blocks: [{ kind: 'table', content: { text_columns: 4, name_column: 1, heading: ['', 'gate', 'limit', 'value', 'used'], rows: gates, notes: ['A value with * is the highest of too few.'] } }] },
      {
        id: 'requests',
        title: 'Requests',
        blocks: [
          { kind: 'text', content: 'Latency counts from the intended moment.' },
          chart('create: latency', { y: axis({ kind: 'number', of: 'ms' }, true), layers: [layer('latency p99', 0), layer('latency p50', 0, 'dashed', 25)], bands, marks: [{ x: 40, label: 'kill server', is_fault: true }], thresholds: [{ y: 50, label: 'gate: p99 < 50' }], findings: [FINDING], caption: 'Where latency leaves service time, requests waited.' }),
          chart('create: throughput', { y: axis({ kind: 'number', of: 'a second' }), layers: [layer('ok', 2), layer('errors', 1, 'line', 20)], bands }),
          { kind: 'heatmap', content: { title: 'create: latency, second by second', step_s: 1, bounds_ms: [10, 13.3, 17.8, 23.7, 31.6, 42.2, 56.2], columns: Array.from({ length: SECONDS }, (_, second) => (second >= 60 && second < 70 ? [] : [second % 3, 40, 3 + (second % 2), 9])) } },
          chart('create: latency by percentile', { x: axis({ kind: 'percentile_rank' }, true), y: axis({ kind: 'number', of: 'ms' }, true), layers: [flat('latency', 0, 'line', [[2, 20], [10, 30], [100, 61], [1_000, 95]])] }),
          chart('Throughput against concurrency', { x: axis({ kind: 'count', of: 'clients' }), y: axis({ kind: 'number', of: 'ok a second' }), layers: [flat('level', 0, 'points', [[1, 90], [2, 170], [4, 300], [8, 380]]), flat('Universal Scalability Law', 3, 'fitted', [[1, 92], [2, 172], [4, 295], [8, 390]])], marks: [{ x: 4, label: 'knee', is_fault: false }] }),
        ],
      },
      { id: 'load-steps', title: 'Load step by load step', blocks: [chart('How every load step ended', { x: axis({ kind: 'items', of: ['burst 1', 'burst 2', 'burst 3'] }), y: axis({ kind: 'count', of: 'requests' }), layers: [bar('ok', 2, 0, 90), bar('errors', 1, 90, 100)] })] },
      { id: 'work-job', title: 'Work: job', blocks: [chart('job: how the work drained', { y: axis({ kind: 'count', of: 'work items' }), layers: [stack('finished', 2, 0, 40), stack('running', 0, 40, 50)] }), { kind: 'table', content: { text_columns: 1, name_column: 1, heading: ['', 'time', 'finished'], rows: [[cell('###', 'plain', 40), cell('0:30'), cell('1,200')]], notes: [] } }] },
      { id: 'findings', title: 'What the figures say', blocks: [{ kind: 'heading', content: 'Pool starved' }, { kind: 'text', content: FINDING }, { kind: 'list', content: [{ text: 'Refuted by: a pool that is never empty', quoted: null }, { text: 'create: 3 x status 500:', quoted: '</script><script>alert(1)</script>' }] }] },
      { id: 'processes', title: 'Processes', blocks: [chart('Memory', { y: axis({ kind: 'bytes' }), layers: [layer('server RSS', 0, 'line', 140 * 1_024 * 1_024)] })] },
    ],
  };
}

/** A sweep of six combinations in two rounds, of which this many of the runs are made. */
export function sampleSweep(made: number, isRunning: boolean): SweepDocument {
  const combinations = ['25', '50', '200'].flatMap((workers) => ['30', '55'].map((pool) => [workers, pool] as const));
  const name = (at: number) => `20260131-12${String(at + 1).padStart(2, '0')}00-ab12`;
  const runs = Array.from({ length: Math.min(12, made + (isRunning ? 1 : 0)) }, (_, at) => {
    const [workers, pool] = combinations[at % 6] ?? ['', ''];
    const verdict = at >= made ? cell('goes on') : pool === '30' ? cell('failed', 'bad') : cell('passed', 'good');
    return [{ ...cell(name(at)), run: name(at) }, cell(`workers=${workers} pool=${pool}`), verdict, cell(String(Math.floor(at / 6) + 1)), cell(at < made ? '102' : '-')];
  });
  const rows = combinations.map(([workers, pool], at) => {
    const count = Math.floor(made / 6) + (at < made % 6 ? 1 : 0);
    const figures = count === 0 ? ['-', '-', '-'] : ['57.3 (57 .. 57.9)', '40 (39 .. 41)', '120.0 (118.0 .. 121.5)'];
    const gates = count === 0 ? cell('-') : pool === '30' ? cell(`hold in 0 of ${count}`, 'bad') : cell('hold', 'good');
    const best = count === 0 || pool === '30' ? cell('-') : workers === '50' ? cell('best', 'good') : workers === '200' ? cell('as good', 'good') : cell('behind');
    return [cell(workers), cell(pool), cell(figures[0] ?? ''), cell(String(count)), gates, cell(figures[1] ?? ''), cell(figures[2] ?? ''), best];
  });
  const isOver = made === 12;
  const failing = [{ text: 'workers=25 pool=30: game.stuck = 0: found <b>25</b>', quoted: null }];
  return {
    format: 1,
    kind: 'sweep',
    id: '20260131-120000-ab12',
    title: 'leaderboard-sweep',
    summary: 'The leaderboard in small, with the server’s settings as variables',
    verdict: isRunning ? null : isOver ? 'passed' : 'interrupted',
    is_running: isRunning,
    target: null,
    started_at: '2026-01-31T12:00:00Z',
    duration_s: 93.5,
    program: '0.1.0 (abc)',
    sentences: [`Best${isRunning ? ' so far' : ''}: workers=50 pool=55, with game finished, /min 103; it cost 40 s of the target's CPU and 120.0 MiB of its memory at the peak.`, 'As good within the noise, and no cheaper: workers=200 pool=55.'],
    progress: `${made} of 12 runs made: 6 combinations, in 2 rounds, ${isOver ? 'all' : Math.floor(made / 6)} of them complete.`,
    sections: [
      { id: 'combinations', title: 'Combinations', blocks: [{ kind: 'table', content: { text_columns: 2, name_column: 0, heading: ['workers', 'pool', 'game finished, /min', 'runs', 'gates', 'CPU, s', 'RSS peak, MiB', 'against the best'], rows, notes: [] } }] },
      { id: 'failing', title: 'What did not hold', blocks: [{ kind: 'list', content: failing }] },
      { id: 'runs', title: 'Runs', blocks: [{ kind: 'table', content: { text_columns: 3, name_column: 0, heading: ['run', 'combination', 'verdict', 'round', 'game finished, /min'], rows: runs, notes: [] } }] },
    ],
  };
}

/** Waits until so many charts are drawn, and no more are there. */
export async function expectDrawn(page: Page, count: number) {
  await page.locator('[data-chart="shown"]').nth(count - 1).waitFor();
  expect(await page.locator('[data-chart]').count()).toBe(count);
}

/** report.html of a run, as the lab writes it. */
export function reportPage(report: ReportDocument): string {
  const data = JSON.stringify(report).replace(/[<>&]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return readFileSync(TEMPLATE, 'utf8')
    .replace('{{report title}}', () => 'sample: failed · Gauntlet')
    .replace('{{report without scripts}}', () => '<header><h1>sample</h1></header><main><section id="gates"><h2>Gates</h2></section></main>')
    .replace('{{report document}}', () => data);
}
