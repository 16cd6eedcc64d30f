// Bans and the audit log, for operators and admins: what each role may do, and what comes of it. Their states stand with those of the other parts.
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { FakeApi, problem } from '../api.ts';
import { ADMIN, ban, BANS, ENTRIES, entry, ID, operated, OPERATOR, paged, uuid } from '../operate.ts';
import { expectGood, expectGoodInEveryScheme, Pages } from '../pages.ts';

const pages = new Pages();
const PAGE = '/operate?tab=bans';
const LOG = '/operate?tab=audit';
const text = (page: Page, what: string | RegExp) => page.getByText(what).first().waitFor();
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
const exactly = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const askedFor = (api: FakeApi, method: string, path: string) => api.asked.filter((asked) => asked.method === method && asked.path === path);

test.each([PAGE, LOG])('nothing of %s is asked for by players', async (path) => {
  const api = operated({ ...OPERATOR, role: 'player' });
  const page = await pages.open(api, path);
  await page.locator('[data-standing=needed]').waitFor();
  expect(api.asked.filter(({ path }) => path.startsWith('/api/admin'))).toEqual([]);
});

test('a player is banned after a question; what was typed survives refusals and a lost connection', async () => {
  const made = ban(9, { address: null, guest: uuid(7), reason: 'insults', expires_at: '2099-01-01T00:00:00Z' });
  const rows = [...BANS];
  const api = operated(OPERATOR).on('GET /api/admin/bans', () => ({ json: rows })).on('POST /api/admin/bans', problem(409, 'banned_already', 'this target is banned already'));
  const page = await pages.open(api, PAGE);
  await page.getByLabel('Id of the player').fill(`https://play.example/stories/${ID}`);
  await page.getByLabel('Reason').fill('  insults ');
  await button(page, 'Ban …').click();
  await text(page, 'That is no player’s id');
  await expectGood(page);
  await page.getByLabel('Id of the player').fill(`https://play.example/hunters/${uuid(7)}`);
  await page.getByLabel('It ends').selectOption('In a week');
  await button(page, 'Ban …').click();
  await page.getByRole('heading', { name: 'Ban this player?' }).waitFor();
  await text(page, /A guest is banned until their token ends/);
  await text(page, /It ends by itself on/);
  await expectGoodInEveryScheme(page);
  await exactly(page, 'Leave it as it is').click();
  expect(askedFor(api, 'POST', '/api/admin/bans')).toHaveLength(0);
  await button(page, 'Ban …').click();
  await exactly(page, 'Ban').click();
  await text(page, 'This target is banned already (banned_already)');
  await expectGood(page);
  api.isDown = true;
  await exactly(page, 'Ban').click();
  await text(page, /Nothing that you typed is lost/);
  api.isDown = false;
  api.on('POST /api/admin/bans', () => (rows.unshift(made), { status: 201, json: made }));
  await exactly(page, 'Ban').click();
  await text(page, `${uuid(7)} is banned. It ends by itself on`);
  expect(askedFor(api, 'POST', '/api/admin/bans').map(({ body }) => body)).toEqual(Array.from({ length: 2 }, () => ({ player: uuid(7), reason: 'insults', expires_in_s: 7 * 86_400 })));
  await page.locator('ul[data-count="6"]').waitFor();
  expect(await page.getByLabel('Id of the player').inputValue()).toBe('');
  await expectGood(page);
});

