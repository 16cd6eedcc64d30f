// The real server: a stranger goes from an invitation to watching a rated match of a bot of their own, by pages alone, and comes in on another
// device by a link; the server is killed on the way.
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { closePages, sharedBrowser } from '../chromium.ts';
import { call, Program } from '../program.ts';

const program = new Program();
let browser: Browser;
let server: string;
let bots: string;
const complaints: string[] = [];

beforeAll(async () => {
  browser = await sharedBrowser();
  [server, bots] = await Promise.all([program.serve(), program.bots()]);
  // A game of the standard ladder takes four bots, each of another account and with a URL of its own.
  const [standard] = Object.values(await call(server, program.token, 'GET', '/api/leaderboards')) as { id: string }[];
  for (const kind of ['flood', 'flood/seed-7', 'random']) {
    const account = `Rival ${kind}`;
    await call(server, program.token, 'POST', '/api/admin/accounts', { name: account });
    const token = String((await call(server, program.token, 'POST', '/api/admin/tokens', { account, name: 'rival', role: 'player' }))['secret']);
    const rival = await call(server, token, 'POST', '/api/snakes', { name: account, url: `${bots}/${kind}`, is_public: true });
    await call(server, token, 'POST', `/api/leaderboards/${standard?.id}/entries`, { battlesnake_id: rival['id'] });
  }
});
afterAll(async () => {
  await closePages();
  await program.stop();
});

const device = () => browser.newContext({ viewport: { width: 1_000, height: 900 }, reducedMotion: 'reduce' });

async function open(context: BrowserContext, url: string): Promise<Page> {
  const page = await context.newPage();
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (line) => /Content Security Policy/.test(line.text()) && complaints.push(line.text()));
  await page.goto(url);
  return page;
}

/** The link that a page shows this once. */
const link = async (page: Page, kind: string) => (await page.getByText(`${server}/${kind}#`).innerText()).trim();
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

test('from an invitation to the first rated match of a bot of one’s own, and in again on a phone', async () => {
  const desk = await device();
  await desk.request.post(`${server}/api/session`, { headers: { authorization: `Bearer ${program.token}` } });
  const operator = await open(desk, `${server}/operate?tab=accounts`);
  await operator.getByLabel('For whom').fill('Ann');
  await button(operator, 'Invite').click();
  const invitation = await link(operator, 'join');

  const home = await device();
  const page = await open(home, invitation);
  await page.getByLabel('Your name').fill('Ann');
  // The server dies before the button is pressed, and is back after a while: the press does not wait for it, the next one works.
  await program.end('SIGKILL');
  await button(page, 'Join').click();
  await page.getByText('The server cannot be reached. Nothing that you typed is lost').waitFor();
  await program.serve();
  await button(page, 'Join').click();
  await page.getByText('Welcome, Ann').waitFor();
  expect(page.url()).not.toContain('gni_');

  await page.getByRole('link', { name: 'Register a bot' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('First of mine');
  await page.getByRole('textbox', { name: 'URL' }).fill(`${bots}/hungry`);
  await page.getByRole('checkbox', { name: 'Public' }).check();
  await button(page, 'Register').click();
  await button(page, 'Call it now').click();
  await page.getByText('It can play.').waitFor();
  await page.getByRole('link', { name: 'Settings' }).click();
  await button(page, 'Join Standard 11x11').click();
  await button(page, 'Leave Standard 11x11').waitFor();

  const bot = new URL(page.url()).pathname;
  await page.goto(`${server}${bot}`);
  await expect
    .poll(
      async () => {
        await page.reload();
        await page.getByText(/It has no rated game on|Rating on/).first().waitFor();
        return page.getByText(/Rating on Standard 11x11/).count();
      },
      { interval: 1_000 },
    )
    .toBeGreaterThan(0);
  await page.goto(`${server}${bot}?tab=matches`);
  await page.getByRole('link', { name: /: (watch|see) the match$/ }).first().click();
  await page.locator('[data-match=shown] canvas').first().waitFor();
  await page.getByText('First of mine').first().waitFor();

  await page.goto(`${server}/account`);
  await button(page, 'Make a link').click();
  const way = await link(page, 'sign-in');
  const phone = await open(await device(), way);
  await button(phone, 'Sign in as Ann').click();
  await phone.getByText('You are signed in as Ann').waitFor();
  // It worked once.
  const third = await open(await device(), way);
  await third.getByText('This link is not open').waitFor();
  expect(complaints).toEqual([]);
});
