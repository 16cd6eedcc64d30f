// The pages of trials in Chromium, against a server that the tests play.
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { Schemas } from '../../src/api/client.ts';
import type { ComparisonDocument } from '../../src/report/document.ts';
import { FakeApi, problem } from '../api.ts';
import { expectGood, expectGoodInEveryScheme, Pages } from '../pages.ts';
import { expectDrawn, sampleReport, sampleSweep } from '../report.ts';

const pages = new Pages();
const RUNNING = '20260131-130000-cd34';
const OVER = ['20260131-120000-ab12', '20260131-110000-ab12'] as const;

const run = (name: string, parts: Partial<Schemas['TrialRun']> = {}): Schemas['TrialRun'] => ({
  name, kind: 'run', state: 'over', can_stop: false, verdict: 'passed', scenario: 'demo', summary: 'The leaderboard in small', target: 'http://127.0.0.1:4000',
  started_at: '2026-01-31T12:00:00Z', duration_s: 23.4, runs_made: null, runs_planned: null, unreadable: null, ...parts,
});
const sweep = (name: string, parts: Partial<Schemas['TrialRun']> = {}): Schemas['TrialRun'] => run(name, { kind: 'sweep', scenario: 'leaderboard-sweep', target: null, runs_made: 12, runs_planned: 12, ...parts });
const overview = (parts: Partial<Schemas['Trials']> = {}): Schemas['Trials'] => ({
  scenarios: [
    { name: 'demo', summary: 'The leaderboard in small', has_own_server: true },
    { name: 'limiter-100', summary: 'A hundred checks a second', has_own_server: false },
  ],
  targets: ['http://127.0.0.1:4001'], running: null, failure: null, ...parts,
});
const SESSION = { player: 'p', role: 'operator', name: 'Olga', is_guest: false, expires_at: null, token: null, account: null, has_trials: true };
const COMPARISON: ComparisonDocument = {
  format: 1, title: 'demo', verdicts: ['B is slower than A: create_game latency p99 by 31 %.'], warnings: ['The machines differ.'],
  sections: [{ id: 'figures', title: 'B against A', blocks: [{ kind: 'table', content: { text_columns: 1, name_column: 0, heading: ['create_game', 'A', 'B', 'outcome'], rows: [['latency p99, ms', '40', '52.4', 'higher'].map((text, at) => ({ text, tone: at === 3 ? 'bad' : 'plain', bar: null }))], notes: [] } }] }],
};

function server(rows: readonly Schemas['TrialRun'][] = [run(OVER[0]), run(OVER[1], { verdict: 'failed' })]) {
  const api = new FakeApi();
  api.session = SESSION;
  return api.on('GET /api/trials', { json: overview() }).on('GET /api/trials/runs', { json: rows }).on('GET /api/trials/comparison', { json: COMPARISON });
}

const rows = (page: Page) => page.locator('article');

test('the list and a run can be read, in every scheme', async () => {
  const states = [
    run(RUNNING, { state: 'running', verdict: null, duration_s: null }),
    run(OVER[0]), run(OVER[1], { verdict: 'void' }),
    run('20260131-100000-ab12', { state: 'unreadable', verdict: null, scenario: null, summary: null, target: null, started_at: null, duration_s: null, unreadable: 'run.json is no plain file' }),
  ];
  const api = server(states).on('GET /api/trials/runs/{name}', { json: sampleReport() });
  const page = await pages.open(api, '/trials');
  await rows(page).nth(3).waitFor();
  await expectGoodInEveryScheme(page);
  await page.getByRole('link', { name: 'demo', exact: true }).nth(1).click();
  await expectDrawn(page, 7);
  await expectGoodInEveryScheme(page);
});

test('a sweep can be read, in every scheme', async () => {
  const states = [
    sweep('20260131-150000-ab12', { state: 'running', verdict: null, runs_made: 5 }),
    sweep('20260131-140000-ab12', { state: 'interrupted', verdict: null, runs_made: 5 }),
    sweep('20260131-130000-ab12', { verdict: 'failed' }), sweep('20260131-120000-ab12'), run(OVER[1]),
  ];
  const api = server(states).on('GET /api/trials/runs/{name}', { json: sampleSweep(12, false) });
  const page = await pages.open(api, '/trials');
  await rows(page).nth(4).waitFor();
  const told = await Promise.all([0, 1, 2, 3].map((at) => rows(page).nth(at).locator('.chip, .facts span:first-child').allInnerTexts()));
  expect(told).toEqual([['Running', '5 of 12 runs'], ['Interrupted', '5 of 12 runs'], ['None holds', '12 runs'], ['Best found', '12 runs']]);
  // A sweep is not compared: only the run can be chosen.
  expect(await page.getByRole('checkbox').count()).toBe(1);
  await expectGoodInEveryScheme(page);
  await page.getByRole('link', { name: 'Sweep of leaderboard-sweep' }).nth(3).click();
  await page.getByText('Best: workers=50 pool=55').waitFor();
  await expectGoodInEveryScheme(page);
});

