// The page as it is built, in Chromium, against a world that the test holds in its hands.
import { expect, test } from 'vitest';
import { keyOf } from '../../src/world/grid.ts';
import { expectGoodInEveryScheme } from '../pages.ts';
import { Stage, until } from '../stage.ts';

const stage = new Stage();

test('arrows walk, and other keys do nothing', async () => {
  await stage.open();
  for (const key of ['q', ' ', 'Escape', 'PageDown', 'e']) await stage.page.keyboard.press(key);
  await stage.page.keyboard.press('ArrowRight');
  await until(() => stage.own?.x === 501);
  expect(stage.said('move')).toEqual([{ seq: 1, step: 'e' }]);
  expect(stage.complaints).toEqual([]);
});

test('the own step is shown before the server answers, and taken back when it refuses', async () => {
  await stage.open();
  stage.world.isDeaf = true;
  await stage.page.keyboard.press('ArrowRight');
  await stage.at(501, 500);
  expect(stage.own?.x).toBe(500);
  stage.say({ refused: { seq: 1, code: 'occupied' } });
  await stage.at(500, 500);
});

test('a held arrow walks on, and stops when it is let go', async () => {
  await stage.open();
  await stage.page.keyboard.down('ArrowDown');
  await until(() => (stage.own?.y ?? 0) >= 504);
  await stage.page.keyboard.up('ArrowDown');
  await stage.page.waitForSelector(`dd >> text="500, ${stage.own?.y}"`);
  expect(new Set(stage.said('move').map(({ step }) => step))).toEqual(new Set(['s']));
});

/** Presses the cell that lies so many cells from the own one. */
async function press(dx: number, dy: number) {
  const box = await stage.page.locator('canvas').first().boundingBox();
  const sight = (await stage.page.getAttribute('[data-sight]', 'data-sight'))?.split(',').map(Number);
  if (!box || !sight) throw new Error('there is no stage');
  const side = Math.max(18, Math.ceil(Math.max(box.width / (2 * (sight[0] ?? 0) + 1), box.height / (2 * (sight[1] ?? 0) + 1))));
  await stage.page.mouse.click(box.x + box.width / 2 + dx * side, box.y + box.height / 2 + dy * side);
}

test('a press walks all the way, around what stands in it', async () => {
  for (let y = 496; y <= 503; y += 1) stage.world.trees.add(keyOf({ x: 503, y }));
  await stage.open();
  await press(6, 0);
  await stage.page.waitForSelector('[data-target="506,500"]');
  await stage.at(506, 500);
  await stage.page.waitForSelector('[data-target]', { state: 'detached' });
  expect(stage.said('move')).toHaveLength(8);
  expect(await stage.page.textContent('.news')).toBe('');
});

test('a finger that stays down leads on', async () => {
  await stage.open();
  const box = await stage.page.locator('canvas').first().boundingBox();
  if (!box) throw new Error('there is no stage');
  await stage.page.mouse.move(box.x + box.width / 2 - 150, box.y + box.height / 2 - 150);
  await stage.page.mouse.down();
  await until(() => (stage.own?.x ?? 500) <= 498);
  expect(stage.own?.y).toBe(stage.own?.x);
  await stage.page.mouse.move(box.x + box.width / 2 + 200, box.y + box.height / 2);
  await stage.page.mouse.up();
  await until(() => stage.said('move').at(-1)?.['step'] === 'e');
});

test.each(['ArrowUp', 'KeyW', 'Escape', 'q'])('the key %s stops a walk', async (key) => {
  await stage.open();
  await press(-8, 0);
  await until(() => (stage.own?.x ?? 500) <= 499);
  await stage.page.keyboard.press(key);
  await stage.page.waitForSelector('[data-target]', { state: 'detached' });
});


