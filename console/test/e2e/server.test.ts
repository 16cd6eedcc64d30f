// Two people in one world of the real server, each in a browser of their own.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { closePages, sharedBrowser } from '../chromium.ts';

const PROGRAM = process.env['CONSOLE_SERVER_BIN'] ?? join(import.meta.dirname, '../../../target/debug/gauntlet');

let browser: Browser;
let server: ChildProcess;
let address: string;
const folder = mkdtempSync(join(tmpdir(), 'gauntlet-console-'));

beforeAll(async () => {
  if (!existsSync(PROGRAM)) {
    throw new Error(`There is no ${PROGRAM}: build it (cargo build -p gauntlet), or name the program in CONSOLE_SERVER_BIN.`);
  }
  browser = await sharedBrowser();
  await start(0);
});

afterAll(async () => {
  await closePages();
  await stop();
  rmSync(folder, { recursive: true, force: true });
});

async function start(port: number) {
  const words = ['serve', '--port', `${port}`, '--data', join(folder, 'games.db'), '--log-level', 'warn'];
  server = spawn(PROGRAM, words, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  if (!server.stdout) throw new Error('the server has no output');
  const ended = once(server, 'exit').then(() => Promise.reject(new Error('the server did not start: see what it said')));
  const [line] = (await Promise.race([once(createInterface(server.stdout), 'line'), ended])) as [string];
  ended.catch(() => {});
  address = /http:\/\/[^ ]+/.exec(line)?.[0] ?? '';
}

async function stop() {
  if (!server || server.exitCode !== null) return;
  server.kill('SIGTERM');
  await once(server, 'exit');
}

/** A visitor with cookies of their own. */
async function come(complaints: string[]): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 900, height: 700 } });
  const page = await context.newPage();
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (line) => /Content Security Policy/.test(line.text()) && complaints.push(line.text()));
  await page.goto(`${address}/world?world=plaza&at=100,100`);
  await page.waitForSelector('[data-phase=playing]');
  return page;
}

/** Whom the page sees, by name and cell: what it draws from. */
const seen = (page: Page) => page.locator('[data-seen]').getAttribute('data-seen');
const cell = (page: Page) => page.locator('[data-cell]').getAttribute('data-cell');

test('two browsers see each other move, and find each other again after a restart', async () => {
  const complaints: string[] = [];
  const [ada, ben] = [await come(complaints), await come(complaints)];
  await expect.poll(() => seen(ada)).toContain(await cell(ben));
  await expect.poll(() => seen(ben)).toContain(await cell(ada));
  for (const [mover, viewer] of [[ada, ben], [ben, ada]] as const) {
    const before = await cell(mover);
    for (const key of ['ArrowDown', 'ArrowRight', 'ArrowDown', 'ArrowRight']) await mover.keyboard.press(key, { delay: 160 });
    expect(await cell(mover)).not.toBe(before);
    await expect.poll(() => seen(viewer)).toContain(await cell(mover));
  }
  const port = Number(new URL(address).port);
  await stop();
  await ada.waitForSelector('[data-phase=waiting]');
  await start(port);
  await Promise.all([ada, ben].map((page) => page.waitForSelector('[data-phase=playing]')));
  await expect.poll(() => seen(ben)).toContain(await cell(ada));
  expect(complaints).toEqual([]);
});

// A first visitor has no session, icon or anything else yet: that is not worth a line in the browser's console.
for (const path of ['/', '/world', '/world?world=plaza', '/healthz']) {
  test(`a first visit to ${path} logs nothing`, async () => {
    const complaints: string[] = [];
    const context = await browser.newContext();
    const page = await context.newPage();
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (line) => ['error', 'warning'].includes(line.type()) && complaints.push(`${line.text()} ${line.location().url}`));
    page.on('response', (answer) => answer.status() >= 400 && complaints.push(`${answer.status()} ${answer.url()}`));
    await page.goto(`${address}${path}`);
    if (path.startsWith('/world')) await page.waitForSelector('[data-phase=playing]');
    // Its feed stays open, so that this page's network is never idle.
    if (path === '/') await page.waitForSelector('[data-home=ready]');
    else await page.waitForLoadState('networkidle');
    // Browsers without a window ask for no icon by themselves.
    const icon = await page.request.get(`${address}/favicon.ico`);
    expect([icon.status(), icon.headers()['content-type']]).toEqual([200, 'image/svg+xml']);
    expect(complaints).toEqual([]);
    await context.close();
  });
}

test('the home page follows what goes on, and comes back after a restart', async () => {
  const complaints: string[] = [];
  const context = await browser.newContext();
  const page = await context.newPage();
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (line) => /Content Security Policy/.test(line.text()) && complaints.push(line.text()));
  await page.goto(`${address}/`);
  await page.getByText('The boards are asleep').waitFor();
  await page.locator('[data-health=ok]').waitFor();
  const guest = await page.request.post(`${address}/api/stories/guests`, { data: { name: 'Ann' }, headers: { 'x-requested-with': 'test' } });
  const { token } = (await guest.json()) as { token: string };
  const game = await page.request.post(`${address}/api/stories/games`, { data: {}, headers: { authorization: `Bearer ${token}` } });
  expect(game.status()).toBe(201);
  await page.locator('[data-way=stories] >> text=1 table with a free seat').waitFor();
  const port = Number(new URL(address).port);
  await stop();
  await page.getByText('The server cannot be reached').waitFor();
  await start(port);
  await page.getByText('Connected again').waitFor();
  await page.locator('[data-way=stories] >> text=1 table with a free seat').waitFor();
  expect(complaints).toEqual([]);
  await context.close();
});

test('one document for every page: 404 where nothing stands, compressed, framed only where a match is embedded', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const policies: string[] = [];
  const id = '00000000-0000-0000-0000-000000000001';
  for (const [path, status] of [['/world', 200], ['/nothing', 404], ['/games/1', 404], [`/games/${id}`, 200], [`/games/${id}?embed`, 200]] as const) {
    const answer = await page.goto(`${address}${path}`);
    expect([path, answer?.status()]).toEqual([path, status]);
    expect(answer?.headers()['content-type']).toContain('text/html');
    policies.push(/frame-ancestors (.*)$/.exec(answer?.headers()['content-security-policy'] ?? '')?.[1] ?? '');
  }
  expect(policies).toEqual(["'none'", "'none'", "'none'", "'none'", '*']);
  await page.getByRole('heading', { name: 'There is no such match' }).waitFor();
  const program = await page.request.get(`${address}/nothing`, { headers: { accept: 'application/json' } });
  expect([program.status(), program.headers()['content-type']]).toEqual([404, 'application/problem+json']);
  const script = await page.locator('script').getAttribute('src');
  const encodings: (string | undefined)[] = [];
  for (const accepted of ['br', 'identity']) {
    const file = await page.request.get(`${address}${script}`, { headers: { 'accept-encoding': accepted } });
    encodings.push(file.headers()['content-encoding']);
  }
  expect(encodings).toEqual(['br', undefined]);
  await context.close();
});
