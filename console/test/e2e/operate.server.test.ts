// An operator of the real server finds a table that a guest made, by its link, and ends its game, though the server is killed in between; the
// guest is told. Whom the server does not let, the page does not either. An admin deletes a token of another account, disables and enables that
// account, and drains the server.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { closePages, sharedBrowser } from '../chromium.ts';
import { call, Program } from '../program.ts';

const program = new Program();
let browser: Browser;
let server: string;
const complaints: string[] = [];

beforeAll(async () => {
  browser = await sharedBrowser();
  server = await program.serve();
});
afterAll(async () => {
  await closePages();
  await program.stop();
});

/** A page of a browser of its own, signed in where there is a token. */
async function open(path: string, token?: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1_200, height: 900 }, reducedMotion: 'reduce' });
  if (token) expect((await context.request.post(`${server}/api/session`, { headers: { authorization: `Bearer ${token}` } })).status()).toBe(200);
  const page = await context.newPage();
  page.on('pageerror', (error) => complaints.push(error.message));
  // What a browser says of a server that is away is meant.
  page.on('console', (line) => line.type() === 'error' && !/net::ERR_|^WebSocket connection to/.test(line.text()) && complaints.push(line.text()));
  await page.goto(`${server}${path}`);
  return page;
}

/** The secret of a new token with this role. */
async function tokenOf(role: string): Promise<string> {
  await call(server, program.token, 'POST', '/api/admin/accounts', { name: role });
  return String((await call(server, program.token, 'POST', '/api/admin/tokens', { account: role, name: 'pages', role }))['secret']);
}

const exactly = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

test('an abusive table of a guest is found and ended, and the guest is told', async () => {
  const guest = await open('/stories');
  await guest.getByLabel('Your name').fill('Rude guest');
  await exactly(guest, 'Open a table for friends').click();
  await guest.waitForSelector('[data-table=create]');
  const [, id] = /\/stories\/([0-9a-f-]+)/.exec(guest.url()) ?? [];

  const page = await open('/', await tokenOf('operator'));
  await page.getByRole('link', { name: 'Operate' }).click();
  await page.getByText('Ready for work').waitFor();
  await page.getByRole('link', { name: 'End something' }).click();
  await page.getByRole('link', { name: 'Rude guest’s table' }).waitFor();
  await page.getByLabel('Id or link of a table').fill(guest.url());
  await exactly(page, 'Find it').click();
  const found = page.locator(`[data-found="${id}"]`);
  await found.getByText('before the story').waitFor();

  await program.end('SIGKILL');
  await Promise.all([guest, page].map((one) => one.locator('[data-connection=lost]').waitFor()));
  await program.serve();
  await Promise.all([guest, page].map((one) => one.locator('[data-connection=found]').waitFor({ state: 'attached' })));
  await guest.waitForSelector('[data-table=create]');
  await page.locator('[data-operate=end]').getByRole('link', { name: 'Rude guest’s table' }).waitFor();

  await found.getByRole('button', { name: /^End its game/ }).click();
  await page.getByText('everybody at the table is told that an operator closed it').waitFor();
  await exactly(page, 'End its game').click();
  await page.getByText('The game of Rude guest’s table is ended.').waitFor();
  await found.getByText('No game is played there now.').waitFor();
  await guest.getByText('The game ended early').first().waitFor();
  await guest.getByText('It was closed by the server’s operator, or nobody came.').first().waitFor();

  // What is an admin's is not offered to an operator.
  await page.getByRole('link', { name: 'Accounts' }).click();
  await page.getByText(/your role is operator/).waitFor();
  expect(await exactly(page, 'Make the account').count()).toBe(0);
  expect(complaints).toEqual([]);
});