test('a press on oneself stops a walk', async () => {
  await stage.open();
  stage.world.isDeaf = true;
  await press(-10, 0);
  // Nothing is answered: after so many steps it waits.
  await stage.at(492, 500);
  await stage.page.waitForSelector('[data-target]');
  await press(0, 0);
  await stage.page.waitForSelector('[data-target]', { state: 'detached' });
});

test('it says when there is no way, and where a tree stands', async () => {
  for (const [dx, dy] of [[-1, -1], [0, -1], [1, -1], [-1, 0], [1, 0], [-1, 1], [0, 1], [1, 1]] as const) stage.world.trees.add(keyOf({ x: 504 + dx, y: 500 + dy }));
  await stage.open();
  await press(4, 0);
  await stage.page.waitForSelector('.news >> text=/no way there/');
  await press(3, 0);
  await stage.page.waitForSelector('.news >> text="A tree stands there."');
  expect(stage.said('move')).toEqual([]);
});

test('W, A, S and D walk too, and are letters in a field', async () => {
  await stage.open();
  await stage.page.keyboard.press('KeyW');
  await until(() => stage.own?.y === 499);
  await stage.page.keyboard.press('KeyA');
  await until(() => stage.own?.x === 499);
  await stage.page.click('[aria-label="Change name and emoji"]');
  await stage.page.fill('dialog input[autocomplete]', '');
  await stage.page.keyboard.type('wasd');
  expect(await stage.page.inputValue('dialog input[autocomplete]')).toBe('wasd');
  expect(stage.said('move')).toHaveLength(2);
});

test('a keyboard chooses a cell and walks there', async () => {
  await stage.open();
  await stage.page.keyboard.press('Enter');
  await stage.page.waitForSelector('.news >> text=/Choose a cell/');
  for (const key of ['ArrowRight', 'ArrowRight', 'ArrowDown']) await stage.page.keyboard.press(key);
  await stage.page.waitForSelector('.news >> text="502, 501: 2 cells south-east. Enter walks there."');
  expect(stage.said('move')).toEqual([]);
  await stage.page.keyboard.press('Enter');
  await stage.at(502, 501);
});

test('a lantern is found by walking there, and stays found', async () => {
  await stage.open();
  await stage.page.waitForSelector('[data-lit="0"]');
  await stage.page.click('text="Walk there"');
  await stage.page.waitForSelector('[data-lit="1"]');
  await stage.page.reload();
  await stage.phase('playing');
  await stage.page.waitForSelector('[data-lit="1"]');
  expect(stage.complaints).toEqual([]);
});

test('who stands beside somebody has met him', async () => {
  await stage.open();
  stage.say({ view: { x: 500, y: 500, entered: [{ id: 900, x: 501, y: 501, indicator: 9, name: 'Coral Finch' }, { id: 901, x: 505, y: 500, indicator: 9, name: 'Far Away' }] } });
  await stage.page.waitForSelector('text="You met one person today."');
  expect(await stage.page.textContent('[aria-label="Lanterns this evening"] [role=status]')).toBe('You met Coral Finch.');
});

test('name and emoji are chosen, and remembered in this browser', async () => {
  await stage.open();
  await stage.page.click('[aria-label="Change name and emoji"]');
  await stage.page.fill('dialog input[autocomplete]', 'Taken');
  await stage.page.click('text="Come in like this"');
  await stage.page.waitForSelector('[role=alert] >> text="This name cannot be (bad_name)"');
  await stage.page.fill('dialog input[autocomplete]', 'Mira');
  await stage.page.click('label:has(input[value="🦊"])');
  await stage.page.click('text="Come in like this"');
  await stage.page.waitForSelector('.you >> text="Mira"');
  await until(() => stage.said('register').length === 2);
  expect([stage.world.guests, stage.said('leave').length, stage.said('register').at(-1)]).toMatchObject([['Mira'], 1, { indicator: 10, at: { x: 500, y: 500 } }]);
  // Another day without a session: the same name and face again.
  stage.world.session = null;
  await stage.page.reload();
  await until(() => stage.said('register').length === 3);
  expect([stage.world.guests, stage.said('register').at(-1)]).toMatchObject([['Mira', 'Mira'], { indicator: 10 }]);
});

