// The page as it is built, in Chromium, against a world that the test holds in its hands.
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { keyOf } from '../../src/world/grid.ts';
import { launch } from '../chromium.ts';
import { dice, FakeWorld } from '../fake.ts';

let browser: Browser;
let world: FakeWorld;
let page: Page;
const complaints: string[] = [];

beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

beforeEach(async () => {
  complaints.length = 0;
  world = new FakeWorld(dice(3), 0);
  page = await browser.newPage({ viewport: { width: 900, height: 700 } });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (line) => line.type() === 'error' && complaints.push(line.text()));
});
afterEach(async () => {
  world.close();
  await page.close();
});

async function open() {
  await world.playInto(page);
  await page.goto('http://world.test/world');
  await phase('playing');
  // Chromium drops keys that come before it has shown a page for the first time.
  await page.evaluate(() => new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown))));
}

const phase = (name: string) => page.waitForSelector(`[data-phase=${name}]`);
const own = () => [...world.fellows.values()].find((fellow) => fellow.socket);

/** Waits until the world has it so. */
const until = (holds: () => boolean) => expect.poll(holds, { timeout: 10_000, interval: 20 }).toBe(true);

test('arrows walk, and other keys do nothing', async () => {
  await open();
  const moves = () => world.said.filter((message) => message['move']);
  for (const key of ['a', 'Enter', ' ', 'Escape', 'PageDown', 'w']) await page.keyboard.press(key);
  await page.keyboard.press('ArrowRight');
  await until(() => own()?.x === 501);
  expect(moves()).toEqual([{ move: { seq: 1, step: 'e' } }]);
  expect(complaints).toEqual([]);
});

test('the own step is shown before the server answers, and taken back when it refuses', async () => {
  await open();
  world.isDeaf = true;
  await page.keyboard.press('ArrowRight');
  await page.waitForSelector('[data-cell="501,500"]');
  expect(own()?.x).toBe(500);
  const { socket } = own() ?? {};
  socket?.send(JSON.stringify({ refused: { seq: 1, code: 'occupied' } }));
  await page.waitForSelector('[data-cell="500,500"]');
});

test('a held arrow walks on, and stops when it is let go', async () => {
  await open();
  await page.keyboard.down('ArrowDown');
  await until(() => (own()?.y ?? 0) >= 504);
  await page.keyboard.up('ArrowDown');
  await page.waitForSelector(`dd >> text="500, ${own()?.y}"`);
  const steps = world.said.filter((message) => message['move']).map((message) => message['move']?.['step']);
  expect(new Set(steps)).toEqual(new Set(['s']));
});

test('a finger walks towards where it points', async () => {
  await open();
  const box = await page.locator('canvas').first().boundingBox();
  if (!box) throw new Error('there is no stage');
  await page.mouse.move(box.x + box.width / 2 - 200, box.y + box.height / 2 - 200);
  await page.mouse.down();
  await until(() => (own()?.x ?? 500) <= 498);
  await page.mouse.up();
  expect(own()?.y).toBe(own()?.x);
});

test('a step into a tree is not even asked for', async () => {
  world.trees.add(keyOf({ x: 501, y: 500 }));
  await open();
  await until(() => own()?.isFresh === false);
  await page.waitForSelector('dd >> text="500, 500"');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowDown');
  await until(() => own()?.y === 501);
  expect(own()?.x).toBe(500);
});

test('a lost connection comes back by itself, as the same mover', async () => {
  await open();
  await page.keyboard.press('ArrowUp');
  await until(() => own()?.y === 499);
  const id = own()?.id;
  world.hangUp();
  await phase('waiting');
  await phase('playing');
  expect([own()?.id, world.fellows.size]).toEqual([id, 1]);
  await page.keyboard.press('ArrowUp');
  await until(() => own()?.y === 498);
});

test('it goes to the server that has the world, by itself', async () => {
  world.refusal = { code: 'elsewhere', reason: 'Another server has this world.', address: 'other.test:4001' };
  await world.playInto(page);
  await page.goto('http://world.test/world?world=hunt');
  await page.waitForURL('http://other.test:4001/world?world=hunt');
});

