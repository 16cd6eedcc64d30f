// Trials by pages alone, with the real program: started, watched while they run, stopped, read, compared; a report's file opened from the disk; a
// sweep of the command line; the server killed while a trial runs.
import { mkdirSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { closePages, sharedBrowser } from '../chromium.ts';
import { expectGood } from '../pages.ts';
import { call, Program } from '../program.ts';

const program = new Program();
const runs = join(program.folder, 'runs');
const WORDS = ['--trials', runs] as const;
/** A trial of four games that bots play at once. */
const SMALL = ['demo', '--quiet', '--set', 'phase.create.arrivals.batch=4', '--set', 'phase.create.arrivals.times=1', '--out', runs] as const;
let server: string;
let browser: Browser;

beforeAll(async () => {
  mkdirSync(runs);
  [server, browser] = await Promise.all([program.serve(WORDS), sharedBrowser()]);
});
afterAll(async () => {
  await closePages();
  await program.stop();
});

/** An operator's page with the list of trials. */
async function operator(): Promise<Page> {
  const context = await browser.newContext({ reducedMotion: 'reduce' });
  await context.addCookies([{ name: 'gauntlet_session', value: program.token, url: `${server}/api/`, sameSite: 'Strict', httpOnly: true }]);
  const page = await context.newPage();
  await page.goto(`${server}/trials`);
  return page;
}

/** Starts the demo from the list; the name of its run, whose page is open then. */
async function start(page: Page): Promise<string> {
  await page.getByRole('combobox', { name: 'Scenario' }).selectOption('demo');
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.waitForURL(/\/trials\/./);
  return new URL(page.url()).pathname.split('/').at(-1) ?? '';
}

/** Waits until the page of a run shows load. */
const loaded = (page: Page) => page.getByText('create_game: throughput', { exact: false }).first().waitFor();

async function stop(page: Page) {
  await page.getByRole('button', { name: 'Stop it' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Stop it' }).click();
  await page.getByText('the trial was ended before it was over').waitFor();
}

const toList = (page: Page) => page.getByRole('link', { name: 'All trials' }).click();

/** A demo to its end, from the list and back to it: its name, and whether the machine was too busy for it, which makes it void. */
async function finished(page: Page) {
  const name = await start(page);
  const verdict = page.locator('[data-verdict=passed], [data-verdict=failed], [data-verdict=void]');
  await verdict.waitFor();
  const isVoid = (await verdict.getAttribute('data-verdict')) === 'void';
  await toList(page);
  return { name, isVoid };
}

/** Processes of trials: whatever runs in the folder of runs. */
function processes(): readonly string[] {
  const isThere = (id: string) => {
    try {
      return /^\d+$/.test(id) && readlinkSync(`/proc/${id}/cwd`).startsWith(runs);
    } catch {
      return false; // It has ended, or is not ours.
    }
  };
  return readdirSync('/proc').filter(isThere);
}

test('a trial is started, followed and stopped, and its report opens from the disk', async () => {
  const page = await operator();
  await page.getByRole('heading', { name: 'No run is here yet' }).waitFor();
  const name = await start(page);
  await page.getByText(/So far \d+ of \d+ gates hold/).waitFor();
  await loaded(page);
  await expectGood(page);

  // Only one at a time, whichever client asks.
  const again = await fetch(`${server}/api/trials/runs`, { method: 'POST', headers: { authorization: `Bearer ${program.token}`, 'content-type': 'application/json' }, body: '{"scenario":"demo"}' });
  expect([again.status, ((await again.json()) as { code: string }).code]).toEqual([409, 'trial_running']);

  await stop(page);
  await expectGood(page);
  expect(readdirSync(join(runs, name))).toContain('report.html');
  expect((await call(server, program.token, 'GET', '/api/trials'))['running']).toBe(null);

  const offline = await browser.newPage();
  const [requests, complaints]: [string[], string[]] = [[], []];
  offline.on('request', (request) => requests.push(request.url()));
  offline.on('console', (line) => complaints.push(line.text()));
  offline.on('pageerror', (error) => complaints.push(error.message));
  const file = pathToFileURL(join(runs, name, 'report.html')).href;
  await offline.goto(file);
  await offline.locator('[data-chart="shown"]').nth(2).waitFor();
  await expectGood(offline);
  expect([requests, complaints]).toEqual([[file], []]);
});

test('two runs of one scenario are compared, and one that was stopped is no evidence', async () => {
  const page = await operator();
  await page.getByRole('article').first().waitFor();
  const stopped = await start(page);
  await loaded(page);
  await stop(page);
  await toList(page);
  const runs = [await finished(page), await finished(page)];
  const choose = async (name: string) => page.getByRole('checkbox', { name: `Compare ${name}` }).check();
  for (const { name } of runs) await choose(name);
  if (runs.some(({ isVoid }) => isVoid)) {
    await page.getByText(/is void: the lab fell behind its own plan.*runs_not_comparable/).waitFor();
    return;
  }
  await page.getByText(/^(No difference beyond the noise|Nothing can be concluded|B is )/).waitFor();
  const comparison = page.getByRole('region', { name: 'Comparison' });
  for (const { name } of runs) await comparison.getByRole('cell', { name }).waitFor();
  await expectGood(page);
  await choose(stopped);
  await page.getByText(/was interrupted before it was over.*runs_not_comparable/).waitFor();
  await expectGood(page);
});

test('a sweep of the command line is a page, with its runs', async () => {
  await program.run(['sweep', ...SMALL, '--vary', 'think_ms=1,2']);
  const page = await operator();
  await page.getByRole('link', { name: 'Sweep of demo' }).click();
  await page.getByText('2 of 2 runs made: 2 combinations, once each.').waitFor();
  await page.getByRole('rowheader', { name: '1', exact: true }).waitFor();
  await expectGood(page);
  await page.getByRole('link', { name: /^\d{8}-\d{6}-/ }).nth(1).click();
  await loaded(page);
});

test('kill -9 of the server ends its trial: the page waits, comes back, and shows what was recorded', async () => {
  const page = await operator();
  await page.getByRole('article').first().waitFor();
  const name = await start(page);
  await loaded(page);
  // The lab, its server, its bots.
  expect(processes().length).toBeGreaterThanOrEqual(3);
  await program.end('SIGKILL');
  await expect.poll(processes).toEqual([]);
  await page.getByText('The server cannot be reached.').waitFor();
  await expectGood(page);
  await program.serve(WORDS);
  await page.getByText('the trial was ended before it was over').waitFor();
  await loaded(page);
  expect(await page.getByRole('button', { name: 'Stop it' }).count()).toBe(0);
  expect(readdirSync(join(runs, name))).not.toContain('run.json');
  await expectGood(page);

  await toList(page);
  const row = page.getByRole('article').filter({ hasText: name });
  await row.getByText('Interrupted', { exact: true }).waitFor();
  await expectGood(page);
  await start(page);
  await loaded(page);
  await stop(page);
});
