// The match viewer as it is built, in Chromium, against a match that the test holds in its hands.
import { readFileSync } from 'node:fs';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { closePages, sharedBrowser } from '../chromium.ts';
import { FakeMatch, ID } from '../match.ts';
import { expectGood, expectGoodInEveryScheme } from '../pages.ts';

let browser: Browser;
let page: Page;
let complaints: string[];
/** What a test broke on purpose shows in the browser's own log. */
const EXPECTED = /Failed to load resource|net::ERR_FAILED|WebSocket connection/;

beforeAll(async () => {
  browser = await sharedBrowser();
});
afterAll(closePages);
beforeEach(() => {
  complaints = [];
});
afterEach(async () => {
  await page.context().close();
  expect(complaints).toEqual([]);
});

async function open(match: FakeMatch, query = '', options: BrowserContextOptions = {}, path = `/games/${ID}`) {
  const context = await browser.newContext({ viewport: { width: 1000, height: 800 }, ...options });
  page = await context.newPage();
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (line) => line.type() === 'error' && !EXPECTED.test(line.text()) && complaints.push(line.text()));
  await match.playInto(page);
  await page.goto(`http://match.test${path}${query}`);
}

const phase = (name: string) => page.waitForSelector(`[data-match=${name}]`);
const turn = async () => Number(await page.locator('[data-turn]').getAttribute('data-turn'));
const atTurn = (wanted: number) => expect.poll(turn).toBe(wanted);

function played(turns: number, options = {}) {
  const match = new FakeMatch(options);
  match.play(turns, true);
  return match;
}

test('a match is accessible, in every scheme', async () => {
  await open(played(40, { snakes: 4 }), '?turn=9', { reducedMotion: 'reduce' });
  await atTurn(9);
  await expectGoodInEveryScheme(page);
  await page.keyboard.press('End');
  await page.getByText('Snake 0 wins').waitFor();
  await expectGoodInEveryScheme(page);
});

test('a match that is over plays from the start, and stops at its end', async () => {
  await open(played(6));
  await atTurn(5);
  await page.getByRole('button', { name: 'Play' }).waitFor();
  expect(await page.locator('[data-seat="1"]').innerText()).toContain('Lost head to head with Snake 0 in turn 5');
});

test('keys step, leap and end; the URL names the turn', async () => {
  await open(played(40), '?turn=20');
  await atTurn(20);
  for (const [key, wanted] of [['ArrowRight', 21], ['ArrowLeft', 20], ['Shift+ArrowRight', 30], ['Shift+ArrowLeft', 20], ['End', 39], ['Home', 0]] as const) {
    await page.keyboard.press(key);
    await atTurn(wanted);
  }
  await page.keyboard.press('ArrowRight');
  await expect.poll(() => new URL(page.url()).search).toBe('?turn=1');
  await page.keyboard.press('+');
  expect(await page.getByLabel('Speed in turns a second').inputValue()).toBe('16');
  await page.keyboard.press('Space');
  await expect.poll(() => new URL(page.url()).search).toBe('');
});

test('the time line is a slider', async () => {
  await open(played(40), '?turn=3');
  await atTurn(3);
  await page.getByRole('slider', { name: 'Turn' }).fill('17');
  await atTurn(17);
});

test('a live match is followed, survives a break, and says how it ended', async () => {
  const match = new FakeMatch();
  match.status = 'running';
  match.play(30);
  await open(match);
  await atTurn(29);
  match.play(3);
  await atTurn(32);
  match.hangUp();
  await page.getByText('The match is interrupted').waitFor();
  await expectGood(page);
  match.play(2);
  await page.getByText('Connected again').waitFor();
  await atTurn(34);
  expect(match.opened).toBe(2);
  match.play(1, true);
  await page.getByText('Snake 0 wins').waitFor();
});

test('a feed that is not opened says why, and begins by itself', async () => {
  const match = new FakeMatch();
  match.status = 'running';
  match.play(3);
  match.shut = { status: 429, json: { code: 'too_many_spectators', detail: 'this address has as many spectators as one address may have: close another one first' } };
  await open(match);
  await page.getByText('This address has as many spectators as one address may have').waitFor();
  await expectGood(page);
  match.shut = null;
  await atTurn(2);
  await page.getByText('Connected again').waitFor();
});

test('a device that comes back to a network trusts no old socket', async () => {
  const match = new FakeMatch();
  match.status = 'running';
  match.play(3);
  await open(match);
  await atTurn(2);
  await page.context().setOffline(true);
  await page.getByText('This device has no network').waitFor();
  await page.context().setOffline(false);
  await expect.poll(() => match.opened).toBe(2);
  match.play(1);
  await atTurn(3);
});

