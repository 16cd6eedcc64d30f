// The page for operators: each of its parts in every state and scheme, and who may see it; what load, limits, ending something and accounts do.
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { FakeApi, problem } from '../api.ts';
import { ADMIN, BANS, ENTRIES, errors, ID, inspection, listedAccount, listedGame, listedTable, metrics, node, operated, OPERATOR, others, paged, policy, remembered, stats, table, tokenOf, uuid } from '../operate.ts';
import { expectGood, expectGoodInEveryScheme, expectPartComesBack, Pages } from '../pages.ts';

const pages = new Pages();
const PAGE = '/operate';
const BANS_PAGE = `${PAGE}?tab=bans`;
const LOG = `${PAGE}?tab=audit`;
const text = (page: Page, what: string | RegExp) => page.getByText(what).first().waitFor();
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
const exactly = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const askedFor = (api: FakeApi, method: string, path: string) => api.asked.filter((asked) => asked.method === method && asked.path === path);

const STATES: readonly (readonly [string, string, (api: FakeApi) => void, string | RegExp])[] = [
  ['load', PAGE, () => {}, /1,234\.5|1,235\/s/],
  ['load of a server that just began', PAGE, (api) => api.on('GET /api/admin/stats', { json: stats({ timing: Object.fromEntries(Object.keys(stats().timing).map((name) => [name, { p50: null, p99: null }])) as never, process: { uptime_s: 2, rss_bytes: null, cpu_s: null, threads: null, open_files: null } }) }), 'up for 2 s'],
  ['load with as many kinds of failures as the server tells', PAGE, (api) => api.on('GET /api/admin/stats', { json: stats({ recent_errors: errors(20) }) }), /snake 1 could not be reached/],
  ['load of a server that is not ready', PAGE, (api) => api.on('GET /readyz', { status: 503, json: { ready: false, checks: [{ name: 'store', ok: false, detail: 'it cannot be reached' }] } }), 'store: it cannot be reached'],
  ['load without metrics', PAGE, (api) => api.on('GET /metrics', { status: 500, body: 'no', headers: { 'content-type': 'text/plain' } }), /metrics of this server could not be read/],
  ['nodes', `${PAGE}?tab=nodes`, () => {}, '2 nodes live, 1 has gone.'],
  ['one node', `${PAGE}?tab=nodes`, (api) => api.on('GET /api/admin/nodes', { json: [node()] }), /has its database for itself/],
  ['no nodes', `${PAGE}?tab=nodes`, (api) => api.on('GET /api/admin/nodes', { json: [] }), /No node has a lease now/],
  ['nodes for an operator', `${PAGE}?tab=nodes`, (api) => Object.assign(api, { session: OPERATOR }), /drained by an admin here, or by SIGTERM/],
  ['limits', `${PAGE}?tab=limits`, () => {}, 'trial-run'],
  ['no policies', `${PAGE}?tab=limits`, (api) => api.on('GET /api/limits/policies', { json: { scope: 'process', shadow: false, policies: [] } }), /No policy is in force/],
  ['a limiter in shadow', `${PAGE}?tab=limits`, (api) => api.on('GET /api/limits/policies', { json: { scope: 'process', shadow: true, policies: [policy('search')] } }), /whole limiter is in shadow mode/],
  ['a thousand policies', `${PAGE}?tab=limits`, (api) => api.on('GET /api/limits/policies', { json: { scope: 'process', shadow: false, policies: Array.from({ length: 1_000 }, (_, at) => policy(`policy-${at}`)) } }), 'Show more of 1,000'],
  ['a policy', `${PAGE}?tab=limits&policy=trial-run`, () => {}, 'It was set over the API'],
  ['a new policy', `${PAGE}?tab=limits&policy=`, () => {}, 'No room to count one more key'],
  ['tables', `${PAGE}?tab=end`, () => {}, 'Guest 2’s table'],
  ['no tables', `${PAGE}?tab=end`, (api) => api.on('GET /api/stories/lobby', { json: [] }), 'No table waits for players now.'],
  ['a table that was found', `${PAGE}?tab=end&id=${ID}`, () => {}, 'Rude guest'],
  ['no such table', `${PAGE}?tab=end&id=${ID}`, (api) => api.on('GET /api/stories/tables/{table}', problem(404, 'no_such_table', 'there is no such table')), 'There is none of this id here'],
  ['matches', `${PAGE}?tab=end&kind=games`, () => {}, 'Hungry against Flood'],
  ['a match that was found', `${PAGE}?tab=end&kind=games&id=${ID}`, () => {}, 'on 10.0.0.2:4000'],
  ['hunts', `${PAGE}?tab=end&kind=hunts`, () => {}, 'The server makes it itself.'],
  ['worlds', `${PAGE}?tab=end&kind=worlds`, () => {}, 'meadow'],
  ['tournaments', `${PAGE}?tab=end&kind=tournaments`, () => {}, 'Spring cup'],
  ['ladders', `${PAGE}?tab=end&kind=ladders`, () => {}, 'Standard 11x11'],
  ['accounts', `${PAGE}?tab=accounts`, () => {}, 'Make a token for an account'],
  ['accounts for an operator', `${PAGE}?tab=accounts`, (api) => Object.assign(api, { session: OPERATOR }), /your role is operator/],
  ['accounts of a name that nobody has', `${PAGE}?tab=accounts&name=zz`, (api) => api.on('GET /api/admin/accounts', { json: [] }), 'No account’s name begins with “zz”.'],
  ['tokens of an account', `${PAGE}?tab=accounts&account=${uuid(2)}`, () => {}, 'script 2'],
  ['an account without tokens', `${PAGE}?tab=accounts&account=${uuid(2)}`, (api) => api.on('GET /api/admin/accounts/{id}/tokens', { json: [] }), /nobody is signed in with it/],
  ['no such account', `${PAGE}?tab=accounts&account=${ID}`, (api) => api.on('GET /api/admin/accounts/{id}/tokens', problem(404, 'no_such_account', 'there is no such account')), 'There is no account of this id: the link is wrong.'],
  ['no invitations', `${PAGE}?tab=accounts`, (api) => api.on('GET /api/invites', { json: [] }), 'None is open.'],
  ['bans', BANS_PAGE, () => {}, '2001:db8::/32'],
  ['bans for an operator', BANS_PAGE, (api) => Object.assign(api, { session: OPERATOR }).on('GET /api/admin/bans', { json: BANS.map((one, at) => ({ ...one, may_lift: at < 3 })) }), 'Only admins enable it.'],
  ['no bans', BANS_PAGE, (api) => api.on('GET /api/admin/bans', { json: [] }), 'Nobody is banned.'],
  ['bans that nothing matches', `${BANS_PAGE}&q=zzz`, () => {}, 'No ban in what was looked through is so.'],
  ['a ban of a player from a link', `${BANS_PAGE}&player=${uuid(7)}`, () => {}, 'Id of the player'],
  ['the audit log', LOG, () => {}, 'refused: bad_value'],
  ['no entries', LOG, (api) => api.on('GET /api/admin/audit', { json: [] }), 'Nothing was changed yet.'],
  ['no entries of a filter', `${LOG}&action=drain&target=node:a`, (api) => api.on('GET /api/admin/audit', { json: [] }), 'No entry in what was looked through is so.'],
  ['entries that were refused', `${LOG}&outcome=refused`, () => {}, 'refused: bad_value'],
  ['an entry', `${LOG}&entry=${ENTRIES[0]?.id}`, () => {}, 'All that they did'],
  ['an entry of the command line', `${LOG}&entry=${ENTRIES[2]?.id}`, () => {}, 'none was given'],
  ['an entry that is gone', `${LOG}&entry=${ID}`, () => {}, /There is no such entry/],
  ['settings', `${PAGE}?tab=settings`, () => {}, 'flag --port'],
  ['settings that nothing matches', `${PAGE}?tab=settings&q=zzz`, () => {}, 'No setting has these letters.'],
  ['a stranger', PAGE, (api) => Object.assign(api, { session: null }), /You are not signed in/],
  ['a player', PAGE, (api) => Object.assign(api, { session: { ...OPERATOR, role: 'player' } }), /You are signed in as player/],
];

