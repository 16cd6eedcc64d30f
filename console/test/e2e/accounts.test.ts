// Invitations, sign-in links and the account's own page, in Chromium, against a server that the test plays.
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { FakeApi, problem } from '../api.ts';
import { expectGood, expectGoodInEveryScheme, Pages } from '../pages.ts';

const pages = new Pages();
const LATER = new Date(Date.now() + 86_400_000).toISOString();
const BEFORE = new Date(Date.now() - 86_400_000).toISOString();
const INVITE = `gni_${'0'.repeat(40)}`;
const LINK = `gns_${'1'.repeat(40)}`;
const GONE = problem(410, 'invite_gone', 'this invitation was used, withdrawn, has expired, or never was');
const id = (n: number) => `01a20a0e-e204-71dd-a91a-${String(n).padStart(12, '0')}`;
const session = (more: object = {}) => ({ player: id(1), role: 'player', name: 'Ann', is_guest: false, expires_at: LATER, token: id(7), account: { created_at: BEFORE, snakes: 2, tokens: 2 }, ...more });
const token = (n: number, more: object = {}) => ({ id: id(n), name: `laptop ${n}`, role: 'player', purpose: 'use', created_at: BEFORE, last_used_at: null, expires_at: null, ...more });
const invite = (n: number) => ({ id: id(n), role: 'player', name: n % 2 ? `Guest of honour ${n}` : null, made_by: 'Ann', created_at: BEFORE, expires_at: LATER });

function server(view: object | null = null) {
  const api = new FakeApi();
  api.session = view;
  api.on('POST /api/invites/inspect', { json: { role: 'player', name: 'Ann', made_by: 'Bob', expires_at: LATER } });
  api.on('POST /api/sign-in-links/inspect', { json: { role: 'player', account: 'Ann', expires_at: LATER } });
  api.on('GET /api/tokens', { json: [token(7, { name: 'browser', expires_at: LATER, last_used_at: BEFORE }), token(8)] });
  api.on('GET /api/invites', { json: [invite(1), invite(2)] });
  return api;
}

/** Redeeming signs in, as a cookie would. */
function signsIn(api: FakeApi, route: string) {
  return api.on(route, () => {
    api.session = session();
    return { status: 201, json: session() };
  });
}

const asked = (api: FakeApi, path: string) => api.asked.filter((one) => one.path === path);
/** Everywhere a page could leave a secret where another person finds it later. */
const leftBehind = (page: Page) => page.evaluate(() => [location.href, document.documentElement.outerHTML, JSON.stringify({ ...sessionStorage, ...localStorage })].join('\n'));

test('the pages of accounts are accessible, in every scheme', async () => {
  let page = await pages.open(server(), `/join#${INVITE}`);
  await page.getByLabel('Your name').waitFor();
  await expectGoodInEveryScheme(page);
  page = await pages.open(server().on('POST /api/invites/inspect', GONE), `/join#${INVITE}`);
  await page.getByText('This invitation is not open').waitFor();
  await expectGoodInEveryScheme(page);
  page = await pages.open(server(session()), `/sign-in#${LINK}`);
  await page.getByText('and then is not any more').waitFor();
  await expectGoodInEveryScheme(page);
  page = await pages.open(server(), '/account');
  await page.getByText('Nobody is signed in').waitFor();
  await expectGoodInEveryScheme(page);
  page = await pages.open(server(session({ role: 'operator' })), '/account');
  await page.getByText('laptop 8').waitFor();
  await expectGoodInEveryScheme(page);
  await page.getByRole('button', { name: 'Delete laptop 8' }).click();
  await page.getByText('are refused from now on').waitFor();
  await expectGoodInEveryScheme(page);
});

test('a link that is gone is looked at once, and says so however soon the answer is there', async () => {
  const api = server().on('POST /api/sign-in-links/inspect', GONE);
  for (let n = 0; n < 5; n += 1) {
    const page = await pages.open(api, `/sign-in#${LINK}`);
    await page.getByText('This link is not open').waitFor();
  }
  expect(asked(api, '/api/sign-in-links/inspect')).toHaveLength(5);
});