test('a sweep that goes on gets its rows by itself, and its runs are one press away', async () => {
  let made = 0;
  const isOver = () => made === 12;
  const answers = () => ({ json: sampleSweep(made, !isOver()) });
  const api = server().on('GET /api/trials/runs/{name}', answers);
  const page = await pages.open(api, '/trials/20260131-120000-ab12');
  await page.getByText('0 of 12 runs made').waitFor();
  await page.getByText('It goes on').waitFor();
  await expectGood(page);
  made = 7;
  await page.getByText('Best so far: workers=50 pool=55').waitFor();
  await page.getByText('found <b>25</b>').waitFor();
  await expectGood(page);
  made = 12;
  await page.getByText('12 of 12 runs made: 6 combinations, in 2 rounds, all of them complete.').waitFor();
  await expect.poll(() => page.getByText('It goes on').count()).toBe(0);
  await expectGood(page);
  api.on('GET /api/trials/runs/{name}', { json: sampleReport() });
  await page.getByRole('link', { name: '20260131-120300-ab12' }).click();
  await expect.poll(() => new URL(page.url()).pathname).toBe('/trials/20260131-120300-ab12');
  await expectDrawn(page, 7);
});

test('a sweep whose program was killed says what there is, one of a thousand runs can be read', async () => {
  const cut = sampleSweep(7, false);
  const table = cut.sections.at(-1)?.blocks[0];
  if (table?.kind !== 'table') throw new Error('the runs are a table');
  const long = { ...cut, sections: [...cut.sections.slice(0, -1), { id: 'runs', title: 'Runs', blocks: [{ ...table, content: { ...table.content, rows: Array.from({ length: 1_000 }, (_, at) => table.content.rows[at % 7] ?? []) } }] }] };
  const page = await pages.open(server().on('GET /api/trials/runs/{name}', { json: long }), `/trials/${OVER[0]}`);
  await page.getByText('Interrupted', { exact: true }).waitFor();
  expect(await page.getByRole('link', { name: /^20260131-/ }).count()).toBe(1_000);
  await expectGood(page);
});

test('the menu has an entry only where the server shows trials', async () => {
  for (const has_trials of [true, false]) {
    const api = server();
    api.session = { ...SESSION, has_trials };
    const page = await pages.open(api, '/docs');
    await page.getByRole('link', { name: 'Bots', exact: true }).waitFor({ state: 'attached' });
    await expect.poll(() => page.getByRole('link', { name: 'Trials', exact: true }).count()).toBe(has_trials ? 1 : 0);
  }
});

test('a server without a folder says how to get one, a stranger is refused with the code', async () => {
  const off = new FakeApi().on('GET /api/trials', problem(404, 'trials_off', 'this server shows no trials')).on('GET /api/trials/runs', problem(404, 'trials_off', 'off'));
  const page = await pages.open(off, '/trials');
  await page.getByRole('heading', { name: 'This server shows no trials' }).waitFor();
  await expectGood(page);
  const api = new FakeApi().on('GET /api/trials', problem(401, 'token_missing', 'this route needs a token')).on('GET /api/trials/runs', problem(401, 'token_missing', 'no'));
  const refused = await pages.open(api, '/trials');
  await refused.getByText('This route needs a token (token_missing)').waitFor();
  await expectGood(refused);
});

test('an empty folder says what to do', async () => {
  const page = await pages.open(server([]), '/trials');
  await page.getByRole('heading', { name: 'No run is here yet' }).waitFor();
  await expectGood(page);
});

test('a thousand runs come in pages', async () => {
  const all = Array.from({ length: 1_000 }, (_, at) => run(`20260131-${String(999_999 - at)}-ab12`));
  const api = server().on('GET /api/trials/runs', ({ query }) => {
    const from = all.findIndex(({ name }) => name === query.get('after')) + 1;
    const json = all.slice(from, from + 100);
    return { json, ...(from + 100 < all.length && { headers: { link: `</api/trials/runs?limit=100&after=${json.at(-1)?.name}>; rel="next"` } }) };
  });
  const page = await pages.open(api, '/trials');
  for (let shown = 100; shown <= 1_000; shown += 100) {
    await rows(page).nth(shown - 1).waitFor();
    if (shown < 1_000) await page.getByRole('button', { name: 'Show more' }).click();
  }
  await expectGood(page);
});

