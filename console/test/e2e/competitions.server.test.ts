// Ladders, tournaments and duels of the real server with real bots, by pages alone: a ladder that plays, a tournament from its creation to its
// champion watched live, a duel until its verdict.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { closePages, sharedBrowser } from '../chromium.ts';
import { call, Program } from '../program.ts';

const program = new Program();
let browser: Browser;
let server: string;
let bots: string;
const complaints: string[] = [];

beforeAll(async () => {
  browser = await sharedBrowser();
  [server, bots] = await Promise.all([program.serve(), program.bots()]);
  for (const [name, path] of [['Flood', 'flood'], ['Hungry', 'hungry'], ['Random', 'random'], ['Seven', 'hungry/seed-7'], ['Eight', 'flood/seed-8']]) {
    await call(server, program.token, 'POST', '/api/snakes', { name, url: `${bots}/${path}`, is_public: true });
  }
});
afterAll(async () => {
  await closePages();
  await program.stop();
});

/** A page of a browser that is signed in. */
async function open(path: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1_200, height: 900 }, reducedMotion: 'reduce' });
  const signed = await context.request.post(`${server}/api/session`, { headers: { authorization: `Bearer ${program.token}` } });
  expect(signed.status()).toBe(200);
  const page = await context.newPage();
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (line) => line.type() === 'error' && complaints.push(line.text()));
  await page.goto(`${server}${path}`);
  return page;
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const named = (page: Page) => page.getByRole('textbox', { name: 'Name', exact: true });

test('a ladder is made, entered, and plays while one looks', async () => {
  const page = await open('/ladders');
  await page.getByRole('link', { name: 'Standard 11x11' }).waitFor();
  await button(page, 'New ladder').click();
  await named(page).fill('Two of mine');
  await page.getByLabel('Bots in a game').fill('2');
  await page.getByRole('combobox', { name: 'Board', exact: true }).fill('7x7');
  await page.getByLabel('Everyone may see and enter it').uncheck();
  await button(page, 'Create the ladder').click();
  await page.getByText('No snake has entered; a game needs 2.').waitFor();
  await button(page, 'Enter or take out a bot').click();
  for (const bot of ['Flood', 'Hungry']) {
    await button(page, `Enter ${bot}`).click();
    await button(page, `Take out ${bot}`).waitFor();
  }
  await page.keyboard.press('Escape');
  await page.getByText(/[1-9]\d* games? played/).waitFor();
  await button(page, 'Flood').click();
  await page.getByRole('link', { name: /^Watch game / }).first().waitFor();
  await page.keyboard.press('Escape');
  await button(page, 'End this ladder').click();
  await button(page, 'End it for good').click();
  await page.getByText('This leaderboard has ended.').waitFor();
  await page.context().close();
  expect(complaints).toEqual([]);
});

test('a tournament is made, filled, started, and watched to its champion', async () => {
  const page = await open('/tournaments');
  await button(page, 'New tournament').click();
  await named(page).fill('Cup');
  await page.getByRole('combobox', { name: 'Format' }).selectOption('Double elimination');
  await page.getByRole('combobox', { name: 'Games of a match' }).selectOption('one game');
  await page.getByRole('combobox', { name: 'Board', exact: true }).fill('7x7');
  await button(page, 'Create the tournament').click();
  await page.getByText('No bot has entered yet.').waitFor();
  // A stranger looks on, without an account.
  const stranger = await (await browser.newContext()).newPage();
  await stranger.goto(page.url());
  await stranger.getByText('No bot has entered yet.').waitFor();
  await button(page, 'Enter a bot').click();
  for (const bot of ['Flood', 'Hungry', 'Random', 'Seven', 'Eight']) {
    await page.getByRole('combobox', { name: 'Bot', exact: true }).selectOption(bot);
    await button(page, 'Enter it').click();
    await page.getByText(`${bot} is entered.`).waitFor();
  }
  await page.keyboard.press('Escape');
  await stranger.locator('ul[data-count="5"]').waitFor();
  await button(page, 'Start now').click();
  await button(page, 'Start it').click();
  await stranger.locator('[data-bracket=winners]').waitFor();
  await Promise.all([page, stranger].map((each) => each.getByText('Champion', { exact: true }).waitFor()));
  const champion = await page.locator('.champion span').innerText();
  expect(await stranger.locator('.champion span').innerText()).toBe(champion);
  await stranger.getByRole('link', { name: 'What happened' }).click();
  await stranger.getByText(/^The tournament is over: .* has won\./).waitFor();
  expect(await stranger.getByText('A game of').count()).toBeGreaterThan(0);
  await stranger.context().close();
  await page.context().close();
  expect(complaints).toEqual([]);
});

test('a duel narrows to its verdict', async () => {
  const page = await open('/duels?new=');
  await page.getByRole('combobox', { name: 'Baseline: what plays today' }).selectOption('Random');
  await page.getByRole('combobox', { name: 'Candidate: the new one' }).selectOption('Another one …');
  await page.getByLabel('Its id or URL').fill(`${bots}/hungry/seed-9`);
  await page.getByLabel('What to call it').fill('newer');
  await page.getByLabel('H1: stronger by, in Elo').fill('200');
  await page.getByRole('combobox', { name: 'Board', exact: true }).fill('7x7');
  await button(page, 'Begin').click();
  await page.getByRole('heading', { name: 'Random against newer' }).waitFor();
  await page.locator('[data-chart=shown]').waitFor();
  await page.locator('.known').waitFor();
  expect(await page.locator('.known').innerText()).toMatch(/newer is (not )?better|Undecided/);
  // A stranger who may not see it is told that there is none.
  const stranger = await (await browser.newContext()).newPage();
  await stranger.goto(page.url());
  await stranger.getByText('Nothing is here').waitFor();
  await stranger.context().close();
  await page.context().close();
  expect(complaints).toEqual([]);
});
