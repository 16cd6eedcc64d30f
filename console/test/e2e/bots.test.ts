// The pages of bots and the evidence of a match, in Chromium, against a server that the test plays.
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { FakeApi } from '../api.ts';
import { problem } from '../api.ts';
import { BOT, check, evidence, GAME, game, health, ladder, latency, ownBot, profile, publicBot, server, signedIn, turns } from '../bots.ts';
import { expectGood, expectGoodInEveryScheme, Pages } from '../pages.ts';

const pages = new Pages();
const asked = (api: FakeApi, what: string) => api.asked.filter(({ method, path }) => `${method} ${path}` === what);
const charts = (page: Page) => page.locator('[data-chart=shown] canvas');

test('pages of bots are accessible, in every scheme', async () => {
  const api = signedIn(server()).on('GET /api/snakes/{id}/profile', { json: profile({ leaderboards: [ladder(), ladder({ id: GAME, name: 'x'.repeat(100), rank: null, games_played: 0, active: false })] }) });
  api.on('POST /api/snakes/{id}/check', { json: check(false) });
  const page = await pages.open(api, '/bots?register');
  await page.getByRole('link', { name: 'Bot 2', exact: true }).waitFor();
  await expectGoodInEveryScheme(page);
  await page.getByRole('link', { name: 'Ophidia' }).click();
  await charts(page).waitFor();
  await page.getByText('Figures of').click();
  await page.locator('figure tbody tr').first().waitFor();
  await expectGoodInEveryScheme(page);
  await page.getByRole('link', { name: 'Answers' }).click();
  await page.getByRole('button', { name: 'Call it now' }).click();
  await page.getByText('It cannot play.').waitFor();
  await page.getByText('What was sent, what came back').first().click();
  await charts(page).waitFor();
  await expectGoodInEveryScheme(page);
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('button', { name: 'Delete this bot' }).click();
  await expectGoodInEveryScheme(page);
});

test('evidence is accessible, in every scheme', async () => {
  const page = await pages.open(signedIn(server()), `/games/${GAME}/bots/0?turn=8`);
  await page.locator('[data-evidence="8"] canvas').waitFor();
  await expectGoodInEveryScheme(page);
});

test('an empty server says how to get the first match', async () => {
  const page = await pages.open(server({ bots: [] }), '/bots');
  await page.getByRole('heading', { name: 'The first match, in one minute' }).waitFor();
  await expectGood(page);
});

test('a thousand public bots are searched and shown', async () => {
  const page = await pages.open(server({ bots: Array.from({ length: 1_000 }, (_, n) => publicBot(n)) }), '/bots');
  for (let shown = 100; shown < 1_000; shown += 100) {
    await expect.poll(() => page.locator('.bots li').count()).toBe(shown);
    await page.getByRole('button', { name: 'Show more' }).click();
  }
  await expect.poll(() => page.locator('.bots li').count()).toBe(1_000);
  await expectGood(page);
  await page.getByRole('searchbox').fill('bot 999');
  await expect.poll(() => page.locator('.bots li').count()).toBe(1);
  await expect.poll(() => new URL(page.url()).search).toBe('?name=bot+999');
});

test('own bots come by themselves up to a thousand, the rest on request', async () => {
  const own = Array.from({ length: 1_150 }, (_, n) => ({ ...publicBot(n), url: 'https://snake.example', is_public: false }));
  const page = await pages.open(signedIn(server({ own, bots: [] })), '/bots');
  const rows = page.getByRole('region', { name: 'Yours' }).locator('.bots li');
  await expect.poll(() => rows.count()).toBe(1_000);
  await page.getByRole('button', { name: 'Show more' }).click();
  await expect.poll(() => rows.count()).toBe(1_100);
});

test('a bot is registered, and what was typed outlives a refusal and a lost server', async () => {
  const api = signedIn(server({ own: [] }));
  const page = await pages.open(api, '/bots?register');
  await page.getByText('You have registered none yet.').waitFor();
  await page.getByRole('textbox', { name: 'Name' }).fill('Ophidia');
  await page.getByRole('textbox', { name: 'URL' }).fill('http://10.0.0.1/');
  api.on('POST /api/snakes', { ...problem(400, 'private_address', 'this address is not public'), json: { status: 400, code: 'private_address', detail: 'this address is not public', field: '/url' } });
  await page.getByRole('button', { name: 'Register', exact: true }).click();
  await page.getByText('This address is not public (private_address)').waitFor();
  expect(await page.getByRole('textbox', { name: 'URL' }).getAttribute('aria-invalid')).toBe('true');
  await expectGood(page);
  api.isDown = true;
  await page.getByRole('button', { name: 'Register', exact: true }).click();
  await page.getByText('What you typed stays').waitFor();
  api.isDown = false;
  api.on('POST /api/snakes', { status: 201, json: ownBot() });
  await page.getByRole('button', { name: 'Register', exact: true }).click();
  await page.waitForURL(`**/bots/${BOT}?tab=health`);
  await page.getByRole('button', { name: 'Call it now' }).waitFor();
});