test('a trial is started, followed while it runs, stopped, and read', async () => {
  let isRunning = false;
  let hasDirectory = false;
  const report = () => ({ ...sampleReport(), id: RUNNING, is_running: isRunning, headline: { ...sampleReport().headline, gate_status: isRunning ? 'So far 2 of 3 gates hold' : 'INTERRUPTED: 2 of 3 gates hold' }, verdict: 'interrupted' as const });
  const api = server()
    .on('GET /api/trials', () => ({ json: overview({ running: isRunning ? RUNNING : null }) }))
    .on('POST /api/trials/runs', () => ((isRunning = true), { status: 202, json: { name: RUNNING } }))
    .on('GET /api/trials/runs/{name}', () => (hasDirectory ? { json: report() } : problem(404, 'no_such_run', 'there is no such run')))
    .on('DELETE /api/trials/runs/{name}', () => ((isRunning = false), { status: 202 }));
  const page = await pages.open(api, '/trials');
  await page.getByRole('combobox', { name: 'Scenario' }).selectOption('demo');
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await expect.poll(() => new URL(page.url()).pathname).toBe(`/trials/${RUNNING}`);
  expect(api.asked.find(({ method }) => method === 'POST')?.body).toEqual({ scenario: 'demo' });
  await page.getByText('Starting …').waitFor();
  await expectGood(page);
  hasDirectory = true;
  await page.getByText('So far 2 of 3 gates hold').waitFor();
  await expectGood(page);
  await page.getByRole('button', { name: 'Stop it' }).click();
  await page.getByRole('dialog').getByText('It ends as with Ctrl-C').waitFor();
  await expectGood(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Stop it' }).click();
  await page.getByText('INTERRUPTED: 2 of 3 gates hold').waitFor();
  await expect.poll(() => page.getByRole('button', { name: 'Stop it' }).count()).toBe(0);
});

test('a scenario without a server of its own goes against a target, and a refusal is told', async () => {
  const api = server().on('POST /api/trials/runs', problem(409, 'trial_running', 'a trial runs already'));
  const page = await pages.open(api, '/trials');
  await page.getByRole('combobox', { name: 'Scenario' }).selectOption('limiter-100');
  expect(await page.getByRole('combobox', { name: 'Against' }).inputValue()).toBe('http://127.0.0.1:4001');
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByText('A trial runs already (trial_running)').waitFor();
  expect(api.asked.find(({ method }) => method === 'POST')?.body).toEqual({ scenario: 'limiter-100', target: 'http://127.0.0.1:4001' });
  await expectGood(page);
});

test('what the last trial said that left no run stands there', async () => {
  const api = server().on('GET /api/trials', { json: overview({ failure: { name: 'x', scenario: 'demo', message: 'no free port' } }) });
  const page = await pages.open(api, '/trials');
  await page.getByText('left no run. It said: no free port').waitFor();
  await expectGood(page);
});

test('two runs are chosen and compared, and the link says which', async () => {
  const api = server();
  const page = await pages.open(api, '/trials');
  await page.getByRole('checkbox', { name: `Compare ${OVER[0]}` }).check();
  await page.getByRole('checkbox', { name: `Compare ${OVER[1]}` }).check();
  await page.getByText('B is slower than A').waitFor();
  await expect.poll(() => new URL(page.url()).searchParams.get('compare')).toBe(OVER.join(','));
  expect(api.asked.find(({ path }) => path === '/api/trials/comparison')?.query.get('second')).toBe(OVER[1]);
  await expectGood(page);
  await page.getByRole('button', { name: 'Close' }).click();
  await expect.poll(() => new URL(page.url()).search).toBe('');
  api.on('GET /api/trials/comparison', problem(409, 'runs_not_comparable', 'these runs cannot be compared: other scenarios'));
  const other = await pages.open(api, `/trials?compare=${OVER.join(',')}`);
  await other.getByText('These runs cannot be compared: other scenarios (runs_not_comparable)').waitFor();
  await expectGood(other);
});

test('a link that compares a sweep says what to compare instead', async () => {
  const api = server().on('GET /api/trials/comparison', problem(409, 'runs_not_comparable', 'these runs cannot be compared: 20260131-120000-ab12 is a sweep: compare two of its runs, which its own page lists'));
  const page = await pages.open(api, `/trials?compare=${OVER.join(',')}`);
  await page.getByText('is a sweep: compare two of its runs, which its own page lists (runs_not_comparable)').waitFor();
  await expectGood(page);
});

test('the time that is looked at stands in the link', async () => {
  const api = server().on('GET /api/trials/runs/{name}', { json: sampleReport() });
  const page = await pages.open(api, `/trials/${OVER[0]}?from=30&to=60`);
  const to = page.getByRole('slider', { name: 'To' });
  await expect.poll(() => to.getAttribute('aria-valuetext')).toBe('1:00');
  await to.focus();
  await page.keyboard.press('ArrowRight');
  await expect.poll(() => new URL(page.url()).searchParams.get('to')).toBe('60.6');
  await page.getByRole('button', { name: 'Whole run' }).click();
  await expect.poll(() => new URL(page.url()).search).toBe('');
});

test('a run that is not there leads back, an outage goes by', async () => {
  const api = server().on('GET /api/trials/runs/{name}', problem(404, 'no_such_run', 'there is no such run'));
  const page = await pages.open(api, `/trials/${OVER[0]}`);
  await page.getByRole('heading', { name: 'There is no such run' }).waitFor();
  await expectGood(page);
  api.isDown = true;
  const other = await pages.open(api, '/trials');
  await other.getByText('The server cannot be reached').first().waitFor();
  await expectGood(other);
  api.isDown = false;
  await rows(other).nth(1).waitFor();
});
