// A trial by pages alone, with the real program: started, watched while it runs, stopped, read, and its file opened from the disk.
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launch } from '../chromium.ts';
import { expectGood } from '../pages.ts';
import { call, Program } from '../program.ts';

const program = new Program();
const runs = join(program.folder, 'runs');
let server: string;
let browser: Browser;

beforeAll(async () => {
  mkdirSync(runs);
  [server, browser] = await Promise.all([program.serve(['--trials', runs]), launch()]);
});
afterAll(async () => {
  await browser.close();
  await program.stop();
});

test('a trial is started, followed and stopped, and its report opens from the disk', { timeout: 240_000 }, async () => {
  const context = await browser.newContext({ reducedMotion: 'reduce' });
  await context.addCookies([{ name: 'gauntlet_session', value: program.token, url: `${server}/api/`, sameSite: 'Strict', httpOnly: true }]);
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(`${server}/trials`);
  await page.getByRole('heading', { name: 'No run is here yet' }).waitFor();
  await page.getByRole('combobox', { name: 'Scenario' }).selectOption('demo');
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByText(/So far \d+ of \d+ gates hold/).waitFor();
  await page.getByText('create_game: throughput', { exact: false }).first().waitFor();
  await expectGood(page);
  const name = new URL(page.url()).pathname.split('/').at(-1) ?? '';

  // Only one at a time, whoever asks.
  const again = await fetch(`${server}/api/trials/runs`, { method: 'POST', headers: { authorization: `Bearer ${program.token}`, 'content-type': 'application/json' }, body: '{"scenario":"demo"}' });
  expect([again.status, ((await again.json()) as { code: string }).code]).toEqual([409, 'trial_running']);

  await page.getByRole('button', { name: 'Stop it' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Stop it' }).click();
  await page.getByText('the trial was ended before it was over').waitFor();
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