test('a check shows times and faults, and what the bot sent stays text', async () => {
  const api = signedIn(server()).on('POST /api/snakes/{id}/check', problem(429, 'too_many_checks', 'this account had ten checks in this minute'));
  const page = await pages.open(api, `/bots/${BOT}?tab=health`);
  await page.getByRole('button', { name: 'Call it now' }).click();
  await page.getByText('This account had ten checks in this minute (too_many_checks)').waitFor();
  api.on('POST /api/snakes/{id}/check', { json: check(true) });
  await page.getByRole('button', { name: 'Call it now' }).click();
  await page.getByText('It can play.').waitFor();
  expect(await page.locator('[data-call]').count()).toBe(4);
  expect(await page.locator('[data-call=move] [data-step=connect]').count()).toBe(2);
  await page.getByText('What was sent, what came back').first().click();
  await page.getByText('<html>Welcome!').first().waitFor();
  expect(await page.locator('main script').count()).toBe(0);
});

test('a paused bot says why; one that never played has no figures', async () => {
  const reason = { code: 'late', problem: 'the answer came too late', remedy: 'make it answer sooner', detail: null };
  const api = signedIn(server()).on('GET /api/snakes/{id}/health', { json: health({ status: 'paused', reason }) }).on('GET /api/snakes/{id}/latency', { json: latency(0) });
  const page = await pages.open(api, `/bots/${BOT}?tab=health`);
  await page.locator('[data-health=paused]').waitFor();
  await page.getByText('Make it answer sooner.').waitFor();
  await page.getByText('It was asked for no move').waitFor();
  await expectGood(page);
});

test('strangers see the record and the matches, and nothing of the owner’s', async () => {
  const api = server().on('GET /api/snakes/{id}/profile', { json: profile({ is_own: false, leaderboards: [ladder()] }) });
  const page = await pages.open(api, `/bots/${BOT}?tab=settings`);
  await charts(page).waitFor();
  expect(await page.getByRole('link', { name: 'Settings' }).count()).toBe(0);
  await page.getByRole('link', { name: 'Matches', exact: true }).last().click();
  await page.locator('[data-status]').waitFor();
  expect(await page.getByText('Why Ophidia lost').count()).toBe(0);
  for (const path of [`/api/snakes/${BOT}`, `/api/snakes/${BOT}/health`, `/api/snakes/${BOT}/latency`]) expect(asked(api, `GET ${path}`)).toEqual([]);
});

test('a bot that is not there', async () => {
  const page = await pages.open(server().on('GET /api/snakes/{id}/profile', problem(404, 'no_such_snake', 'there is no such snake')), `/bots/${BOT}`);
  await page.getByText('There is no such thing as this bot').waitFor();
  await expectGood(page);
});