test('a network is banned until it is lifted, and until a time', async () => {
  const api = operated(ADMIN).on('POST /api/admin/bans', ({ body }) => ({ status: 201, json: ban(9, { address: (body as { address: string }).address }) }));
  const page = await pages.open(api, PAGE);
  await page.getByLabel('Whom').selectOption('Addresses');
  await page.getByLabel('Address or network').fill('203.0.113.0/24');
  await page.getByLabel('Reason').fill('floods');
  await page.getByLabel('It ends').selectOption('When it is lifted');
  await button(page, 'Ban …').click();
  await page.getByRole('heading', { name: 'Ban 203.0.113.0/24?' }).waitFor();
  await text(page, /256 addresses/);
  await text(page, 'It lasts until somebody lifts it.');
  await expectGoodInEveryScheme(page);
  await exactly(page, 'Ban').click();
  await text(page, '203.0.113.0/24 is banned. It lasts until somebody lifts it.');
  await page.getByLabel('Address or network').fill('203.0.113.0/24');
  await page.getByLabel('Reason').fill('floods');
  await page.getByLabel('It ends').selectOption('At a time …');
  await page.getByLabel('At', { exact: true }).fill('2020-01-01T00:00');
  await button(page, 'Ban …').click();
  await text(page, 'The end must be in the future.');
  await expectGood(page);
  const year = new Date().getFullYear() + 1;
  await page.getByLabel('At', { exact: true }).fill(`${year}-01-01T00:00`);
  await button(page, 'Ban …').click();
  await exactly(page, 'Ban').click();
  await expect.poll(() => askedFor(api, 'POST', '/api/admin/bans').length).toBe(2);
  const [first, second] = askedFor(api, 'POST', '/api/admin/bans').map(({ body }) => body as Record<string, unknown>);
  expect(first).toEqual({ address: '203.0.113.0/24', reason: 'floods' });
  expect(Number(second?.['expires_in_s'])).toBeGreaterThan(0);
});

test('a ban is lifted after a question, and a disabled account is enabled', async () => {
  const rows = [...BANS];
  const api = operated(ADMIN).on('GET /api/admin/bans', () => ({ json: rows })).on('DELETE /api/admin/bans/{id}', problem(404, 'no_such_ban', 'there is no such ban'));
  const page = await pages.open(api, PAGE);
  await button(page, 'Lift it … cheater').click();
  await page.getByRole('heading', { name: 'Lift the ban of cheater?' }).waitFor();
  await expectGood(page);
  expect(askedFor(api, 'DELETE', `/api/admin/bans/${uuid(301)}`)).toHaveLength(0);
  await exactly(page, 'Lift it').click();
  await text(page, 'There is no such ban (no_such_ban)');
  api.on('DELETE /api/admin/bans/{id}', ({ params: [id] }) => (rows.splice(rows.findIndex((row) => row.id === id), 1), { status: 204 }));
  await exactly(page, 'Lift it').click();
  await text(page, 'The ban of cheater is lifted.');
  await page.locator('ul[data-count="4"]').waitFor();
  await button(page, /^Enable it … A name of many words/).click();
  await text(page, 'Its games that were cancelled stay so.');
  await exactly(page, 'Enable it').click();
  await text(page, 'The account A name of many words, number 44 is enabled.');
  await page.locator('ul[data-count="3"]').waitFor();
});

test('bans are found by letters and kind, which the URL names, beyond the first page too', async () => {
  const api = operated().on('GET /api/admin/bans', paged<unknown>('/api/admin/bans', 1_000, (at) => ban(at, at === 777 ? { address: '203.0.113.9', reason: 'the one that is looked for' } : at % 10 === 0 ? { address: null, guest: uuid(at) } : {})));
  const page = await pages.open(api, PAGE);
  await page.locator('ul[data-count="100"]').waitFor();
  // Axe takes minutes for a thousand rows; they are all alike.
  await expectGood(page);
  await page.getByLabel('Find').fill('203.0.113.9');
  await page.locator('ul[data-count="1"]').waitFor();
  await page.locator('[data-looked-at="1000"]').waitFor();
  expect(page.url()).toContain('q=203.0.113.9');
  await expectGood(page);
  await page.getByLabel('Find').fill('');
  await page.getByLabel('Of what').selectOption('Guests');
  await page.locator('ul[data-count="100"]').waitFor();
  await expect.poll(() => page.url()).toContain('of=guest');
  await page.reload();
  await page.locator('ul[data-count="100"]').waitFor();
  expect(await page.getByLabel('Of what').inputValue()).toBe('guest');
  await page.getByLabel('Of what').selectOption('All');
  for (let rows = 100; rows < 1_000; rows += 100) {
    await page.locator(`ul[data-count="${rows}"]`).waitFor();
    await button(page, 'Show more').click();
  }
  await page.locator('ul[data-count="1000"]').waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
});