test('while the server cannot say whom the browser speaks for, nobody takes the place of an account', async () => {
  stage.world.session = { name: 'Keen Ibex', is_guest: false, role: 'player', player: 'p' };
  stage.world.isStoreDown = true;
  await stage.open();
  await stage.page.click('[aria-label="Change name and emoji"]');
  expect(await stage.page.locator('dialog input[autocomplete]').count()).toBe(0);
  stage.world.isStoreDown = false;
  await stage.page.waitForSelector('.you >> text="Keen Ibex"');
  await stage.page.waitForSelector('dialog >> text="An account keeps its name."');
  expect(stage.world.guests).toEqual([]);
});

test('how often updates come is said while connected', async () => {
  await stage.open();
  await stage.page.waitForSelector('[data-updates]');
  stage.world.shut = { status: 500, detail: '' };
  stage.world.hangUp();
  await stage.phase('waiting');
  await stage.page.waitForSelector('[data-updates]', { state: 'detached' });
});

test.each([['guest', 0], ['player', 0], ['operator', 1], ['admin', 1]])('figures for operators are shown to a %s: %i', async (role, count) => {
  stage.world.session = { name: null, is_guest: false, role, player: 'p' };
  await stage.open();
  await stage.page.waitForSelector('[data-lantern]');
  await expect.poll(() => stage.page.locator('text="For operators"').count()).toBe(count);
});

test('no other button of a mouse walks', async () => {
  await stage.open();
  const box = await stage.page.locator('canvas').first().boundingBox();
  if (!box) throw new Error('there is no stage');
  await stage.page.mouse.click(box.x + 40, box.y + 40, { button: 'right' });
  await stage.page.mouse.click(box.x + 40, box.y + 40, { button: 'middle' });
  await stage.page.keyboard.press('ArrowRight');
  await until(() => stage.own?.x === 501);
  expect(stage.said('move')).toHaveLength(1);
});

test('arrows move nothing else, and what else is pressed is the browser\'s', async () => {
  await stage.open();
  await stage.page.evaluate(() => {
    const taken: string[] = [];
    Object.assign(window, { taken });
    window.addEventListener('keydown', (event) => event.defaultPrevented && taken.push(event.key));
  });
  for (const key of ['ArrowDown', 'Control+ArrowLeft', 'Alt+ArrowUp', 'Meta+ArrowRight', 'PageDown', ' ', 'F6', 'ArrowUp']) {
    await stage.page.keyboard.press(key);
  }
  expect(await stage.page.evaluate('taken')).toEqual(['ArrowDown', 'ArrowUp']);
});

test('keys reach everything, in the order of the page, and all of it has a name', async () => {
  await stage.page.addInitScript(() => localStorage.setItem('gauntlet.help.world', 'read'));
  await stage.open();
  await stage.page.waitForSelector('text="Walk there"');
  const names: string[] = [];
  while (names.at(-1) !== '500,500' && names.length < 40) {
    await stage.page.keyboard.press('Tab');
    names.push(await stage.page.evaluate(() => (document.activeElement as HTMLElement | null)?.innerText.replace(/\s/g, '') ?? ''));
  }
  expect(names.slice(0, 2)).toEqual(['Skiptothepage', 'Gauntlet']);
  expect(names.slice(names.indexOf('Signout'))).toEqual(['Signout', 'plaza▾', 'Walkthere', 'Anotherone', 'Crowd', 'World', 'Near', 'Change', '500,500']);
});

