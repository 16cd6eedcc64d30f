// A hunt on the page: what is taken, what helps, how the time goes, who won.
import { expect, test } from 'vitest';
import { Stage, until } from '../stage.ts';

const stage = new Stage();
const running = { number: 1, phase: 'running', until_ms: Date.now() + 65_000, chests_left: 9_550 };
const inAMinute = () => Date.now() + 60_000;

/** Shows the page what lies where. */
const lay = (...items: { x: number; y: number; kind?: string }[]) => stage.say({ view: { x: stage.own?.x, y: stage.own?.y, items } });

test('chests underfoot are dug by themselves, once, and with a magnet those two cells away', async () => {
  await stage.open();
  lay({ x: 500, y: 500 }, { x: 502, y: 498 }, { x: 503, y: 500 });
  await until(() => stage.said('dig').length > 0);
  expect(stage.said('dig')).toEqual([{ seq: 1 }]);
  stage.say({ dug: { seq: 1, points: 7, score: 7 } });
  stage.say({ grabbed: { seq: 2, item: 'magnet', until_ms: inAMinute() } });
  lay();
  await until(() => stage.said('dig').length > 1);
  lay();
  await stage.page.waitForSelector('[data-score="7"]');
  expect(stage.said('dig')).toEqual([{ seq: 1 }, { seq: 2 }]);
});

test('a chest that the server was too busy to hear of is dug again, with the same number', async () => {
  await stage.open();
  lay({ x: 500, y: 500 });
  await until(() => stage.said('dig').length === 1);
  stage.say({ refused: { seq: 1, code: 'busy' } });
  lay();
  await until(() => stage.said('dig').length === 2);
  expect(stage.said('dig')).toEqual([{ seq: 1 }, { seq: 1 }]);
});

test('the chests that are left are counted down, of which no view tells', async () => {
  stage.world.chestsLeft = 9_401;
  await stage.open();
  stage.say({ round: { ...running, until_ms: inAMinute() } });
  await stage.page.waitForSelector('li >> text="9,401 left"');
});

test('with double steps the page shows at once where they lead', async () => {
  await stage.open();
  stage.world.isDeaf = true;
  stage.say({ grabbed: { seq: 1, item: 'double_step', until_ms: inAMinute() } });
  lay({ x: 490, y: 490 });
  await stage.page.waitForSelector('[data-power=double_step].helps');
  await stage.page.keyboard.press('ArrowRight');
  await stage.at(502, 500);
});

test('power-ups of one moment stand beside each other, and each says for how long it helps', async () => {
  await stage.open();
  lay({ x: 490, y: 490 });
  const until_ms = inAMinute();
  for (const item of ['magnet', 'farsight', 'magnet']) stage.say({ grabbed: { item, until_ms } });
  await stage.page.waitForSelector('[data-power=magnet].helps');
  const lines = await stage.page.locator('.helps').allTextContents();
  expect(lines.map((line) => /[3-6]\d s/.test(line))).toEqual([true, true]);
  expect(stage.complaints).toEqual([]);
});

test('the time of a round is the server\'s, whatever the clock of the browser says', async () => {
  await stage.page.clock.install({ time: Date.now() + 3_600_000 });
  await stage.open();
  stage.say({ view: { x: 500, y: 500, oldest_change_us: Date.now() * 1_000, round: { ...running, until_ms: Date.now() + 65_000 } } });
  await stage.page.waitForSelector('.round >> text=/^(1:0|0:[2-5])\\d left/');
});

test('between two rounds it says who won, how one did oneself, and when it goes on', async () => {
  await stage.open();
  const scores = [9, 8, 7, 6].map((score, place) => ({ id: place === 3 ? stage.own?.id : 100 + place, name: `Hunter ${place}`, score }));
  stage.say({ round: { number: 2, phase: 'waiting', until_ms: Date.now() + 95_000, chests_left: 0, ended: 1, scores } });
  await stage.page.waitForSelector('text="Round 1 is over"');
  const card = await stage.page.textContent('[aria-label="Between two rounds"]');
  expect(card).toMatch(/Hunter 0.*Hunter 1.*Hunter 2.*You are number 4, with 6 points\..*Round 2 begins in (1:3|1:[0-2]|0:[2-5])\d/s);
  stage.say({ round: { ...running, number: 2, until_ms: inAMinute() } });
  await stage.page.waitForSelector('text="Round 1 is over"', { state: 'detached' });
});

test('a hunt that must be joined is joined by a button', async () => {
  stage.world.admission = {};
  await stage.world.playInto(stage.page);
  await stage.page.goto('http://world.test/world?world=harbour');
  await stage.page.click('text="Join"');
  await stage.phase('playing');
});

test('whoever may not join is told why', async () => {
  stage.world.admission = { whyNot: 'all places are taken' };
  await stage.world.playInto(stage.page);
  await stage.page.goto('http://world.test/world?world=harbour');
  await stage.page.click('text="Join"');
  await stage.page.waitForSelector('[role=alert] >> text="All places are taken."');
  await stage.page.waitForSelector('.notice a >> text="Go to plaza"');
});

test('the stage keeps more than half of a phone, whatever is told beside it', async () => {
  stage.world.best = Array.from({ length: 8 }, (_, place) => ({ mover: 100 + place, name: '', score: 50 - place }));
  await stage.page.setViewportSize({ width: 375, height: 700 });
  await stage.open();
  stage.say({ round: { ...running, until_ms: inAMinute() } });
  await stage.page.waitForSelector('text="The best so far"');
  const [field, map] = await Promise.all([0, 1].map((nth) => stage.page.locator('canvas').nth(nth).boundingBox()));
  expect(field?.height).toBeGreaterThan(350);
  expect(map && map.y + map.height).toBeLessThanOrEqual(700);
});

test('the map of a hunt shows what one sees, and to operators what the server tells them', async () => {
  await stage.open();
  stage.say({ round: { ...running, until_ms: inAMinute() } });
  lay({ x: 503, y: 500 }, { x: 504, y: 502, kind: 'magnet' });
  await stage.page.waitForSelector('[data-chests="2"]');
  stage.world.hidden = [503, 520, 530].map((x) => ({ x, y: 500, indicator: '🎁' }));
  stage.world.session = { name: 'Ops', is_guest: false, role: 'operator', player: 'p' };
  await stage.page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
  await stage.page.waitForSelector('[data-chests="3"]');
});

test('a hunt that is over leads to who won', async () => {
  stage.world.refusal = { code: 'over', reason: 'This hunt is over.' };
  await stage.world.playInto(stage.page);
  await stage.page.goto('http://world.test/world?world=harbour');
  expect(await stage.page.getAttribute('text="See who won"', 'href')).toBe('/hunts/harbour');
});