test('a thousand entries are read in pages by their cursor', async () => {
  const api = operated().on('GET /api/admin/audit', paged<unknown>('/api/admin/audit', 1_000, (at) => entry(at)));
  const page = await pages.open(api, LOG);
  await page.locator('ol[data-count="100"]').waitFor();
  await expectGood(page);
  for (let rows = 100; rows < 1_000; rows += 100) {
    await page.locator(`ol[data-count="${rows}"]`).waitFor();
    await button(page, 'Show more').click();
  }
  await page.locator('ol[data-count="1000"]').waitFor();
  expect(await button(page, 'Show more').count()).toBe(0);
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
});

test('refused entries are looked for no further than a thousand rows, then on request, and a failure stops it', async () => {
  const answer = paged<unknown>('/api/admin/audit', 2_500, (at) => entry(at, at === 2_345 ? { outcome: 'role_too_weak' } : {}));
  let isBroken = false;
  const api = operated().on('GET /api/admin/audit', (asked) => (isBroken ? problem(503, 'unavailable', 'the store is away') : answer(asked)));
  const page = await pages.open(api, `${LOG}&outcome=refused`);
  await page.locator('[data-looked-at="1000"]').waitFor();
  await text(page, 'No entry in what was looked through is so.');
  await expectGood(page);
  expect(askedFor(api, 'GET', '/api/admin/audit')).toHaveLength(10);
  isBroken = true;
  await button(page, 'Look further').click();
  await text(page, 'The store is away (unavailable)');
  await expectGood(page);
  isBroken = false;
  await button(page, 'Look further').click();
  await page.locator('[data-looked-at="2000"]').waitFor();
  await button(page, 'Look further').click();
  await text(page, 'refused: role_too_weak');
  await page.locator('[data-looked-at="2500"]').waitFor();
  expect(await button(page, 'Look further').count()).toBe(0);
});

test('the log is filtered; the URL names the filter in UTC, and the way back undoes it', async () => {
  const api = operated();
  const page = await pages.open(api, LOG, { timezoneId: 'Asia/Tokyo', locale: 'de-DE' });
  // In the reader's own locale and time zone: AT is 03:04:05 UTC.
  await text(page, '02.01.2026, 12:04:05');
  await page.getByLabel('What was done').selectOption('lifted a ban');
  await page.getByLabel('On whom or what').fill(' address:192.0.2.0/24 ');
  await page.getByLabel('From', { exact: true }).fill('2026-01-02T09:00:00');
  await page.getByLabel('Until', { exact: true }).fill('2026-01-02T08:00:00');
  await page.getByLabel('Id of who did it').fill('Olga');
  await exactly(page, 'Show').click();
  await text(page, /That is no account’s id/);
  await expectGood(page);
  await page.getByLabel('Id of who did it').fill(uuid(1));
  await exactly(page, 'Show').click();
  await text(page, 'The end must be after the beginning.');
  await page.getByLabel('Until', { exact: true }).fill('2026-01-02T10:00:00');
  await exactly(page, 'Show').click();
  await expect.poll(() => askedFor(api, 'GET', '/api/admin/audit').length).toBe(2);
  expect(Object.fromEntries(askedFor(api, 'GET', '/api/admin/audit')[1]?.query ?? [])).toEqual({ limit: '100', account: uuid(1), action: 'lift_ban', target: 'address:192.0.2.0/24', from: '2026-01-02T00:00:00.000Z', until: '2026-01-02T01:00:00.000Z' });
  await page.getByLabel('What came of it').selectOption('Refused');
  await button(page, /^Details: Olga made a ban/).first().click();
  // What is typed and not shown yet stays while an entry is open.
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
  expect(await page.getByLabel('What came of it').inputValue()).toBe('refused');
  await expect.poll(() => page.url()).not.toContain('entry=');
  await page.goBack();
  await expect.poll(() => page.getByLabel('On whom or what').inputValue()).toBe('');
  await page.goForward();
  await expect.poll(() => page.getByLabel('From', { exact: true }).inputValue()).toMatch(/^2026-01-02T09:00/);
  await page.getByRole('link', { name: 'Clear' }).click();
  await expect.poll(() => page.url()).toBe(`http://console.test${LOG}`);
});

