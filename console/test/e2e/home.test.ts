// The home page as it is built, in Chromium, against an API that the test plays.
import { expect, test } from 'vitest';
import { problem } from '../api.ts';
import { BUSY, FEATURED, HomeApi, QUIET } from '../home.ts';
import { expectGood, expectGoodInEveryScheme, Pages } from '../pages.ts';

const pages = new Pages();
const OTHER = '01a20a0e-e204-71dd-a91a-45e6f3d457b0';

function busy() {
  const api = new HomeApi(BUSY);
  api.match.play(30);
  return api;
}

test('it is good when much goes on, in every scheme', async () => {
  const page = await pages.open(busy(), '/');
  await page.locator('[data-turn="29"]').waitFor();
  await page.getByText('10,000+').first().waitFor();
  await expectGoodInEveryScheme(page);
});
test('it is good when nothing goes on, in every scheme', async () => {
  const page = await pages.open(new HomeApi(QUIET), '/');
  await page.getByText('The boards are asleep').waitFor();
  await page.getByText('It is quiet here').waitFor();
  await expectGoodInEveryScheme(page);
});

test('one click leads to everything', async () => {
  const page = await pages.open(busy(), '/');
  for (const [name, path] of [
    ['Walk the plaza', '/world'],
    ['Play with bots', '/stories'],
    ['See the ladders', '/ladders'],
    ['Try a service', '/docs/scenario'],
    ['Watch it in full', `/games/${FEATURED.id}`],
  ] as const) {
    expect(await page.getByRole('link', { name }).first().getAttribute('href')).toContain(path);
  }
  expect(await page.locator('[data-way=stories]').innerText()).toBe('3 tables with a free seat');
  expect(await page.locator('[data-way=world]').innerText()).toBe('204 walk there now');
});

test('numbers follow the feed', async () => {
  const api = new HomeApi(QUIET);
  const page = await pages.open(api, '/');
  await page.getByText('It is quiet here').waitFor();
  api.summary = { ...QUIET, games: { running: 1, waiting: 0, ended_last_minute: 0 }, health: 'busy' };
  await page.getByText('1 match is being played now').waitFor();
  await page.getByText('Busy: new matches wait outside for a moment').waitFor();
});

test('before the first answer it says what it waits for, and offers everything all the same', async () => {
  const api = new HomeApi(QUIET);
  let answer = () => {};
  const held = new Promise<void>((resolve) => (answer = resolve));
  api.on('GET /api/summary', async () => (await held, { json: QUIET }));
  api.on('GET /api/summary/feed', async () => (await held, { status: 503 }));
  const page = await pages.open(api, '/');
  await page.getByText('Loading what goes on').waitFor();
  await page.getByRole('link', { name: 'Walk the plaza' }).first().waitFor();
  await expectGood(page);
  answer();
  await page.locator('[data-home=ready]').waitFor();
});

test('a refusal is told with its code, and tried again', async () => {
  const api = new HomeApi(QUIET);
  const refusal = problem(503, 'store_unavailable', 'the store cannot be reached');
  let isRefused = true;
  api.on('GET /api/summary', () => (isRefused ? refusal : { json: QUIET }));
  api.on('GET /api/summary/feed', () => refusal);
  const page = await pages.open(api, '/');
  await page.getByText('The store cannot be reached (store_unavailable)').waitFor();
  await expectGood(page);
  isRefused = false;
  await page.getByText('The boards are asleep').waitFor();
});

test('without a server it says so, keeps what it shows, and comes back by itself', async () => {
  const api = busy();
  const page = await pages.open(api, '/');
  await page.locator('[data-turn="29"]').waitFor();
  api.isDown = true;
  await page.getByText('The server cannot be reached').waitFor();
  await page.getByText('10,000+').first().waitFor();
  await expectGood(page);
  api.isDown = false;
  api.summary = { ...BUSY, games: { running: 4, waiting: 0, ended_last_minute: 0 } };
  await page.getByText('4 matches are being played now').waitFor();
  await page.getByText('Connected again').waitFor();
});

test('numbers that no longer come are said to be old', async () => {
  const api = busy();
  api.holdsClock = true;
  const page = await pages.open(api, '/');
  await page.locator('[data-home=ready]').waitFor();
  api.isDown = true;
  await page.clock.fastForward(60_000);
  await page.getByText(/These numbers are from \d+ (seconds|minutes?) ago/).waitFor();
  await expectGood(page);
});