test('settings: change, join, sign, delete', async () => {
  const api = signedIn(server());
  const page = await pages.open(api, `/bots/${BOT}?tab=settings`);
  await page.getByRole('textbox', { name: 'Name' }).fill('Ophidia 2');
  await page.getByRole('checkbox', { name: 'Public' }).uncheck();
  await page.getByText('it leaves all its ladders at once').waitFor();
  api.on('PUT /api/snakes/{id}', ({ body }) => ({ json: { ...ownBot(), ...(body as object), updated_at: '2026-02-01T00:00:00Z' } }));
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  expect(asked(api, `PUT /api/snakes/${BOT}`)[0]?.body).toEqual({ name: 'Ophidia 2', url: 'https://snake.example/ophidia', is_public: false });

  api.on('PUT /api/snakes/{id}', problem(409, 'duplicate_name', 'another bot of yours has this name'));
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Another bot of yours has this name (duplicate_name)').waitFor();
  expect(await page.getByText('Saved.').count()).toBe(0);

  api.on('POST /api/leaderboards/{id}/entries', () => {
    api.on('GET /api/snakes/{id}/profile', { json: profile({ leaderboards: [ladder()] }) });
    return { status: 201, json: {} };
  });
  await page.getByRole('button', { name: 'Join Standard 11x11' }).click();
  await page.getByRole('button', { name: 'Leave Standard 11x11' }).waitFor();

  api.on('POST /api/snakes/{id}/signing-secret', { status: 201, json: { secret: 'bsec_once', created_at: '2026-02-01T00:00:00Z', previous_until: null } });
  await page.getByRole('button', { name: 'Make a new secret' }).click();
  await page.getByText('bsec_once').waitFor();
  await expectGood(page);
  expect(await page.evaluate(() => JSON.stringify([localStorage, sessionStorage]).includes('bsec_once'))).toBe(false);
  await page.getByRole('button', { name: /^Hide/ }).click();
  await page.getByText('bsec_once').waitFor({ state: 'detached' });

  await page.getByRole('button', { name: 'Delete this bot' }).click();
  await page.getByText('This cannot be undone.').waitFor();
  api.on('DELETE /api/snakes/{id}', { status: 204 });
  await page.getByRole('button', { name: 'Delete Ophidia', exact: true }).click();
  await page.waitForURL('**/bots');
});

test('from a lost match to its deciding request in two clicks', async () => {
  const api = signedIn(server({ games: [{ ...game(1), id: GAME }] }));
  const page = await pages.open(api, `/bots/${BOT}`);
  await page.getByRole('link', { name: 'Lost', exact: true }).click();
  await expect.poll(() => asked(api, `GET /api/snakes/${BOT}/games`).at(-1)?.query.get('outcome')).toBe('lost');
  await page.getByRole('link', { name: 'Why Ophidia lost' }).click();
  await page.locator('[data-evidence="57"]').waitFor();
});

test('evidence is walked by keys, linked, and copied as a command', async () => {
  const answer = { class: 'malformed', latency_ms: 3, move: 'up', shout: '', response: { status: 200, excerpt: '<b>no</b>' } };
  const api = signedIn(server()).on(`GET /api/games/${GAME}/snakes/0/turns/8`, { json: evidence(8, { answer }) });
  const page = await pages.open(api, `/games/${GAME}/bots/0`, { permissions: ['clipboard-read', 'clipboard-write'] });
  await page.locator('[data-evidence="59"]').waitFor();
  for (const [key, turn] of [['ArrowLeft', 58], ['p', 53], ['n', 59], ['Home', 0], ['n', 8], ['ArrowRight', 9], ['ArrowLeft', 8]] as const) {
    await page.keyboard.press(key);
    await page.locator(`[data-evidence="${turn}"]`).waitFor();
    await expect.poll(() => new URL(page.url()).search).toBe(`?turn=${turn}`);
  }
  await page.getByText('<b>no</b>').waitFor();
  expect(await page.locator('main pre b').count()).toBe(0);
  const prompted = new Promise<string>((resolve) => page.once('dialog', (dialog) => (resolve(dialog.defaultValue()), void dialog.dismiss())));
  await page.getByRole('button', { name: 'Copy as curl' }).click();
  expect(await prompted).toContain('# turn 8');
});

test('evidence of others is refused, and a match of 2,500 turns has it in pages', async () => {
  const api = signedIn(server());
  api.on(`GET /api/games/${GAME}/snakes/1/turns`, problem(403, 'not_your_snake', 'this snake is another account’s'));
  const page = await pages.open(api, `/games/${GAME}/bots/1`);
  await page.getByText('not_your_snake').waitFor();
  await expectGood(page);
  api.on(`GET /api/games/${GAME}/snakes/0/turns`, ({ query }) => ({ json: turns(2_500, Number(query.get('offset') ?? 0)) }));
  const long = await pages.open(api, `/games/${GAME}/bots/0?turn=999`);
  await long.locator('[data-evidence="999"]').waitFor();
  await long.keyboard.press('ArrowRight');
  await long.locator('[data-evidence="1000"]').waitFor();
  await long.locator('tr.shown').getByText('1,000').waitFor();
  await expectGood(long);
});

test('a device without network is told, and the page goes on', async () => {
  const api = signedIn(server());
  const page = await pages.open(api, `/bots/${BOT}?tab=health`);
  await charts(page).waitFor();
  await page.context().setOffline(true);
  await page.getByText('This device has no network').waitFor();
  await expectGood(page);
  await page.context().setOffline(false);
  await page.getByText('Connected again').waitFor();
});