test.each(STATES)('%s: good to read in every scheme', async (_, path, play, shown) => {
  const api = operated();
  play(api);
  const page = await pages.visit(api, path);
  await text(page, shown);
  await expectGoodInEveryScheme(page);
});

const PARTS: readonly [string, string, string][] = [
  [PAGE, 'GET /api/admin/stats', 'In memory: tables'],
  [`${PAGE}?span=day`, 'GET /api/admin/history', 'Processor: of one core'],
  [`${PAGE}?tab=limits`, 'GET /api/limits/policies', 'Policies in force'],
  [`${PAGE}?tab=end`, 'GET /api/stories/lobby', 'Guest 2’s table'],
  [`${PAGE}?tab=nodes`, 'GET /api/admin/nodes', '10.0.0.2:4000'],
  [`${PAGE}?tab=accounts`, 'GET /api/invites', 'Friend 1'],
  [`${PAGE}?tab=accounts`, 'GET /api/admin/accounts', 'guild-1'],
  [`${PAGE}?tab=accounts&account=${uuid(2)}`, 'GET /api/admin/accounts/{id}/tokens', 'script 2'],
  [BANS_PAGE, 'GET /api/admin/bans', '2001:db8::/32'],
  [LOG, 'GET /api/admin/audit', 'refused: bad_value'],
  [`${PAGE}?tab=settings`, 'GET /api/admin/config', 'server.port'],
];