test('an invitation is redeemed, and its code stays nowhere', async () => {
  const api = signsIn(server(), 'POST /api/invites/redeem');
  const page = await pages.open(api, `/join#${INVITE}`);
  await page.getByText('Bob invites you').waitFor();
  expect(page.url()).toBe('http://console.test/join');
  await page.getByLabel('Your name').fill(' Ann ');
  await page.getByRole('button', { name: 'Join' }).click();
  await page.getByText('Welcome, Ann').waitFor();
  await page.getByRole('link', { name: 'Ann' }).waitFor();
  await expectGood(page);
  expect(asked(api, '/api/invites/redeem').map(({ body }) => body)).toEqual([{ code: INVITE, name: 'Ann' }]);
  expect(await leftBehind(page)).not.toContain(INVITE);
  await page.goBack();
  expect(page.url()).not.toContain(INVITE);
});

test('a name that is taken uses nothing up, and a reload loses nothing', async () => {
  const api = server().on('POST /api/invites/redeem', problem(409, 'duplicate_name', 'another account has this name'));
  const page = await pages.open(api, `/join#${INVITE}`);
  await page.getByLabel('Your name').fill('Ann');
  await page.getByRole('button', { name: 'Join' }).click();
  await page.getByText('Another account has this name (duplicate_name)').waitFor();
  await page.reload();
  await expect.poll(() => page.getByLabel('Your name').inputValue()).toBe('Ann');
  signsIn(api, 'POST /api/invites/redeem');
  await page.getByLabel('Your name').fill('Ann B');
  await page.getByRole('button', { name: 'Join' }).click();
  await page.getByText('Welcome, Ann').waitFor();
});

test('a lost answer is asked for again with the same key, also after a reload', async () => {
  const api = server().on('POST /api/invites/redeem', problem(503, 'store_away', 'the store cannot be reached'));
  const page = await pages.open(api, `/join#${INVITE}`);
  const keys: (string | undefined)[] = [];
  page.on('request', (request) => request.url().endsWith('/redeem') && keys.push(request.headers()['idempotency-key']));
  await page.getByLabel('Your name').fill('Ann');
  await page.getByRole('button', { name: 'Join' }).click();
  await page.getByText('The store cannot be reached (store_away)').waitFor();
  // It was done nevertheless: the code is used up.
  api.on('POST /api/invites/inspect', GONE);
  await page.reload();
  await page.getByText('may have been done').waitFor();
  await expectGood(page);
  signsIn(api, 'POST /api/invites/redeem');
  await page.getByRole('button', { name: 'Try again as Ann' }).click();
  await page.getByText('Welcome, Ann').waitFor();
  expect(keys).toHaveLength(2);
  expect(keys[0]).toBe(keys[1]);
  expect(keys[0]?.length).toBeGreaterThanOrEqual(16);
});

test('an invitation that somebody else uses first is gone', async () => {
  const api = server().on('POST /api/invites/redeem', GONE);
  const page = await pages.open(api, `/join#${INVITE}`);
  await page.getByLabel('Your name').fill('Ann');
  api.on('POST /api/invites/inspect', GONE);
  await page.getByRole('button', { name: 'Join' }).click();
  await page.getByText('This invitation is not open').waitFor();
  expect(await leftBehind(page)).not.toContain(INVITE);
});

test.each([
  [`/join#${INVITE}`, 'Bob invites you'],
  [`/sign-in#${LINK}`, 'This link signs you in as Ann'],
])('a browser that remembers nothing opens %s', async (path, words) => {
  const page = await pages.open(server(), '/account');
  await page.addInitScript(() => {
    const forbidden = { get: () => { throw new DOMException('forbidden', 'SecurityError'); } };
    Object.defineProperties(window, { sessionStorage: forbidden, localStorage: forbidden });
  });
  await page.goto(`http://console.test${path}`);
  await page.getByText(words).waitFor();
});

test('without a server what was opened waits, and comes', async () => {
  const api = server();
  api.isDown = true;
  const page = await pages.open(api, `/join#${INVITE}`);
  await page.getByText('The server cannot be reached').first().waitFor();
  api.isDown = false;
  await page.getByText('Bob invites you').waitFor();
});