test('the match that is watched goes on until it is over; then comes the next', async () => {
  const api = busy();
  const page = await pages.open(api, '/', { reducedMotion: 'no-preference' });
  await page.locator(`[data-watch="${FEATURED.id}"] [data-turn="29"]`).waitFor();
  expect(api.match.opened).toBe(1);
  api.match.play(5);
  await page.locator('[data-turn="34"]').waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  api.match.play(5);
  await page.getByRole('button', { name: 'Follow live' }).click();
  await page.locator('[data-turn="39"]').waitFor();
  // Another match is better now: a viewer who watches is not torn away.
  api.summary = { ...BUSY, games: { ...BUSY.games, running: 77 }, featured: { ...FEATURED, id: OTHER } };
  await page.getByText('77 matches are being played now').waitFor();
  expect(api.match.opened).toBe(1);
  api.match.play(1, true);
  await page.getByText('Snake 0 wins').waitFor();
  await page.locator(`[data-watch="${OTHER}"]`).waitFor();
});

test('a match without a result says why it has none', async () => {
  const api = busy();
  api.match.failure = 'the match was cancelled';
  api.match.status = 'cancelled';
  const page = await pages.open(api, '/');
  await page.locator('[data-watch] .state').getByText('The match was cancelled').waitFor();
});

test('who wants less motion is shown the newest turn, and moves it by hand', async () => {
  const api = busy();
  const page = await pages.open(api, '/', { reducedMotion: 'reduce' });
  await page.locator('[data-turn="29"]').waitFor();
  api.match.play(3);
  await page.getByRole('button', { name: 'Follow live' }).click();
  await page.locator('[data-turn="32"]').waitFor();
});

test('an account sees its own, a guest its tables', async () => {
  const api = busy();
  api.session = { role: 'player', player: OTHER, is_guest: false, name: null, expires_at: null };
  const table = { id: `${OTHER}-1`, table: OTHER, phase: 'invitation', storyteller: OTHER, storyteller_name: 'Ann', sentence: null, players: 2, players_max: 6, created_at: FEATURED.started_at, ended_at: null, role: 'player', has_won: null };
  const game = (status: string, name: string) => ({ id: OTHER, status, winner: null, snakes: [{ id: OTHER, name }], board: '11x11', game_type: 'Solo', created_at: '', updated_at: '', enqueued_at: '' });
  const bots = Array.from({ length: 1_000 }, (_, n) => ({ id: OTHER.slice(0, -4) + `${1_000 + n}`, name: `Bot <b>${n}</b>`, url: '', is_public: false, created_at: '', updated_at: '' }));
  api.on('GET /api/stories/my-games', { json: [table] });
  api.on('GET /api/games', { json: [game('running', 'Mine'), game('finished', 'Old')] });
  api.on('GET /api/snakes', ({ query }) => ({ json: bots.slice(0, Number(query.get('limit'))) }));
  const page = await pages.open(api, '/');
  await page.locator('[data-mine=tables]').getByRole('link', { name: 'A story by Ann' }).waitFor();
  await page.locator('[data-mine=matches]').getByRole('link', { name: 'Mine' }).waitFor();
  await page.locator('[data-mine=bots]').getByRole('link', { name: 'Bot <b>0</b>' }).waitFor();
  expect(await page.locator('[data-mine] a').count()).toBe(6);
  await expectGood(page);
  // An operator is shown matches of all accounts, and another account is signed in now.
  api.session = { role: 'operator', player: `${OTHER.slice(0, -1)}9`, is_guest: false, name: 'Ops', expires_at: null };
  api.on('GET /api/games', { json: [game('finished', 'Old')] });
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
  await page.getByRole('heading', { name: 'Matches of all accounts under way' }).waitFor();
  await page.getByText('None of the last 20.').waitFor();
  api.session = { role: 'guest', player: OTHER, is_guest: true, name: 'Amber Lynx', expires_at: null };
  api.on('GET /api/stories/my-games', { json: [] });
  await page.reload();
  await page.getByRole('heading', { name: 'Yours, Amber Lynx' }).waitFor();
  await page.getByText('You sit at no table').waitFor();
  expect(await page.locator('[data-mine]').count()).toBe(1);
  await expectGood(page);
});

test('what strangers wrote stays text, and no name is too long', async () => {
  const name = '<img src=x onerror="document.title=1">';
  const snakes = [name, 'x'.repeat(64), ...Array.from({ length: 14 }, (_, n) => `Snake ${n}`)].map((name) => ({ name, rating: null }));
  const api = new HomeApi({ ...BUSY, featured: { ...FEATURED, snakes, leaderboard: { id: OTHER, name: '<b>bold</b>' } } });
  api.match.play(3);
  const page = await pages.open(api, '/', { viewport: { width: 360, height: 740 } });
  await page.getByText('The highest rated pair on <b>bold</b> now').waitFor();
  expect(await page.locator('main img, main b').count()).toBe(0);
  await expectGood(page);
});