test.each(PARTS)('%s says that it loads, why it is refused with the code to quote, and comes back by itself from a lost connection', async (path, what, shown) => {
  const api = operated();
  const answer = operated();
  let arrive = () => {};
  api.on(what, () => new Promise((resolve) => (arrive = () => resolve(problem(403, 'role_too_weak', 'this takes the role operator')))));
  const page = await pages.open(api, path);
  await page.locator('main [data-standing=loading]').first().waitFor();
  await expectGood(page);
  arrive();
  await text(page, 'This takes the role operator (role_too_weak)');
  await expectGood(page);
  api.isDown = true;
  await button(page, 'Try again').first().click();
  await text(page, /The server cannot be reached. What you see stays/);
  await expectGood(page);
  api.isDown = false;
  api.replay(what, answer);
  await page.getByText(shown).first().waitFor();
});

test.each(PARTS)('%s: %s that fails for the moment is said, and comes back', (path, what, shown) => expectPartComesBack(pages, operated(), operated(), path, what, shown));

test('nothing of operators is asked for by others', async () => {
  for (const session of [null, { ...OPERATOR, role: 'player' }, { ...OPERATOR, role: 'guest', is_guest: true }]) {
    const api = operated(session as never);
    const page = await pages.open(api, PAGE);
    await page.locator('[data-standing=needed]').waitFor();
    expect(await page.getByRole('link', { name: 'Operate' }).count()).toBe(0);
    expect(api.asked.filter(({ path }) => /admin|limits|metrics|invites/.test(path))).toEqual([]);
  }
});

test('charts show how far back one asks, and the link names it', async () => {
  const api = operated();
  const page = await pages.open(api, PAGE);
  await page.locator('[data-step="1"]').waitFor();
  expect(await page.locator('[data-step] figure').count()).toBe(8);
  await page.getByRole('link', { name: '2 hours' }).click();
  await page.locator('[data-step="10"]').waitFor();
  expect(page.url()).toContain('span=hours');
  expect(askedFor(api, 'GET', '/api/admin/history').map(({ query }) => query.get('step'))).toEqual(['1', '10']);
  await page.getByText('Figures of “Memory”').click();
  await expect.poll(() => page.locator('figure').filter({ hasText: 'Held by the program' }).locator('tbody tr').filter({ hasText: /–.*–/s }).count()).toBe(1);
  await expectGoodInEveryScheme(page);
});

test('a server that has just begun says that it remembers nothing', async () => {
  const api = operated();
  api.on('GET /api/admin/history', ({ query }) => ({ json: remembered(query.get('series') ?? '', 1, 0) }));
  const page = await pages.open(api, PAGE);
  await text(page, 'it remembers nothing yet');
  expect(await page.locator('[data-step]').count()).toBe(0);
});

