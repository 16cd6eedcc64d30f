// The list of matches and the form that starts one, in Chromium, against a server that the test plays.
import { expect, test } from 'vitest';
import { problem } from '../api.ts';
import { BOT, game, profile, publicBot, server, signedIn } from '../bots.ts';
import { expectGood, expectGoodInEveryScheme, Pages } from '../pages.ts';

const pages = new Pages();

test('matches and the form are accessible, in every scheme', async () => {
  const page = await pages.open(signedIn(server({ games: [game(1), game(2, { status: 'running', snakes: [{ id: BOT, name: '<b>x</b>'.repeat(30), owner: '' }] })] })), '/games?tab=recent&start');
  await page.getByText('Why Ophidia lost').waitFor();
  await page.getByRole('button', { name: 'Add Bot 1' }).waitFor();
  await expectGoodInEveryScheme(page);
});

test('live, recent and own matches have addresses, and a filter', async () => {
  const api = signedIn(server());
  const page = await pages.open(api, '/games');
  await page.locator('[data-status]').waitFor();
  await page.getByRole('link', { name: 'Recent' }).click();
  await expect.poll(() => api.asked.some(({ path }) => path === '/api/games/recent')).toBe(true);
  await page.getByLabel('Map').selectOption('hz_rings');
  await expect.poll(() => api.asked.some(({ path, query }) => path === '/api/games/recent' && query.get('map') === 'hz_rings')).toBe(true);
  await expect.poll(() => new URL(page.url()).search).toBe('?tab=recent&map=hz_rings');
  await page.getByRole('link', { name: 'Mine' }).click();
  await expect.poll(() => api.asked.some(({ path }) => path === '/api/games')).toBe(true);
  await page.goBack();
  await expect.poll(() => page.getByLabel('Map').inputValue()).toBe('hz_rings');
});

test('an empty server says how to get the first match', async () => {
  const page = await pages.open(server({ games: [], bots: [] }), '/games');
  await page.getByRole('heading', { name: 'The first match, in one minute' }).waitFor();
  await page.getByText('No public match is played now').waitFor();
  await expectGood(page);
});

test('loading, a refusal with its code, and coming back by itself', async () => {
  const api = server();
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  api.on('GET /api/games/live', async () => (await held, problem(503, 'overloaded', 'the server has too much to do')));
  const page = await pages.open(api, '/games');
  await page.getByText('Loading the matches').waitFor();
  await expectGood(page);
  release();
  await page.getByText('The server has too much to do (overloaded)').waitFor();
  await expectGood(page);
  api.on('GET /api/games/live', { json: [game(1)] });
  await page.locator('[data-status]').waitFor();
});

test('without a server the list stays, and the page says so', async () => {
  const api = server();
  const page = await pages.open(api, '/games');
  await page.locator('[data-status]').waitFor();
  api.isDown = true;
  await page.getByText('The server cannot be reached').waitFor();
  expect(await page.locator('[data-status]').count()).toBe(1);
  await expectGood(page);
  api.isDown = false;
  await page.getByText('Connected again').waitFor();
});

test('a thousand matches, page by page', async () => {
  const page = await pages.open(server({ games: Array.from({ length: 1_000 }, (_, n) => game(n)) }), '/games?tab=recent');
  for (let shown = 20; shown < 1_000; shown += 20) {
    await expect.poll(() => page.locator('[data-status]').count()).toBe(shown);
    await page.getByRole('button', { name: 'Show more' }).click();
  }
  await expect.poll(() => page.locator('[data-status]').count()).toBe(1_000);
  await expectGood(page);
});

test('nobody without an account starts a match', async () => {
  const page = await pages.open(server(), '/games?start');
  await page.getByText('Starting a match needs an account').waitFor();
  await expectGood(page);
});

test('a match is put together, refused, and started', async () => {
  const api = signedIn(server({ bots: Array.from({ length: 250 }, (_, n) => publicBot(n)) }));
  api.on('GET /api/snakes/{id}/profile', { json: profile({ is_own: false }) });
  const page = await pages.open(api, `/games?start&with=${BOT}`);
  await page.getByRole('button', { name: 'Take Ophidia out of seat 1' }).waitFor();
  await page.getByLabel('Search for a bot or an owner').fill('bot 42');
  await page.getByRole('button', { name: 'Add Bot 42' }).click();
  await page.getByRole('radio', { name: 'Solo maze' }).check();
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByText('This map takes one snake, not 2').waitFor();
  await page.getByRole('radio', { name: 'Castle wall, huge' }).check();
  expect(await page.getByLabel('Board').inputValue()).toBe('25x25');
  api.on('POST /api/games', problem(400, 'unplayable', 'this cannot be played'));
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByText('This cannot be played (unplayable)').waitFor();
  await expectGood(page);
  api.isDown = true;
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByText('What you chose stays').waitFor();
  api.isDown = false;
  api.on('POST /api/games', { status: 201, json: { id: BOT, status: 'waiting' } });
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.waitForURL(`**/games/${BOT}`);
  const sent = api.asked.filter(({ method }) => method === 'POST').at(-1)?.body;
  expect(sent).toMatchObject({ snakes: [BOT, publicBot(42).id], map: 'hz_castle_wall_xl', board: '25x25', game_type: 'standard' });
});