test('a step into a tree is not even asked for', async () => {
  stage.world.trees.add(keyOf({ x: 501, y: 500 }));
  await stage.open();
  await until(() => stage.own?.isFresh === false);
  await stage.page.waitForSelector('dd >> text="500, 500"');
  await stage.page.keyboard.press('ArrowRight');
  await stage.page.keyboard.press('ArrowDown');
  await until(() => stage.own?.y === 501);
  expect(stage.own?.x).toBe(500);
});

test('a lost connection comes back by itself, as the same mover', async () => {
  await stage.open();
  await stage.page.keyboard.press('ArrowUp');
  await until(() => stage.own?.y === 499);
  const id = stage.own?.id;
  stage.world.hangUp();
  await stage.phase('waiting');
  await stage.phase('playing');
  expect([stage.own?.id, stage.world.fellows.size]).toEqual([id, 1]);
  await stage.page.keyboard.press('ArrowUp');
  await until(() => stage.own?.y === 498);
});

test('it goes to the server that has the world, by itself', async () => {
  stage.world.refusal = { code: 'elsewhere', reason: 'Another server has this stage.world.', address: 'other.test:4001' };
  await stage.world.playInto(stage.page);
  await stage.page.goto('http://world.test/world?world=hunt');
  await stage.page.waitForURL('http://other.test:4001/world?world=hunt');
});

test('two servers that name each other do not send anybody in circles', async () => {
  stage.world.refusal = { code: 'elsewhere', reason: 'Another server has this stage.world.', address: 'other.test:4001' };
  stage.world.otherRefusal = { code: 'elsewhere', reason: 'Another server has this stage.world.', address: 'world.test' };
  await stage.world.playInto(stage.page);
  await stage.page.goto('http://world.test/world?world=hunt');
  await stage.page.waitForSelector('.notice >> text="Try again"');
  expect(stage.page.url()).toBe('http://world.test/world?world=hunt');
  expect(await stage.page.getAttribute('.notice a', 'href')).toBe('http://other.test:4001/world?world=hunt');
  stage.world.refusal = null;
  await stage.page.click('.notice button');
  await stage.phase('playing');
});

test('the list of worlds names the one that is played in, however long it is', async () => {
  stage.world.others = ['harbour', 'pond'];
  await stage.open();
  await stage.page.click('[aria-label=Worlds] button');
  await stage.page.waitForSelector('[aria-label=Worlds] a >> text="pond"');
  const names = await stage.page.locator('[aria-label=Worlds] a').allTextContents();
  expect(names.map((name) => name.trim())).toEqual(['plaza', 'harbour', 'pond']);
  expect(await stage.page.locator('[aria-label=Worlds] a[aria-current=page]').textContent()).toContain('plaza');
  await stage.page.click('[aria-label=Worlds] a >> text="pond"');
  await stage.page.waitForURL('http://world.test/world?world=pond');
});

test('it says why it was refused, and where else one can go', async () => {
  stage.world.refusal = { code: 'over', reason: 'This hunt is over.' };
  await stage.world.playInto(stage.page);
  await stage.page.goto('http://world.test/world?world=harbour');
  await stage.phase('refused');
  expect(await stage.page.textContent('[role=alert]')).toContain('This hunt is over.');
  expect(await stage.page.getAttribute('.notice >> text="Go to plaza"', 'href')).toBe('/world?world=plaza');
});

test('a server that lets nobody in is asked why, and left alone as long as it wants', async () => {
  stage.world.shut = { status: 429, detail: 'Too many requests: slow down' };
  await stage.world.playInto(stage.page);
  await stage.page.goto('http://world.test/world');
  await stage.phase('waiting');
  const notice = await stage.page.textContent('.notice');
  expect(notice).toContain('Too many requests');
  expect(notice).toMatch(/Trying again in (19|20) s/);
  stage.world.shut = null;
  await stage.page.click('.notice button');
  await stage.phase('playing');
});