test('two servers that name each other do not send anybody in circles', async () => {
  world.refusal = { code: 'elsewhere', reason: 'Another server has this world.', address: 'other.test:4001' };
  world.otherRefusal = { code: 'elsewhere', reason: 'Another server has this world.', address: 'world.test' };
  await world.playInto(page);
  await page.goto('http://world.test/world?world=hunt');
  await page.waitForSelector('[role=alert] >> text="Try again"');
  expect(page.url()).toBe('http://world.test/world?world=hunt');
  expect(await page.getAttribute('[role=alert] a', 'href')).toBe('http://other.test:4001/world?world=hunt');
  world.refusal = null;
  await page.click('[role=alert] button');
  await phase('playing');
});

test('the list of worlds names the one that is played in, however long it is', async () => {
  world.others = ['harbour', 'pond'];
  await open();
  const names = await page.locator('select option').allTextContents();
  expect(names.map((name) => name.trim())).toEqual(['plaza', 'harbour', 'pond']);
  expect(await page.locator('select option:checked').textContent()).toContain('plaza');
});

test('it says why it was refused, and where else one can go', async () => {
  world.refusal = { code: 'over', reason: 'This hunt is over.' };
  await world.playInto(page);
  await page.goto('http://world.test/world?world=harbour');
  await phase('refused');
  expect(await page.textContent('[role=alert]')).toContain('This hunt is over.');
  expect(await page.getAttribute('[role=alert] a', 'href')).toBe('/world?world=plaza');
});

test('a server that lets nobody in is asked why, and left alone as long as it wants', async () => {
  world.isShut = true;
  await world.playInto(page);
  await page.goto('http://world.test/world');
  await phase('waiting');
  const status = await page.textContent('[role=status]');
  expect(status).toContain('Too many requests');
  expect(status).toMatch(/Trying again in (19|20) s/);
  world.isShut = false;
  await page.click('[role=status] button');
  await phase('playing');
});

test('the hint goes once somebody has walked', async () => {
  await open();
  await page.waitForSelector('.hint');
  await page.keyboard.press('ArrowRight');
  await page.waitForSelector('.hint', { state: 'detached' });
});

test('it tries again for as long as the server is leaving', async () => {
  world.refusal = { code: 'draining', reason: 'The server is leaving.' };
  await world.playInto(page);
  await page.goto('http://world.test/world');
  await phase('waiting');
  expect(await page.textContent('[role=status]')).toContain('The server is leaving.');
  world.refusal = null;
  await phase('playing');
});

test('the map shows where everybody is', async () => {
  world.letLoose(400, 30);
  await open();
  await page.waitForSelector('text="401 movers"');
  const colours = await page.evaluate(() => {
    const canvas = document.querySelectorAll('canvas')[1];
    const bytes = canvas?.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
    return new Set(Array.from({ length: bytes.length / 4 }, (_, at) => `${bytes[4 * at]} ${bytes[4 * at + 1]}`)).size;
  });
  expect(colours).toBeGreaterThan(20);
});

test.each([320, 390, 768])('nothing lies beside a screen of %i points', async (width) => {
  await page.setViewportSize({ width, height: 740 });
  await open();
  const [inner, outer] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  expect(inner).toBe(outer);
  const stage = await page.locator('canvas').first().boundingBox();
  expect(stage?.height).toBeGreaterThan(300);
});

test('in a hunt the stage keeps more than half of a phone, whatever is told beside it', async () => {
  world.best = Array.from({ length: 8 }, (_, place) => ({ mover: 100 + place, name: '', score: 50 - place }));
  await page.setViewportSize({ width: 375, height: 700 });
  await open();
  own()?.socket?.send(JSON.stringify({ round: { number: 1, phase: 'running', until_ms: Date.now() + 60_000, chests_left: 9_550 } }));
  await page.waitForSelector('text="The best so far"');
  const [stage, map] = await Promise.all([0, 1].map((nth) => page.locator('canvas').nth(nth).boundingBox()));
  expect(stage?.height).toBeGreaterThan(350);
  expect(map && map.y + map.height).toBeLessThanOrEqual(700);
});

test('one mover alone is to be seen on the map', async () => {
  await page.emulateMedia({ colorScheme: 'dark' });
  await open();
  await page.waitForSelector('text="1 mover"');
  const brightest = () =>
    page.evaluate(() => {
      const canvas = document.querySelectorAll('canvas')[1];
      if (!canvas) return 0;
      const bytes = canvas.getContext('2d')?.getImageData(canvas.width / 2 - 3, canvas.height / 2 - 3, 6, 6).data ?? [];
      return Math.max(...Array.from({ length: bytes.length / 4 }, (_, at) => bytes[4 * at + 1] ?? 0));
    });
  await expect.poll(brightest, { timeout: 10_000 }).toBeGreaterThan(110);
});