test('charts grow with what is read, not while the page is hidden', async () => {
  let refused = 40;
  let uptime = 100;
  const api = operated();
  api.on('GET /metrics', () => ({ body: metrics((refused += 10)), headers: { 'content-type': 'text/plain' } }));
  api.on('GET /api/admin/stats', () => ({ json: stats({ process: { uptime_s: (uptime += 5), cpu_s: uptime / 2, rss_bytes: 5e7, threads: 3, open_files: 20 } }) }));
  const page = await pages.open(api, `${PAGE}?tab=limits`);
  await page.clock.install();
  await page.reload();
  const refusedOf = page.getByRole('row', { name: /^search/ }).getByRole('cell').nth(4);
  await expect.poll(() => refusedOf.innerText()).toBe('0');
  await expect.poll(async () => (await page.clock.runFor(5_100), refusedOf.innerText())).not.toBe('0');
  await page.evaluate(() => {
    Object.defineProperty(document, 'hidden', { configurable: true, value: true });
    document.dispatchEvent(new Event('visibilitychange'));
  });
  const before = askedFor(api, 'GET', '/api/admin/stats').length;
  await page.clock.runFor(120_000);
  expect(askedFor(api, 'GET', '/api/admin/stats').length).toBe(before);
  await page.evaluate(() => {
    Object.defineProperty(document, 'hidden', { configurable: true, value: false });
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await expect.poll(() => askedFor(api, 'GET', '/api/admin/stats').length).toBe(before + 1);
  // Two minutes of which nothing is known: a row of its own, without a figure.
  await page.getByText('Figures of “Decisions of all policies”').click();
  await expect.poll(() => page.locator('figure tbody tr').filter({ hasText: /–.*–/s }).count()).toBeGreaterThanOrEqual(3);
});

test('a table is found by its link, and ended; what is typed survives a refusal', async () => {
  let isOver = false;
  const api = operated(OPERATOR);
  api.on('GET /api/stories/tables/{table}', () => ({ json: table(isOver ? 'canceled' : 'vote') }));
  api.on('DELETE /api/stories/tables/{table}', problem(503, 'table_elsewhere', 'the node that owns the table did not answer'));
  const page = await pages.open(api, `${PAGE}?tab=end`);
  const field = page.getByLabel('Id or link of a table');
  await field.fill('the rude one');
  await button(page, 'Find it').click();
  await text(page, 'That has no id in it');
  await expectGood(page);
  await field.fill(`https://play.example/stories/${ID}`);
  await button(page, 'Find it').click();
  await page.locator(`[data-found="${ID}"]`).getByRole('button', { name: /^End its game/ }).click();
  await text(page, /everybody at the table is told that an operator closed it/);
  await expectGood(page);
  await exactly(page, 'Leave it as it is').click();
  expect(askedFor(api, 'DELETE', `/api/stories/tables/${ID}`)).toHaveLength(0);
  await page.locator(`[data-found="${ID}"]`).getByRole('button', { name: /^End its game/ }).click();
  await exactly(page, 'End its game').click();
  await text(page, 'The node that owns the table did not answer (table_elsewhere)');
  api.on('DELETE /api/stories/tables/{table}', () => ((isOver = true), { status: 204 }));
  await exactly(page, 'End its game').click();
  await text(page, 'The game of “Something nobody should read” is ended.');
  await text(page, 'No game is played there now.');
  await expectGood(page);
});

const ENDS: readonly [string, string, string, string, string][] = [
  ['games', 'POST /api/admin/games/{id}/cancel', `/api/admin/games/${uuid(1)}/cancel`, 'Cancel it', 'Hungry against Flood is cancelled.'],
  ['hunts', 'DELETE /api/hunts/{name}', '/api/hunts/harbour', 'End it', 'The hunt harbour is over.'],
  ['worlds', 'DELETE /api/worlds/{world}', '/api/worlds/meadow', 'End it', 'The world meadow is over.'],
  ['tournaments', 'POST /api/tournaments/{id}/cancel', `/api/tournaments/${ID}/cancel`, 'Cancel it', 'The tournament Spring cup is cancelled.'],
  ['ladders', 'DELETE /api/leaderboards/{id}', `/api/leaderboards/${ID}`, 'End it', 'The ladder Standard 11x11 has ended.'],
];

test.each(ENDS)('%s are ended from the list, once, after a question', async (kind, route, path, does, said) => {
  const api = operated(OPERATOR).on(route, { json: {} });
  const page = await pages.open(api, `${PAGE}?tab=end&kind=${kind}`);
  await button(page, new RegExp(`^${does} …`)).first().click();
  await text(page, 'This cannot be undone.');
  await expectGood(page);
  const [method = ''] = route.split(' ');
  expect(askedFor(api, method, path)).toHaveLength(0);
  await exactly(page, does).click();
  await text(page, said);
  expect(askedFor(api, method, path)).toHaveLength(1);
});

test('a match that failed is put back into the queue', async () => {
  const api = operated(OPERATOR).on('POST /api/admin/games/{id}/requeue', { json: {} }).on('GET /api/admin/games/{id}', { json: inspection({ status: 'failed', failure: 'the store was away', worker: null }) });
  const page = await pages.open(api, `${PAGE}?tab=end&kind=games&id=${ID}`);
  await text(page, 'failed: the store was away');
  await page.locator(`[data-found="${ID}"]`).getByRole('button', { name: /^Put it back/ }).click();
  await exactly(page, 'Put it back into the queue').click();
  await text(page, `Match ${ID} is in the queue again.`);
});

test.each([
  ['tables', 'GET /api/stories/lobby', '/api/stories/lobby', listedTable],
  ['games', 'GET /api/games', '/api/games', listedGame],
] as const)('a thousand %s are read in pages', async (kind, route, path, row) => {
  const api = operated().on(route, paged<unknown>(path, 1_000, row));
  const page = await pages.open(api, `${PAGE}?tab=end&kind=${kind}`);
  await page.locator('ul[data-count="100"]').waitFor();
  // Axe takes minutes for a thousand rows; they are all alike.
  await expectGood(page);
  for (let rows = 100; rows < 1_000; rows += 100) {
    await page.locator(`ul[data-count="${rows}"]`).waitFor();
    await button(page, 'Show more').click();
  }
  await page.locator('ul[data-count="1000"]').waitFor();
  expect(await button(page, 'Show more').count()).toBe(0);
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
});

test('a key is tried against the policies', async () => {
  const api = operated().on('POST /api/limits/check', { status: 429, json: { status: 429, title: 'Too Many Requests', code: 'rate_limited', detail: 'used up', allowed: false, retry_after_ms: 11_696, policies: [{ name: 'search', limit: 5, window_ms: 60_000, retry_after_ms: 11_696, shadow: false }, { name: 'trial-run', limit: 2, window_ms: 60_000, retry_after_ms: 29_696, shadow: true }] } });
  const page = await pages.open(api, `${PAGE}?tab=limits`);
  await page.getByLabel('Key', { exact: true }).fill('user:1');
  await page.getByLabel('Class', { exact: true }).fill('search');
  await button(page, 'Try it').click();
  await text(page, 'Refused for 11.7 s (rate_limited).');
  await text(page, /would refuse it: allows it in 29\.7 s/);
  expect(askedFor(api, 'POST', '/api/limits/check')[0]?.body).toEqual({ key: 'user:1', class: 'search', cost: 1 });
  await expectGood(page);
  api.on('POST /api/limits/check', problem(404, 'no_such_route', 'there is no such route'));
  await button(page, 'Try it').click();
  await text(page, /does not offer the limiter as a service/);
  expect(await page.getByLabel('Key', { exact: true }).inputValue()).toBe('user:1');
});

test('a policy leaves shadow mode after a question, and a key gets a quota of its own', async () => {
  const api = operated().on('PUT /api/limits/policies/{name}', { json: policy('trial-run') });
  api.on('PUT /api/limits/policies/{name}/overrides/{key}', { json: { policy: 'trial-run', key: 'user:42', limit: 100, window_ms: 60_000, source: 'api' } });
  const page = await pages.open(api, `${PAGE}?tab=limits`);
  await exactly(page, 'trial-run').click();
  await page.getByText('A quota of one key’s own').click();
  await page.getByRole('dialog').getByLabel('Key', { exact: true }).fill('user:42');
  await button(page, 'Set it …').click();
  await text(page, /From now on user:42 may take 100 units in 1 min/);
  await expectGood(page);
  await button(page, 'Yes, set it').click();
  await text(page, 'user:42 may take 100 in 1 min (set over the API).');
  await page.getByLabel('Shadow mode: decide and count, refuse nothing').uncheck();
  await button(page, 'Save …').click();
  await text(page, /whoever is beyond it now gets 429/);
  await expectGood(page);
  await button(page, 'Save it').click();
  await text(page, 'The policy trial-run holds now.');
  expect(askedFor(api, 'PUT', '/api/limits/policies/trial-run')[0]?.body).toMatchObject({ shadow: false, limit: 5, window_ms: 60_000 });
});

test('an admin invites, lets in, makes an account and a token; each secret is shown once', async () => {
  const api = operated(ADMIN);
  api.on('POST /api/invites', { status: 201, json: { id: uuid(9), path: '/join#gni_secret' } });
  api.on('POST /api/sign-in-links', { status: 201, json: { account: 'bob', path: '/sign-in#gns_secret', expires_at: '2099-01-01T00:00:00Z' } });
  api.on('POST /api/admin/accounts', { status: 200, json: { id: uuid(8), name: 'bob', created_at: '2026-01-01T00:00:00Z' } });
  api.on('POST /api/admin/tokens', problem(404, 'no_such_account', 'there is no such account'));
  const page = await pages.open(api, `${PAGE}?tab=accounts`);
  await exactly(page, 'Invite').click();
  await text(page, 'http://console.test/join#gni_secret');
  await page.getByLabel('Name of the account').fill('bob');
  await exactly(page, 'Make a link').click();
  await text(page, 'http://console.test/sign-in#gns_secret');
  await page.getByRole('region', { name: 'Make an account' }).getByLabel('Name').fill('bob');
  await exactly(page, 'Make the account').click();
  await text(page, 'There is an account bob already; nothing was changed.');
  const token = page.getByRole('region', { name: 'Make a token' });
  await token.getByLabel('Account').fill('bob');
  await token.getByLabel('What to call it').fill('nightly');
  await button(page, 'Make the token …').click();
  await text(page, 'Whoever has its secret acts as bob, with the role player');
  await exactly(page, 'Make it').click();
  await text(page, 'There is no such account (no_such_account)');
  await expectGood(page);
  api.on('POST /api/admin/tokens', { status: 201, json: { id: uuid(7), secret: 'gnt_secret' } });
  await exactly(page, 'Make it').click();
  await text(page, 'gnt_secret');
  await expectGood(page);
});

test('an account is found by how its name begins, and one of its tokens is deleted', async () => {
  const left = [tokenOf(1), tokenOf(2)];
  const api = operated(ADMIN);
  api.on('GET /api/admin/accounts', ({ query }) => ({ json: [1, 2, 5].map(listedAccount).filter(({ name }) => name.startsWith(query.get('name') ?? '')) }));
  api.on('GET /api/admin/accounts/{id}/tokens', () => ({ json: left }));
  api.on('DELETE /api/admin/accounts/{id}/tokens/{token}', problem(404, 'no_such_token', 'there is no such token'));
  const page = await pages.open(api, `${PAGE}?tab=accounts`);
  await page.locator('[data-operate=account-list] table[data-count="3"]').waitFor();
  await page.getByLabel('The name begins with').fill(' guild');
  await exactly(page, 'Find').click();
  await page.locator('[data-operate=account-list] table[data-count="2"]').waitFor();
  await exactly(page, 'Tokens of guild-2').click();
  await page.getByRole('heading', { name: 'Tokens of guild-2' }).waitFor();
  await exactly(page, 'Delete script 2').click();
  await text(page, 'Programs that use it are refused from now on, and their feeds end.');
  await expectGood(page);
  const path = `/api/admin/accounts/${uuid(2)}/tokens/${uuid(2)}`;
  expect(askedFor(api, 'DELETE', path)).toHaveLength(0);
  await exactly(page, 'Delete it').click();
  await text(page, 'There is no such token (no_such_token)');
  api.on('DELETE /api/admin/accounts/{id}/tokens/{token}', () => (left.pop(), { status: 204 }));
  await exactly(page, 'Delete it').click();
  await text(page, 'The token script 2 is deleted.');
  await page.locator('table[data-tokens="1"]').waitFor();
  expect(askedFor(api, 'DELETE', path)).toHaveLength(2);
  // A link of it shows the same.
  await page.reload();
  await page.getByRole('heading', { name: 'Tokens of guild-2' }).waitFor();
  expect(await page.getByLabel('The name begins with').inputValue()).toBe('guild');
  await exactly(page, 'Close').click();
  expect(await page.locator('[data-account]').count()).toBe(0);
});

test('an account is disabled with a reason after a question, and enabled again; nobody disables his own', async () => {
  const rows = [1, 2, 7].map(listedAccount);
  const disables = (at: number, is_disabled: boolean) => (rows[at] = { ...listedAccount(at === 1 ? 2 : 7), is_disabled });
  const api = operated(ADMIN).on('GET /api/admin/accounts', () => ({ json: rows })).on('POST /api/admin/accounts/{id}/disable', problem(409, 'too_many', '10,000 bans are in force'));
  const page = await pages.open(api, `${PAGE}?tab=accounts`);
  await exactly(page, 'Disable guild-2').click();
  await text(page, 'Its games that wait to be played are cancelled, but for those of competitions.');
  const reason = page.getByLabel('Reason');
  // A reason of blanks is none: the browser says so at the field, and nothing is sent.
  await reason.fill('  ');
  await exactly(page, 'Disable it').click();
  expect(await reason.evaluate((input: HTMLInputElement) => input.validity.patternMismatch)).toBe(true);
  await exactly(page, 'Leave it as it is').click();
  expect(askedFor(api, 'POST', `/api/admin/accounts/${uuid(2)}/disable`)).toHaveLength(0);
  await exactly(page, 'Disable guild-2').click();
  await reason.fill(' left the club ');
  await reason.press('Enter');
  await text(page, '10,000 bans are in force (too_many)');
  await expectGood(page);
  api.on('POST /api/admin/accounts/{id}/disable', () => (disables(1, true), { json: { id: uuid(2), reason: 'left the club', since: '2026-01-02T03:04:05Z', games_cancelled: 3 } }));
  await exactly(page, 'Disable it').click();
  await text(page, 'The account guild-2 is disabled; 3 games that waited are cancelled.');
  expect(askedFor(api, 'POST', `/api/admin/accounts/${uuid(2)}/disable`).map(({ body }) => body)).toEqual(Array.from({ length: 2 }, () => ({ reason: 'left the club' })));
  await page.getByRole('link', { name: /^disabled: why guild-2 is/ }).waitFor();
  await expectGood(page);
  api.on('POST /api/admin/accounts/{id}/enable', problem(404, 'no_such_account', 'there is no such account'));
  await exactly(page, 'Enable guild-7').click();
  await text(page, 'Its games that were cancelled stay so.');
  await exactly(page, 'Enable it').click();
  await text(page, 'There is no such account (no_such_account)');
  api.on('POST /api/admin/accounts/{id}/enable', () => (disables(2, false), { status: 204 }));
  await exactly(page, 'Enable it').click();
  await text(page, 'The account guild-7 is enabled.');
  await exactly(page, 'Disable guild-7').waitFor();
  expect(await page.locator('tbody tr').filter({ hasText: 'guild-1' }).getByRole('button').allInnerTexts()).toEqual(['Tokens']);
  await page.getByRole('link', { name: /^disabled: why guild-2 is/ }).click();
  await expect.poll(() => page.url()).toContain(`tab=bans&q=${uuid(2)}`);
});

test('an account is deleted after what goes with it is said, by its name and with a reason; nobody deletes his own here', async () => {
  const [route, held] = [`/api/admin/accounts/${uuid(2)}`, { id: uuid(2), name: 'guild-2', tokens: 1, snakes: 1_200, games_waiting: 0, duels: 0, tournaments: 1, leaderboards: 0, hunts: 0 }];
  let rows = [1, 2].map(listedAccount);
  const api = operated(ADMIN).on('GET /api/admin/accounts', () => ({ json: rows })).on(`GET ${route}/deletion`, problem(404, 'no_such_account', 'there is no such account'));
  const page = await pages.open(api, `${PAGE}?tab=accounts&account=${uuid(2)}`);
  await exactly(page, 'Delete the account guild-2').click();
  await text(page, 'There is no such account (no_such_account)');
  await exactly(page, 'Leave it as it is').click();
  api.on(`GET ${route}/deletion`, { json: held }).on(`DELETE ${route}`, problem(400, 'bad_value', 'to confirm, name the account that is to be deleted: guild-2'));
  await exactly(page, 'Delete the account guild-2').click();
  await text(page, 'With it go: 1,200 bots, 1 token, 1 tournament.');
  await page.getByLabel('To confirm, type the account’s name: guild-2').fill('guild');
  await page.getByLabel('Reason').fill(' asked for it by letter ');
  await exactly(page, 'Delete it for ever').click();
  await text(page, 'name the account that is to be deleted: guild-2 (bad_value)');
  await expectGoodInEveryScheme(page);
  api.on(`DELETE ${route}`, () => ((rows = rows.slice(0, 1)), { json: held }));
  await page.getByLabel('To confirm, type the account’s name: guild-2').fill('guild-2');
  await exactly(page, 'Delete it for ever').click();
  await text(page, 'The account guild-2 is deleted.');
  await exactly(page, 'Delete the account guild-2').waitFor({ state: 'detached' });
  expect(new URL(page.url()).search).toBe('?tab=accounts');
  expect(askedFor(api, 'DELETE', route).map(({ body }) => body)).toEqual(['guild', 'guild-2'].map((name) => ({ name, reason: 'asked for it by letter' })));
  expect(await page.locator('tbody tr').filter({ hasText: 'guild-1' }).getByRole('button').allInnerTexts()).toEqual(['Tokens']);
});

test('a thousand accounts are read in pages', async () => {
  const api = operated().on('GET /api/admin/accounts', paged<unknown>('/api/admin/accounts', 1_000, listedAccount));
  const page = await pages.open(api, `${PAGE}?tab=accounts`);
  await page.locator('table[data-count="100"]').waitFor();
  await expectGood(page);
  for (let rows = 100; rows < 1_000; rows += 100) {
    await page.locator(`table[data-count="${rows}"]`).waitFor();
    await button(page, 'Show more').click();
  }
  await page.locator('table[data-count="1000"]').waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
});

test.each([
  ['alone', [node()], /nobody reaches this server until it is started again/],
  ['beside another', [node(), ...others], 'The other node goes on with everything.'],
] as const)('a node is drained after a question: %s', async (_, nodes, warned) => {
  const api = operated(ADMIN).on('GET /api/admin/nodes', { json: nodes });
  api.on('POST /api/admin/drain', { status: 202, json: { address: '10.0.0.1:4000', ends_within_ms: 5_000 } });
  const page = await pages.open(api, `${PAGE}?tab=nodes`);
  await page.locator('table[data-count]').waitFor();
  await exactly(page, 'Drain this node …').click();
  await page.getByRole('heading', { name: 'Drain 10.0.0.1:4000?' }).waitFor();
  await text(page, warned);
  await expectGood(page);
  await exactly(page, 'Leave it as it is').click();
  expect(askedFor(api, 'POST', '/api/admin/drain')).toHaveLength(0);
  await exactly(page, 'Drain this node …').click();
  await exactly(page, 'Drain it').click();
  await text(page, '10.0.0.1:4000 drains: its process ends within 5 s.');
  expect(askedFor(api, 'POST', '/api/admin/drain').map(({ query }) => query.get('address'))).toEqual(['10.0.0.1:4000']);
  api.isDown = true;
  await text(page, /The server cannot be reached. What you see stays/);
  await expectGood(page);
  api.isDown = false;
  await page.getByText(/The server cannot be reached/).waitFor({ state: 'detached' });
});

test('as many nodes as the server lists', async () => {
  const nodes = Array.from({ length: 200 }, (_, at) => node({ address: `10.0.1.${at}:4000`, is_this: at === 0, workers: [uuid(at)] }));
  const page = await pages.open(operated().on('GET /api/admin/nodes', { json: nodes }), `${PAGE}?tab=nodes`);
  await text(page, '200 nodes live.');
  await page.locator('table[data-count="200"]').waitFor();
  await expectGood(page);
});

test('the counting of hunts is paused after a question, and goes on', async () => {
  const api = operated().on('POST /api/admin/aggregator', ({ body }) => ({ json: { running: (body as { running: boolean }).running, claims_counted: 1, claims_behind: 0, hunts_behind: 0 } }));
  const page = await pages.open(api, `${PAGE}?tab=settings`);
  await button(page, 'Pause the counting …').click();
  await text(page, /It resumes by itself after six hours/);
  await exactly(page, 'Pause the counting').click();
  await text(page, 'The counting is paused.');
  await button(page, 'Resume the counting').click();
  await text(page, 'The counting goes on.');
});