test('who looked back is not torn along by a live match, until they ask for it', async () => {
  const match = new FakeMatch();
  match.status = 'running';
  match.play(10);
  await open(match, '?turn=4');
  await atTurn(4);
  match.play(10);
  await page.getByText('/ 19').waitFor();
  expect(await turn()).toBe(4);
  await page.keyboard.press('l');
  await atTurn(19);
});

test('a match that has not begun waits, and begins by itself', async () => {
  const match = new FakeMatch();
  match.status = 'pending';
  await open(match);
  await phase('waiting');
  await expectGood(page);
  match.play(3);
  await phase('shown');
});

test('a match that is not there leads home', async () => {
  const match = new FakeMatch();
  match.answer = { status: 404, json: { status: 404, title: 'Not Found', code: 'no_such_game', detail: 'there is no such game' } };
  await open(match);
  await phase('missing');
  await expectGood(page);
  expect(await page.getByRole('link', { name: 'Back to the start' }).getAttribute('href')).toBe('/');
});

test('a refusal is told with its code, and tried again', async () => {
  const match = played(5);
  match.answer = { status: 503, json: { status: 503, title: 'Service Unavailable', code: 'overloaded', detail: 'the server has too much to do' } };
  await open(match);
  await phase('refused');
  expect(await page.getByRole('alert').innerText()).toContain('The server has too much to do (overloaded)');
  await expectGood(page);
  match.answer = null;
  await phase('shown');
});

test('without a server the page says so, and goes on when it is back', async () => {
  const match = played(5);
  match.answer = 'none';
  await open(match);
  await page.getByText('The server cannot be reached').waitFor();
  await expectGood(page);
  match.answer = null;
  await phase('shown');
});

test('a device without network is told', async () => {
  await open(played(5), '?turn=2');
  await atTurn(2);
  await page.context().setOffline(true);
  await page.getByText('This device has no network').waitFor();
  await expectGood(page);
  await page.context().setOffline(false);
  await page.getByText('Connected again').waitFor();
});

test('a match without a result says why', async () => {
  const match = new FakeMatch();
  match.play(4);
  match.failure = 'this game was cancelled: it has no result';
  await open(match);
  await page.getByText('this game was cancelled').waitFor();
});

test('what strangers wrote stays text', async () => {
  const name = '<img src=x onerror="document.title=1"><b>bold</b>';
  await open(played(4, { names: [name, 'x'.repeat(400)] }), '?turn=1');
  await atTurn(1);
  expect(await page.locator('[data-seat="0"] h2').innerText()).toBe(name);
  expect(await page.locator('main img, main b b').count()).toBe(0);
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
});

test('a thousand turns of sixteen snakes are shown and reached', async () => {
  await open(played(1_001, { width: 25, height: 25, snakes: 16 }), '?turn=777');
  await atTurn(777);
  await page.keyboard.press('End');
  await atTurn(1_000);
  expect(await page.locator('[data-seat]').count()).toBe(16);
  await expectGood(page);
});

test('less motion: a match that is over waits to be played', async () => {
  await open(played(9), '', { reducedMotion: 'reduce' });
  await phase('shown');
  await page.getByRole('button', { name: 'Play' }).waitFor();
  expect(await turn()).toBe(0);
});

test('a match in a frame has no way around it, and a link to its page', async () => {
  await open(played(9), '?embed&turn=3');
  await atTurn(3);
  expect(await page.getByRole('banner').count()).toBe(0);
  expect(await page.getByRole('link', { name: 'Open at Gauntlet' }).getAttribute('href')).toBe(`/games/${ID}`);
  await expectGood(page);
});

test('a match becomes a GIF in the browser', async () => {
  await open(played(12), '?turn=3');
  await atTurn(3);
  await page.getByRole('button', { name: 'Save as GIF' }).click();
  await expectGood(page);
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save', exact: true }).click()]);
  expect(download.suggestedFilename()).toBe(`match-${ID}.gif`);
  const file = readFileSync(await download.path());
  expect(file.subarray(0, 6).toString('latin1')).toBe('GIF89a');
  // A graphic control extension stands before each picture (GIF89a, section 23).
  expect(file.toString('latin1').split('\x21\xf9\x04').length - 1).toBe(12);
});

test('an address where nothing stands leads home; who is signed in can leave', async () => {
  const match = new FakeMatch();
  match.session = { player: 'p', role: 'guest', name: 'Amber Lynx', is_guest: true, expires_at: null };
  await open(match, '', {}, '/nothing/here');
  await page.getByRole('heading', { name: 'Nothing stands here' }).waitFor();
  await page.getByText('Amber Lynx').waitFor();
  await expectGood(page);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('link', { name: 'Sign in', exact: true }).waitFor();
  await page.keyboard.press('Tab');
  expect(await page.evaluate(() => document.activeElement?.tagName)).not.toBe('BODY');
});