test.each([
  [400, 'refused', 'That is no name of a world.'],
  [426, 'waiting', 'no WebSocket was opened'],
  [500, 'waiting', 'The server did not open a connection.'],
])('a socket that is not opened for %i leaves it %s', async (status, phase, why) => {
  stage.world.shut = { status, detail: 'that is no name of a world' };
  await stage.world.playInto(stage.page);
  await stage.page.goto('http://world.test/world');
  await stage.phase(phase);
  expect(await stage.page.textContent('.notice')).toContain(why);
});

test('whoever is here for the first time gets three lines, once', async () => {
  await stage.open();
  expect(await stage.page.locator('.help li').count()).toBe(3);
  await stage.page.click('text="Got it"');
  await stage.page.waitForSelector('.help', { state: 'detached' });
  await stage.page.reload();
  await stage.phase('playing');
  await stage.page.waitForSelector('[data-lantern]');
  expect(await stage.page.locator('.help').count()).toBe(0);
});

test('whoever walks about needs no help', async () => {
  await stage.open();
  await stage.page.waitForSelector('.help');
  await stage.page.keyboard.down('KeyD');
  await stage.page.waitForSelector('.help', { state: 'detached' });
  await stage.page.keyboard.up('KeyD');
});

test('it tries again for as long as the server is leaving', async () => {
  stage.world.refusal = { code: 'draining', reason: 'The server is leaving.' };
  await stage.world.playInto(stage.page);
  await stage.page.goto('http://world.test/world');
  await stage.phase('waiting');
  expect(await stage.page.textContent('.notice [role=status]')).toContain('The server is leaving.');
  stage.world.refusal = null;
  await stage.phase('playing');
});

test('the map shows where everybody is', async () => {
  stage.world.letLoose(400, 30);
  await stage.open();
  await stage.page.waitForSelector('text="401 movers"');
  const colours = await stage.page.evaluate(() => {
    const canvas = document.querySelectorAll('canvas')[1];
    const bytes = canvas?.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
    return new Set(Array.from({ length: bytes.length / 4 }, (_, at) => `${bytes[4 * at]} ${bytes[4 * at + 1]}`)).size;
  });
  expect(colours).toBeGreaterThan(20);
});

test.each([320, 390, 768])('nothing lies beside a screen of %i points', async (width) => {
  await stage.page.setViewportSize({ width, height: 740 });
  await stage.open();
  const [inner, outer] = await stage.page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  expect(inner).toBe(outer);
  const field = await stage.page.locator('canvas').first().boundingBox();
  expect(field?.height).toBeGreaterThan(300);
});

test('one mover alone is to be seen on the map, of the whole world as well', async () => {
  stage.world.letLoose(1, 0);
  const [actor] = stage.world.fellows.values();
  Object.assign(actor ?? {}, { x: 100, y: 900 });
  await stage.page.emulateMedia({ colorScheme: 'dark' });
  await stage.open();
  await stage.page.click('button >> text="World"');
  await stage.page.waitForSelector('text="2 movers"');
  const brightest = () =>
    stage.page.evaluate(() => {
      const canvas = document.querySelectorAll('canvas')[1];
      if (!canvas) return 0;
      const { data } = canvas.getContext('2d')?.getImageData(canvas.width * 0.1 - 1, canvas.height * 0.9 - 1, 2, 2) ?? { data: [] };
      return Math.min(...Array.from({ length: 4 }, (_, at) => data[4 * at + 1] ?? 0));
    });
  await expect.poll(brightest).toBeGreaterThan(110);
});

test('a crowd at one point fills the map, wherever one is oneself', async () => {
  stage.world.letLoose(400, 30);
  for (const fellow of stage.world.fellows.values()) Object.assign(fellow, { x: fellow.x - 300, y: fellow.y + 200 });
  const asked = stage.page.waitForRequest((request) => new URL(request.url()).searchParams.get('w') === '64');
  await stage.open();
  const { searchParams } = new URL((await asked).url());
  const [x, y] = ['x', 'y'].map((name) => Number(searchParams.get(name))) as [number, number];
  expect([x < 200, x + 64 > 200, y < 700, y + 64 > 700]).toEqual([true, true, true, true]);
});