test('a rude guest is banned from the table that an operator looked at, and let in again; the log has both', async () => {
  const guest = await open('/stories');
  await guest.getByLabel('Your name').fill('Rude guest');
  await exactly(guest, 'Open a table for friends').click();
  await guest.waitForSelector('[data-table=create]');
  const [, id] = /\/stories\/([0-9a-f-]+)/.exec(guest.url()) ?? [];
  const asks = () => guest.context().request.get(`${server}/api/session`);
  const { player } = (await (await asks()).json()) as { player: string };

  const page = await open(`/stories/${id}`, await tokenOf('operator'));
  await page.locator('main').getByRole('link', { name: 'Operate' }).click();
  await page.getByRole('link', { name: 'Ban Rude guest …' }).click();
  await page.getByLabel('Reason').fill('insults');
  await exactly(page, 'Ban …').click();
  await exactly(page, 'Ban').click();
  await page.getByText(`${player} is banned.`).waitFor();
  const refused = await asks();
  expect([refused.status(), await refused.json()]).toMatchObject([403, { code: 'banned', detail: expect.stringContaining('insults') }]);

  // Its entry is the only one of that minute about that guest.
  await page.getByRole('link', { name: /^Its entry in the log/ }).click();
  await page.locator('ol[data-count="1"]').waitFor();
  await page.getByRole('button', { name: /^Details: operator made a ban/ }).click();
  await page.getByRole('dialog').getByText('“insults”').waitFor();
  await page.getByRole('dialog').getByRole('link', { name: 'Its bans' }).click();
  await page.getByRole('button', { name: /^Lift it/ }).click();
  await exactly(page, 'Lift it').click();
  await page.getByText('is lifted.').waitFor();
  expect((await asks()).status()).toBe(200);
  await page.goto(`${server}/operate?tab=audit&target=guest:${player}`);
  await page.locator('ol[data-count="2"]').getByText('lifted a ban').waitFor();
  // A link of an entry finds it by its id alone.
  await page.getByRole('button', { name: /^Details: operator made a ban/ }).click();
  const [, entry] = /entry=([0-9a-f-]+)/.exec(page.url()) ?? [];
  await page.goto(`${server}/operate?tab=audit&action=drain&entry=${entry}`);
  await page.locator(`[data-entry="${entry}"]`).waitFor();

  // An operator sees an admin's ban, and that only admins lift it.
  await call(server, program.token, 'POST', '/api/admin/bans', { address: '192.0.2.0/24', reason: 'floods' });
  await page.goto(`${server}/operate?tab=bans`);
  await page.getByText('Only admins lift it.').waitFor();
  expect(await page.getByRole('button', { name: /^Lift it/ }).count()).toBe(0);
  // What the guest's browser said of its refusals is meant.
  await guest.close();
  expect(complaints.splice(0).filter((line) => !/status of 403/.test(line))).toEqual([]);
});

test('a player is told what is missing', async () => {
  const page = await open('/operate', await tokenOf('player'));
  await page.getByText(/You are signed in as player/).waitFor();
  expect(await page.getByRole('link', { name: 'Operate' }).count()).toBe(0);
  expect(complaints).toEqual([]);
});

test('an admin sees the load, sets a policy and takes it away', async () => {
  const page = await open('/operate?tab=limits', program.token);
  await page.getByText(/No policy is in force/).waitFor();
  await exactly(page, 'New policy').click();
  await page.getByRole('dialog').getByLabel('Name').fill('trial');
  await exactly(page, 'Save …').click();
  await exactly(page, 'Save it').click();
  await page.getByText('The policy trial holds now, in shadow.').waitFor();
  await exactly(page, 'trial').click();
  await exactly(page, 'Delete this setting …').click();
  await exactly(page, 'Delete it').click();
  await page.getByText('The setting of trial is deleted.').waitFor();
  await page.getByText(/No policy is in force/).waitFor();
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByText('server.port', { exact: true }).waitFor();
  expect(complaints).toEqual([]);
});

test('an admin deletes a token of another account, disables, enables and deletes that account, and drains the server', async () => {
  const lost = await tokenOf('player');
  const page = await open('/operate?tab=accounts', program.token);
  await page.getByLabel('The name begins with').fill('play');
  await exactly(page, 'Find').click();
  await exactly(page, 'Tokens of player').click();
  await exactly(page, 'Delete pages').first().click();
  await exactly(page, 'Delete it').click();
  await page.getByText('The token pages is deleted.').waitFor();
  expect((await fetch(`${server}/api/games`, { headers: { authorization: `Bearer ${lost}` } })).status).toBe(401);

  const kept = await tokenOf('player');
  const answer = async () => {
    const response = await fetch(`${server}/api/games`, { headers: { authorization: `Bearer ${kept}` } });
    return [response.status, response.ok ? '' : ((await response.json()) as { code: string }).code];
  };
  await exactly(page, 'Disable player').click();
  await page.getByLabel('Reason').fill('left the club');
  await exactly(page, 'Disable it').click();
  await page.getByText('The account player is disabled.').waitFor();
  expect(await answer()).toEqual([403, 'account_disabled']);
  await exactly(page, 'Enable player').click();
  await exactly(page, 'Enable it').click();
  await page.getByText('The account player is enabled.').waitFor();
  expect(await answer()).toEqual([200, '']);
  await exactly(page, 'Delete the account player').click();
  await page.getByText(/^With it go: .*tokens?/).waitFor();
  await page.getByLabel('To confirm, type the account’s name: player').fill('player');
  await page.getByLabel('Reason').fill('asked for it by letter');
  await exactly(page, 'Delete it for ever').click();
  await page.getByText('The account player is deleted.').waitFor();
  expect((await answer())[0]).toBe(401);

  await page.getByRole('link', { name: 'Nodes' }).click();
  await page.getByText('1 node lives.').waitFor();
  await page.getByText('this one', { exact: true }).waitFor();
  await exactly(page, 'Drain this node …').click();
  await page.getByText(/nobody reaches this server until it is started again/).waitFor();
  await exactly(page, 'Drain it').click();
  await page.getByText(/drains: its process ends within 5 s/).waitFor();
  await page.locator('[data-connection=lost]').waitFor();
  // Waits for the end of its process.
  await program.end('SIGTERM');
  await program.serve();
  await page.locator('[data-connection=found]').waitFor({ state: 'attached' });
  await page.getByText('1 node lives.').waitFor();
  expect(complaints).toEqual([]);
});