test('a page that is opened without a code says how', async () => {
  const page = await pages.open(server(), '/join');
  await page.getByText('An invitation opens here').waitFor();
  await page.evaluate((code) => (location.hash = code), INVITE);
  await page.getByText('Bob invites you').waitFor();
  expect(new URL(page.url()).hash).toBe('');
});

test('a sign-in link signs in by one press', async () => {
  const api = signsIn(server(), 'POST /api/sign-in-links/redeem');
  const page = await pages.open(api, `/sign-in#${LINK}`);
  expect(asked(api, '/api/sign-in-links/redeem')).toEqual([]);
  await page.getByRole('button', { name: 'Sign in as Ann' }).click();
  await page.getByText('You are signed in as Ann').waitFor();
  expect(await leftBehind(page)).not.toContain(LINK);
  await expectGood(page);
});

test('the id that organizers ask for is shown, to be copied', async () => {
  const page = await pages.open(server(session()), '/account');
  await page.getByText(id(1)).waitFor();
  // Without TLS a browser has no clipboard for pages: they offer the text.
  const offered = page.waitForEvent('dialog').then(async (dialog) => (await dialog.dismiss(), dialog.defaultValue()));
  await page.getByRole('button', { name: /^Copy.*account’s id/ }).click();
  expect(await offered).toBe(id(1));
});