test('views that come do not ask for another map: time does', async () => {
  /** Whatever was asked for before has been asked for now. */
  const settled = () => stage.page.evaluate(async () => void (await fetch('/api/session')));
  await stage.page.clock.install();
  await stage.open();
  await stage.page.click('button >> text="World"');
  await stage.page.waitForSelector('text="1 mover"');
  await stage.page.clock.pauseAt(Date.now() + 60_000);
  await settled();
  const asked: string[] = [];
  stage.page.on('request', (request) => request.url().includes('/density') && asked.push(request.url()));
  for (let x = 501; x <= 520; x += 1) {
    if (stage.own) stage.own.x = x;
    stage.world.tell();
    stage.say({ moved: { seq: 0, x, y: 500 } });
    await stage.at(x, 500);
  }
  await settled();
  expect(asked).toEqual([]);
  await stage.page.clock.runFor(1_000);
  await until(() => asked.length > 0);
});

test('no map is asked for while the server is away', async () => {
  await stage.open();
  await stage.page.waitForSelector('text="1 mover"');
  stage.world.shut = { status: 500, detail: '' };
  stage.world.hangUp();
  await stage.phase('waiting');
  let asked = 0;
  stage.page.on('request', (request) => (asked += request.url().includes('/density') ? 1 : 0));
  await stage.page.waitForRequest((request) => request.url().endsWith('/socket') && request.resourceType() === 'fetch');
  await stage.page.waitForRequest((request) => request.url().endsWith('/socket') && request.resourceType() === 'fetch');
  expect(asked).toBe(0);
});

test('the view fills the stage, and follows its size', async () => {
  await stage.page.setViewportSize({ width: 1_504, height: 549 });
  await stage.open();
  await stage.page.waitForSelector('[data-sight="23,9"]');
  await stage.page.setViewportSize({ width: 904, height: 949 });
  await stage.page.waitForSelector('[data-sight="12,16"]');
  expect(stage.said('watch').at(-1)).toMatchObject({ view: { radius_x: 12, radius_y: 16 } });
});

test('whoever comes back to the page asks whether the connection lives', async () => {
  await stage.open();
  await stage.page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
  // A stage that is measured again has another size: only the question repeats what was said last.
  const views = () => [...stage.said('register'), ...stage.said('watch')].map(({ view }) => JSON.stringify(view));
  await until(() => views().some((view, at, all) => view === all[at - 1]));
});

test('players have names and faces', async () => {
  await stage.open();
  expect(await stage.page.textContent('.you > span')).toMatch(/^\p{Emoji_Presentation} Amber Lynx$/u);
});

test('every state is good in every scheme', async () => {
  await stage.page.emulateMedia({ reducedMotion: 'reduce' });
  stage.world.session = { name: null, is_guest: false, role: 'operator', player: 'p' };
  await stage.open();
  await stage.page.waitForSelector('.help');
  await expectGoodInEveryScheme(stage.page);
  await stage.page.click('text="Got it"');
  await stage.page.click('text="For operators"');
  await stage.page.keyboard.press('Enter');
  await expectGoodInEveryScheme(stage.page);
  await stage.page.click('[aria-label="Change name and emoji"]');
  await expectGoodInEveryScheme(stage.page);
  await stage.page.click('text="Cancel"');
  stage.say({ round: { number: 2, phase: 'waiting', until_ms: Date.now() + 95_000, ended: 1, scores: [{ id: 9, name: 'Ann', score: 3 }] } });
  await stage.page.waitForSelector('text="Round 1 is over"');
  await expectGoodInEveryScheme(stage.page);
  stage.world.refusal = { code: 'over', reason: 'This hunt is over.' };
  stage.world.hangUp();
  await stage.phase('refused');
  await expectGoodInEveryScheme(stage.page);
});