test('an entry has a link of its own, wherever it stands, and leads to what it names', async () => {
  const old = entry(900, { action: 'create_ban', target: `account:${uuid(41)}`, outcome: 'done', reason: 'insults' });
  const api = operated().on('GET /api/admin/audit', ({ query }) => ({ json: query.get('limit') === '1' ? [old] : ENTRIES }));
  const page = await pages.open(api, `${LOG}&entry=${old.id}`);
  await page.locator(`[data-entry="${old.id}"]`).waitFor();
  expect(askedFor(api, 'GET', '/api/admin/audit').map(({ query }) => query.get('after'))).toContain(uuid(1_401));
  await page.getByRole('link', { name: 'Its bans' }).click();
  await page.getByLabel('Find').waitFor();
  await page.locator('ul[data-count="1"]').waitFor();
  await page.getByRole('link', { name: 'Its entry in the log: cheater' }).click();
  await expect.poll(() => Object.fromEntries(askedFor(api, 'GET', '/api/admin/audit').at(-1)?.query ?? [])).toMatchObject({ action: 'create_ban', target: `account:${uuid(41)}` });
});

test('the keyboard opens an entry, closes it, and is where it was', async () => {
  const page = await pages.open(operated(), LOG);
  const details = button(page, /^Details: Olga cancelled a match/);
  await details.focus();
  await page.keyboard.press('Enter');
  await page.locator(`[data-entry="${ENTRIES[5]?.id}"]`).waitFor();
  expect(page.url()).toContain(`entry=${ENTRIES[5]?.id}`);
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  expect(await details.evaluate((element) => element === document.activeElement)).toBe(true);
});

test('tables, matches and accounts lead to a ban of whom they are of', async () => {
  const page = await pages.open(operated(ADMIN), `/operate?tab=end&id=${ID}`);
  await page.getByRole('link', { name: 'Ban Rude guest …' }).click();
  expect(await page.getByLabel('Id of the player').inputValue()).toBe(uuid(7));
  await page.goto(`http://console.test/operate?tab=end&kind=games&id=${ID}`);
  await page.getByRole('link', { name: 'Ban the account that made it …' }).click();
  expect(await page.getByLabel('Id of the player').inputValue()).toBe(uuid(8));
  await page.goto('http://console.test/operate?tab=accounts');
  await page.getByRole('link', { name: 'Ban guild-2 …' }).click();
  expect(await page.getByLabel('Id of the player').inputValue()).toBe(uuid(2));
  await page.goto('http://console.test/operate?tab=accounts');
  await page.getByRole('link', { name: 'What was done on it: on guild-1' }).first().click();
  expect(await page.getByLabel('On whom or what').inputValue()).toBe(`account:${uuid(1)}`);
});

test.each([
  ['an operator', OPERATOR, 1],
  ['a player', { ...OPERATOR, role: 'player' }, 0],
] as const)('the page of a hunter leads %s to a ban, or not', async (_, session, count) => {
  const hunter = { player: uuid(7), name: 'Rude', points: 3, chests: 2, power_ups: 1, rounds: 1, rounds_won: 0, last_at: '2026-01-02T03:04:05Z' };
  const page = await pages.open(operated(session).on('GET /api/hunters/{player}', { json: hunter }), `/hunters/${uuid(7)}`);
  await text(page, /Last found something/);
  const links = page.getByRole('link', { name: 'Ban Rude …' });
  expect(await links.count()).toBe(count);
  if (count === 0) return;
  await expectGood(page);
  await links.click();
  expect(await page.getByLabel('Id of the player').inputValue()).toBe(uuid(7));
});