test('tokens are made, shown once and deleted', async () => {
  const secret = `gnt_${'2'.repeat(40)}`;
  const api = server(session()).on('POST /api/tokens', ({ body }) => ({ status: 201, json: { ...token(9, body as object), secret } }));
  api.on('DELETE /api/tokens/{id}', { status: 204 });
  const page = await pages.open(api, '/account');
  await page.getByLabel('Name of a new token').fill('robot');
  await page.getByRole('button', { name: 'Make a token' }).click();
  await page.getByText(secret).waitFor();
  expect(asked(api, '/api/tokens').find(({ method }) => method === 'POST')?.body).toEqual({ name: 'robot', role: 'player', purpose: 'use' });
  expect(await page.getByRole('combobox', { name: 'For', exact: true }).count()).toBe(0);
  expect(await page.getByLabel('It may do what').getByRole('option').allInnerTexts()).toEqual(['a guest', 'a player']);
  await expectGood(page);
  await page.getByRole('button', { name: 'Delete laptop 8' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete laptop 8' }).click();
  await expect.poll(() => asked(api, `/api/tokens/${id(8)}`).length).toBe(1);
  await page.reload();
  await page.getByText('laptop 8').waitFor();
  expect(await leftBehind(page)).not.toContain(secret);
});

test('the token of this browser says that it signs out', async () => {
  const api = server(session());
  api.on('DELETE /api/tokens/{id}', () => {
    api.session = null;
    return { status: 204 };
  });
  const page = await pages.open(api, '/account');
  await page.getByRole('button', { name: 'Delete browser' }).click();
  await page.getByText('you are signed out here').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete browser' }).click();
  await page.getByText('Nobody is signed in').waitFor();
});

test('an account is deleted by its name, and says first what goes', async () => {
  const held = { id: id(1), name: 'Ann', tokens: 1, snakes: 1_200, games_waiting: 0, duels: 0, tournaments: 1, leaderboards: 0, hunts: 0 };
  const api = server(session()).on('GET /api/account/deletion', { json: held });
  api.on('DELETE /api/account', problem(400, 'bad_value', 'to confirm, name the account that is to be deleted: Ann'));
  const page = await pages.open(api, '/account');
  await page.getByRole('button', { name: 'Delete my account' }).click();
  await page.getByText('With it go: 1,200 bots, 1 token, 1 tournament.').waitFor();
  await page.getByRole('button', { name: 'Delete it for ever' }).click();
  await page.getByText('name the account that is to be deleted').waitFor();
  await expectGoodInEveryScheme(page);
  api.on('DELETE /api/account', () => {
    api.session = null;
    return { json: held };
  });
  await page.getByLabel('To confirm, type the account’s name: Ann').fill('Ann');
  await page.getByRole('button', { name: 'Delete it for ever' }).click();
  await page.getByText('Nobody is signed in').waitFor();
  expect(asked(api, '/api/account').map(({ body }) => body)).toEqual([{ name: '' }, { name: 'Ann' }]);
});

test('an operator makes a token for load tests', async () => {
  const api = server(session({ role: 'operator' })).on('POST /api/tokens', ({ body }) => ({ status: 201, json: { ...token(9, body as object), secret: 'gnt_2' } }));
  const page = await pages.open(api, '/account');
  await page.getByLabel('Name of a new token').fill('load');
  await page.getByRole('combobox', { name: 'For', exact: true }).selectOption('load tests');
  await page.getByRole('button', { name: 'Make a token' }).click();
  await page.getByText('gnt_2').waitFor();
  expect(asked(api, '/api/tokens').find(({ method }) => method === 'POST')?.body).toEqual({ name: 'load', role: 'player', purpose: 'load_test' });
});

test('an operator invites, copies the link and takes one back; a player sees nothing of it', async () => {
  const api = server(session({ role: 'operator' }));
  api.on('POST /api/invites', ({ body }) => ({ status: 201, json: { ...invite(9), ...(body as object), code: INVITE, path: `/join#${INVITE}` } }));
  api.on('DELETE /api/invites/{id}', { status: 204 });
  const page = await pages.open(api, '/operate?tab=accounts');
  await page.getByLabel('For whom').fill('Cam');
  await page.getByRole('button', { name: 'Invite', exact: true }).click();
  const shown = page.getByText(`http://console.test/join#${INVITE}`);
  await shown.waitFor();
  await page.getByRole('button', { name: 'Hide' }).click();
  await shown.waitFor({ state: 'detached' });
  expect(asked(api, '/api/invites').find(({ method }) => method === 'POST')?.body).toEqual({ role: 'player', expires_in_s: 604_800, name: 'Cam' });
  await page.getByRole('button', { name: 'Withdraw the invitation for Guest of honour 1' }).click();
  await page.getByRole('button', { name: 'Withdraw it' }).click();
  await expect.poll(() => asked(api, `/api/invites/${id(1)}`).length).toBe(1);
  const other = await pages.open(server(session()), '/account');
  await other.getByText('laptop 8').waitFor();
  expect(await other.getByText('Invite people').count()).toBe(0);
});

test('a thousand invitations, in pages', async () => {
  const all = Array.from({ length: 1_000 }, (_, n) => invite(n + 10));
  const api = server(session({ role: 'admin' })).on('GET /api/invites', ({ query }) => {
    const from = query.get('after') ? all.findIndex((one) => one.id === query.get('after')) + 1 : 0;
    const rows = all.slice(from, from + 100);
    return { json: rows, headers: from + 100 < all.length ? { link: `</api/invites?after=${rows.at(-1)?.id}>; rel="next"` } : {} };
  });
  const page = await pages.open(api, '/operate?tab=accounts');
  const rows = page.getByRole('group', { name: 'Open invitations' }).locator('tbody tr');
  for (let shown = 100; shown < 1_000; shown += 100) {
    await expect.poll(() => rows.count()).toBe(shown);
    await page.getByRole('button', { name: 'Show more' }).click();
  }
  await expect.poll(() => rows.count()).toBe(1_000);
  await expectGood(page);
});

test('what the server refuses is said, with its code', async () => {
  const api = server(session()).on('GET /api/tokens', problem(403, 'role_too_weak', 'this token may not list tokens'));
  api.on('POST /api/sign-in-links', problem(409, 'too_many_sign_in_links', '16 links of the account are open'));
  const page = await pages.open(api, '/account');
  await page.getByText('This token may not list tokens (role_too_weak)').waitFor();
  await page.getByRole('button', { name: 'Make a link' }).click();
  await page.getByText('16 links of the account are open (too_many_sign_in_links)').waitFor();
  api.on('DELETE /api/session', problem(503, 'store_away', 'the store cannot be reached'));
  await page.getByRole('main').getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You are still signed in. The store cannot be reached (store_away)').waitFor();
  await expectGood(page);
});
