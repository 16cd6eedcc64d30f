// Hunts of the real server by pages alone: two are found a game, and one hunt is played from the lobby to its winner, while its server dies.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { closePages, sharedBrowser } from '../chromium.ts';
import { Program } from '../program.ts';

const program = new Program();
let server: string;
let browser: Browser;
const complaints: string[] = [];

beforeAll(async () => {
  browser = await sharedBrowser();
  server = await program.serve();
});

afterAll(async () => {
  await closePages();
  await program.stop();
});

/** A player with cookies of their own, who is called so. */
async function come(name: string, viewport = { width: 1_000, height: 800 }): Promise<Page> {
  const context = await browser.newContext({ viewport, hasTouch: viewport.width < 500 });
  await context.addInitScript((name) => localStorage.setItem('gauntlet.name', name), name);
  const page = await context.newPage();
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (line) => /Content Security Policy/.test(line.text()) && complaints.push(line.text()));
  await page.goto(`${server}/hunts`);
  return page;
}

const playing = (page: Page) => page.waitForSelector('[data-phase=playing]');
const score = async (page: Page) => Number(await page.getAttribute('[data-score]', 'data-score'));

/** Walks to what lies nearest, again and again, until it has more points than these. */
async function hunt(page: Page, more: number) {
  const walk = page.getByRole('button', { name: 'Walk to the nearest in sight' });
  await expect
    .poll(
      async () => {
        // Between two walks nothing may be in sight: a few steps show more.
        if (await walk.isEnabled()) await walk.click();
        else await page.keyboard.press('KeyD');
        return score(page);
      },
      { interval: 300 },
    )
    .toBeGreaterThan(more);
}

test('two who search are found a game, and only they are let in', async () => {
  const [ann, ben] = [await come('Ann'), await come('Ben')];
  for (const page of [ann, ben]) {
    await page.getByRole('combobox', { name: 'Players' }).selectOption('2');
    await page.getByRole('button', { name: 'Find me a game' }).click();
  }
  await Promise.all([ann, ben].map(playing));
  const world = new URL(ann.url()).searchParams.get('world');
  expect(new URL(ben.url()).searchParams.get('world')).toBe(world);
  await hunt(ann, 0);
  const stranger = await come('Eve');
  await stranger.goto(`${server}/world?world=${world}`);
  await stranger.waitForSelector('[data-phase=refused]');
  await Promise.all([ann, ben, stranger].map((page) => page.context().close()));
});

test('a party gathers by its link, and is found a game together', async () => {
  const ann = await come('Ann');
  await ann.getByRole('combobox', { name: 'Players' }).selectOption('3');
  await ann.getByRole('combobox', { name: 'I come' }).selectOption({ label: 'with 1 friend' });
  await ann.getByRole('button', { name: 'Find me a game' }).click();
  const link = await ann.getByRole('textbox', { name: 'Link for your friends' }).inputValue();
  const ben = await come('Ben');
  await ben.goto(link);
  await ben.getByRole('button', { name: 'Accept' }).click();
  const carl = await come('Carl');
  await carl.getByRole('combobox', { name: 'Players' }).selectOption('3');
  await carl.getByRole('button', { name: 'Find me a game' }).click();
  const all = [ann, ben, carl];
  await Promise.all(all.map(playing));
  expect(new Set(all.map((page) => new URL(page.url()).search)).size).toBe(1);
  await Promise.all(all.map((page) => page.context().close()));
});

test('a hunt from the lobby to its winner, on a desk and a phone, while its server dies', async () => {
  const ann = await come('Ann');
  await ann.getByText('Begin a hunt of your own').click();
  await ann.getByRole('textbox', { name: 'Name' }).fill('harbour');
  await ann.getByRole('combobox', { name: 'Size' }).selectOption('60');
  await ann.getByRole('combobox', { name: 'Rounds' }).selectOption('1');
  await ann.getByRole('combobox', { name: 'Minutes a round' }).selectOption('1');
  await ann.getByRole('button', { name: 'Begin' }).click();
  // The list that she comes from has links to enter other hunts.
  await ann.waitForURL(`${server}/hunts/harbour`);
  await ann.getByRole('link', { name: 'Enter' }).click();
  await playing(ann);
  expect(new URL(ann.url()).searchParams.get('world')).toBe('harbour');
  const ben = await come('Ben', { width: 390, height: 760 });
  await ben.getByRole('link', { name: 'Enter harbour' }).click();
  await playing(ben);
  await hunt(ann, 0);
  const before = await score(ann);

  await program.end('SIGKILL');
  await Promise.all([ann, ben].map((page) => page.waitForSelector('[data-phase=waiting]')));
  await program.serve();
  await Promise.all([ann, ben].map(playing));
  // What was dug and answered is kept.
  await expect.poll(() => score(ann)).toBeGreaterThanOrEqual(before);
  await hunt(ann, before);

  const link = ann.getByRole('link', { name: 'See who won' });
  await link.click().catch(async () => expect.fail(`the hunt did not end on this page: ${await ann.locator('main').innerText()}`));
  await ann.waitForURL(`${server}/hunts/harbour`);
  await ann.locator('ol strong').getByText('Ann').waitFor();
  await ann.getByRole('main').getByRole('link', { name: 'Ann' }).click();
  await ann.getByRole('heading', { name: 'Ann' }).waitFor();
  await ann.goto(`${server}/hunts`);
  await ann.locator('tr.own').getByText('Ann').waitFor();
  expect(complaints).toEqual([]);
});
