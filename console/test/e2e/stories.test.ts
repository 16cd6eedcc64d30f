// Stories as they are built, in Chromium, against a server that the test plays: every phase from every role, and what may go wrong.
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { problem } from '../api.ts';
import { expectGood, expectGoodInEveryScheme, Pages } from '../pages.ts';
import type { Phase, Role, View } from '../../src/stories/protocol.ts';
import { eventsOf, FakeTable, GAME, listedGames, playerOf, SENTENCE, TABLE, VIEWERS, viewOf } from '../stories.ts';

const pages = new Pages();
const PATH = `/stories/${TABLE}`;
const ROLES: readonly Role[] = ['storyteller', 'player', 'member', 'visitor'];
const PHASES: readonly Phase[] = ['create', 'invitation', 'vote', 'complete', 'canceled'];
const phase = (page: Page, wanted: string) => page.waitForSelector(`[data-table=${wanted}]`);
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true });
const game = (view: View, change: object): View => ({ ...view, game: view.game && { ...view.game, ...change } });

async function opened(table: FakeTable, path = PATH, options = {}) {
  const page = await pages.open(table, path, options);
  if (path === PATH) {
    await phase(page, table.shown.phase);
    await expect.poll(() => table.readers).toBe(1);
  }
  return page;
}

for (const role of ROLES) {
  test(`every phase as a ${role} sees it is accessible, in every scheme`, async () => {
    const table = new FakeTable({ phase: 'create', role });
    const page = await opened(table);
    for (const wanted of PHASES) {
      for (const isDone of [false, true]) {
        table.view = { ...viewOf({ phase: wanted, role, isDone }), seq: (table.view.seq ?? 0) + 1 };
        table.send({ type: 'view', ...table.view });
        await page.waitForSelector(`[data-table=${wanted}][data-seq="${table.view.seq}"]`);
        await expectGoodInEveryScheme(page);
      }
    }
  });
}

test('the first page is accessible empty and full, with a name and without, in every scheme', async () => {
  const table = new FakeTable({ phase: 'create', role: 'visitor' });
  const page = await opened(table, '/stories');
  await page.getByText('No table waits for players now.').waitFor();
  await expectGoodInEveryScheme(page);
  const full = new FakeTable({ phase: 'create', role: 'player' });
  full.on('GET /api/stories/lobby', { json: listedGames(20, 'invitation') }).on('GET /api/stories/history', { json: listedGames(20, 'complete') });
  full.on('GET /api/stories/my-games', ({ query }) => ({ json: listedGames(3, query.get('state') === 'ended' ? 'complete' : 'vote').map((row) => ({ ...row, role: 'player', has_won: true })) }));
  const other = await opened(full, '/stories');
  await other.getByText('My games that are over').click();
  await other.getByText('A table with other rules').click();
  await other.getByText('Sentence number 19').first().waitFor();
  await expectGoodInEveryScheme(other);
});

test('a game that is over is played again, each step with a link', async () => {
  const page = await pages.open(new FakeTable({ phase: 'create', role: 'player' }), `${PATH}?game=3&step=6`);
  await page.getByText('Ben picks a card.').first().waitFor();
  expect(await page.locator('[data-card]').evaluateAll((cards) => cards.map((card) => (card as HTMLElement).dataset['card']))).toEqual(['9']);
  await expectGoodInEveryScheme(page);
  await page.getByRole('button', { name: 'One step on' }).click();
  await expect.poll(() => new URL(page.url()).search).toBe('?game=3&step=7');
  await page.getByRole('slider', { name: 'Step' }).press('End');
  await expect.poll(() => new URL(page.url()).search).toBe('?game=3');
  await page.getByText('This was meant').waitFor();
  await expectGoodInEveryScheme(page);
});

test('a replay plays by itself to its end', async () => {
  const page = await pages.open(new FakeTable({ phase: 'create', role: 'visitor' }), `${PATH}?game=3&step=10`);
  await button(page, 'Play').click();
  await page.getByText('Ben is to tell the next story.').first().waitFor();
  await button(page, 'Play').waitFor();
});

for (const [what, reply, text] of [
  ['is not over', problem(409, 'game_live', 'the game goes on'), 'The game goes on (game_live)'],
  ['does not exist', problem(404, 'no_such_game', 'there is no such game'), 'There is no such game'],
] as const) {
  test(`a replay of a game that ${what} says so`, async () => {
    const table = new FakeTable({ phase: 'create', role: 'visitor' }).on('GET /api/stories/games/{game}/history', reply) as FakeTable;
    const page = await pages.open(table, `${PATH}?game=9`);
    await page.getByText(text).first().waitFor();
    await expectGood(page);
  });
}

test('what loads says so, what fails says why and comes by itself', async () => {
  const table = new FakeTable({ phase: 'vote', role: 'player' });
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  let isRefused = true;
  table.on('GET /api/stories/tables/{table}', async () => (await held, isRefused ? problem(503, 'tables_not_served', 'this node has just begun') : { json: table.view }));
  const page = await pages.open(table, PATH);
  await page.getByText('Loading this table …').waitFor();
  await expectGood(page);
  release();
  await page.getByText('This node has just begun (tables_not_served)').waitFor();
  await expectGood(page);
  isRefused = false;
  await phase(page, 'vote');
});

test('a table that does not exist', async () => {
  const page = await pages.open(new FakeTable({ phase: 'vote', role: 'player' }), '/stories/00000000-0000-0000-0000-000000000001');
  await page.getByRole('heading', { name: 'There is no such table' }).waitFor();
  await expectGood(page);
});

test('lists of a thousand games come page by page, and none twice', async () => {
  const all = listedGames(1_000, 'invitation');
  const table = new FakeTable({ phase: 'create', role: 'visitor' });
  table.on('GET /api/stories/lobby', ({ query }) => {
    const from = Number(query.get('after') ?? 0);
    // A game that began meanwhile moves every page on by one.
    const rows = all.slice(Math.max(0, from - 1), from + 100);
    return { json: rows, headers: from + 100 < all.length ? { link: `</api/stories/lobby?after=${from + 100}>; rel="next"` } : {} };
  });
  const page = await opened(table, '/stories', { viewport: { width: 360, height: 740 } });
  const lobby = page.getByRole('region', { name: 'Join a table' });
  for (let shown = 100; shown < 1_000; shown += 100) {
    await expect.poll(() => lobby.getByRole('link').count()).toBe(shown);
    await lobby.getByRole('button', { name: 'Show more' }).click();
  }
  await expect.poll(() => lobby.getByRole('link').count()).toBe(1_000);
  await expectGood(page);
});

test('a list that cannot be had says why, and the others stand', async () => {
  const table = new FakeTable({ phase: 'create', role: 'visitor' });
  table.on('GET /api/stories/lobby', problem(403, 'limited', 'not now')).on('GET /api/stories/history', { json: listedGames(2, 'complete') });
  const page = await opened(table, '/stories');
  await page.getByText('Not now (limited)').waitFor();
  await page.getByRole('link', { name: /Sentence number 1/ }).waitFor();
  await expectGood(page);
});

/** A guest gets a name, and the browser speaks for it from then on. */
function naming(table: FakeTable) {
  table.on('POST /api/stories/guests', ({ body }) => ({ status: 201, json: { player: playerOf('Ben'), name: (body as { name: string }).name, token: 'gst_x', expires_at: '2026-12-26T12:00:00Z' } }));
  table.on('POST /api/session', () => {
    table.session = { player: playerOf('Ben'), role: 'guest', name: 'Ben', is_guest: true, expires_at: null };
    return { json: table.session };
  });
  return table;
}

test('a stranger plays with bots after one name and one press', async () => {
  const table = naming(new FakeTable({ phase: 'create', role: 'visitor' }));
  table.on('POST /api/stories/games', () => ({ status: 201, json: (table.view = viewOf({ phase: 'create', role: 'storyteller' })) }));
  const page = await opened(table, '/stories');
  await page.getByLabel('Your name').fill('Ben');
  await page.reload();
  expect(await page.getByLabel('Your name').inputValue()).toBe('Ben');
  await page.getByLabel('Your name').press('Enter');
  await phase(page, 'create');
  const sent = table.asked.find(({ method, path }) => method === 'POST' && path === '/api/stories/games');
  expect(sent?.body).toEqual({ bots: true, settings: { players_max: 4, hand: 6, countdown_ms: 30_000 } });
  expect(new URL(page.url()).pathname).toBe(PATH);
});

test('a name that is refused stays, with the reason', async () => {
  const table = new FakeTable({ phase: 'create', role: 'visitor' });
  table.on('POST /api/stories/guests', problem(429, 'address_quota', 'too many guests from this address'));
  const page = await opened(table, '/stories');
  await page.getByLabel('Your name').fill('x'.repeat(33));
  await page.getByText('A name has 32 characters at most.').waitFor();
  expect(await button(page, 'Play with bots').isDisabled()).toBe(true);
  await page.getByLabel('Your name').fill('Ben');
  await button(page, 'Play with bots').click();
  await page.getByText('Too many guests from this address (address_quota)').waitFor();
  expect(await page.getByLabel('Your name').inputValue()).toBe('Ben');
  await expectGood(page);
});

test('a request whose answer was lost opens no second table', async () => {
  const table = new FakeTable({ phase: 'create', role: 'player' });
  const keys: string[] = [];
  const page = await opened(table, '/stories');
  page.on('request', (request) => request.url().endsWith('/stories/games') && keys.push(request.headers()['idempotency-key'] ?? ''));
  table.isDown = true;
  await button(page, 'Play with bots').click();
  await page.getByText('Nothing that you typed is lost').waitFor();
  table.isDown = false;
  table.on('POST /api/stories/games', { status: 201, json: table.view });
  await button(page, 'Play with bots').click();
  await phase(page, 'create');
  expect([keys.length, new Set(keys).size, keys[0]?.length]).toEqual([2, 1, 32]);
});

test('a friend with a link names themselves and sits down in one step', async () => {
  const table = naming(new FakeTable({ phase: 'invitation', role: 'visitor' }));
  table.does('join', () => viewOf({ phase: 'invitation', role: 'player' }));
  const page = await opened(table, PATH, { viewport: { width: 360, height: 740 } });
  expect(table.cursors).toEqual(['20']);
  await page.getByLabel('Your name').fill('Ben');
  await button(page, 'Join the game').click();
  await page.waitForSelector('[data-role=player]');
  expect(await page.getByRole('radio').count()).toBe(6);
  // The feed was a visitor's: it begins again, as the player's.
  expect(table.cursors).toEqual(['20', null]);
});

test('the storyteller chooses, tells and goes on; a reload keeps the sentence that is not sent', async () => {
  const table = new FakeTable({ phase: 'create', role: 'storyteller' });
  table.does('card', (view) => game(view, { has_winner_card: true, winner_card: 28, own: { hand: view.game?.own?.hand ?? [], picked: 28, vote: null } }));
  table.does('sentence', () => viewOf({ phase: 'invitation', role: 'storyteller' }));
  const page = await opened(table);
  await page.getByRole('radio').nth(3).press('Space');
  await button(page, 'Tell about this card').click();
  const field = page.getByLabel('Your sentence');
  await field.fill(`${'🦊'.repeat(81)}`);
  await page.getByText('1 characters too many').waitFor();
  expect(await button(page, 'Tell it').isDisabled()).toBe(true);
  await field.fill('It tells');
  await page.getByText('72 characters left').waitFor();
  await page.reload();
  expect(await field.inputValue()).toBe('It tells');
  table.isDown = true;
  await button(page, 'Tell it').click();
  await page.getByText('The server cannot be reached. Nothing is lost').waitFor();
  expect(await field.inputValue()).toBe('It tells');
  table.isDown = false;
  await button(page, 'Tell it').click();
  await phase(page, 'invitation');
  expect(table.asked.filter(({ method }) => method === 'POST').map(({ path, body }) => [path.split('/').pop(), body])).toEqual([['card', { card: 28 }], ['sentence', { sentence: 'It tells' }]]);
  expect(await page.evaluate(() => Object.keys({ ...sessionStorage, ...localStorage }).filter((key) => key.includes('sentence')))).toEqual([]);
});

test('the storyteller begins the vote and counts it when there is enough, and sets the countdown', async () => {
  const table = new FakeTable({ phase: 'invitation', role: 'storyteller' });
  table.does('voting', () => viewOf({ phase: 'vote', role: 'storyteller', isDone: true })).does('complete', () => viewOf({ phase: 'complete', role: 'storyteller' }));
  table.does('countdown', (view) => game(view, { countdown_ms: 15_000 })).does('bots', (view) => ({ ...view, bots: true }));
  const page = await opened(table);
  expect(await button(page, 'Begin the vote').isDisabled()).toBe(true);
  await page.getByLabel('Countdown of this phase').selectOption('15');
  await page.getByLabel('Bots take free seats').check();
  await expect.poll(() => page.getByLabel('Bots take free seats').isChecked()).toBe(true);
  table.happened({ type: 'picked', player: playerOf('Cam'), card: 25, countdown_at: new Date(Date.now() + 50_000).toISOString() });
  await page.getByText(/The vote begins in/).waitFor();
  await button(page, 'Begin the vote').click();
  await phase(page, 'vote');
  await page.getByText('Chosen by Ben').waitFor();
  await button(page, 'Count the votes').click();
  await phase(page, 'complete');
  expect(table.asked.filter(({ method }) => method === 'POST').map(({ path, body }) => [path.split('/').pop(), body])).toEqual([
    ['countdown', { countdown_ms: 15_000 }],
    ['bots', { are_on: true }],
    ['voting', null],
    ['complete', null],
  ]);
});

test('a player picks and votes by keyboard, cannot choose the own card, and may change their mind', async () => {
  const table = new FakeTable({ phase: 'invitation', role: 'player' });
  table.does('pick', (view) => game(view, { own: { hand: view.game?.own?.hand ?? [], picked: 9, vote: null } }));
  table.does('vote', (view) => game(view, { own: { hand: [], picked: 9, vote: 25 } }));
  const page = await opened(table);
  await page.getByRole('radio').first().focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await button(page, 'Look closer').click();
  await page.getByRole('dialog').getByText('A ship in a bottle, and the bottle on the waves').waitFor();
  await expectGood(page);
  await page.keyboard.press('Escape');
  await button(page, 'Pick this card').click();
  await page.getByText('Your pick').waitFor();
  expect(await button(page, 'Pick this one instead').isDisabled()).toBe(true);
  table.view = { ...viewOf({ phase: 'vote', role: 'player' }), seq: 30 };
  table.send({ type: 'view', ...table.view });
  await phase(page, 'vote');
  expect(await page.getByRole('radio').first().isDisabled()).toBe(true);
  await page.getByRole('radio').nth(1).press('Space');
  await button(page, 'Vote for this card').click();
  await page.getByText('Your vote', { exact: true }).waitFor();
  expect(table.asked.filter(({ method }) => method === 'POST').map(({ path, body }) => [path.split('/').pop(), body])).toEqual([['pick', { card: 9 }], ['vote', { card: 25 }]]);
});

test('what is refused because the game went on is said, and the table is as it is now', async () => {
  const table = new FakeTable({ phase: 'invitation', role: 'player' });
  table.on('POST /api/stories/games/{game}/pick', () => {
    table.view = { ...viewOf({ phase: 'vote', role: 'player' }), seq: 21 };
    return problem(409, 'wrong_phase', 'the game is in vote');
  });
  const page = await opened(table);
  await page.getByRole('radio').first().press('Space');
  await button(page, 'Pick this card').click();
  await phase(page, 'vote');
  await page.getByText('The game is in vote (wrong_phase)').waitFor();
});

test('the feed brings everything without a question, and asks for what no event tells', async () => {
  const table = new FakeTable({ phase: 'invitation', role: 'player' });
  const page = await opened(table);
  const asked = () => table.asked.filter(({ path }) => path === `/api/stories/tables/${TABLE}`).length;
  expect(asked()).toBe(1);
  table.happened({ type: 'picked', player: playerOf('Cam'), card: null, countdown_at: null });
  await page.locator(`[data-player="${playerOf('Cam')}"]`).getByText('has picked').first().waitFor();
  expect(asked()).toBe(1);
  table.happened({ type: 'joined', player: playerOf('Dan'), name: 'Dan', is_bot: false, hand: null }, game(table.view, { players: [...(table.view.game?.players ?? []), { ...table.view.game?.players[2], player: playerOf('Dan'), name: 'Dan', level: 7 }] }));
  await page.locator(`[data-player="${playerOf('Dan')}"][title*="level 7"]`).waitFor();
  expect(asked()).toBe(2);
  table.happened({ type: 'completed', because: 'countdown', results: [] }, viewOf({ phase: 'complete', role: 'player' }));
  await page.getByText('New in your deck').waitFor();
});

test('the end is revealed calmly to those who saw the vote, and stands still for others', async () => {
  const animations = (page: Page) => page.locator('[aria-label="The cards"] li').first().evaluate((card) => getComputedStyle(card).animationName);
  const found: string[] = [];
  for (const [reducedMotion, isWatched] of [['no-preference', true], ['reduce', true], ['no-preference', false]] as const) {
    const table = new FakeTable({ phase: isWatched ? 'vote' : 'complete', role: 'player' });
    const page = await opened(table, PATH, { reducedMotion });
    if (isWatched) table.happened((eventsOf(null)[10] ?? {}) as never, viewOf({ phase: 'complete', role: 'player' }));
    await phase(page, 'complete');
    found.push(await animations(page));
  }
  expect([found[0]?.includes('appear'), found.slice(1)]).toEqual([true, ['none', 'none']]);
});

test('a countdown runs by the server’s clock, on a device whose own is wrong', async () => {
  for (const offMs of [-3_600_000, 0, 3_600_000]) {
    const table = new FakeTable({ phase: 'vote', role: 'player', isDone: true });
    const now = Date.now();
    table.view = game(table.view, { countdown_at: new Date(now + 45_000).toISOString() });
    table.on('GET /api/stories/tables/{table}', () => ({ json: table.view, headers: { date: new Date().toUTCString() } }));
    const page = await pages.open(table, '/stories');
    await page.clock.install({ time: now + offMs });
    await page.goto(`http://console.test${PATH}`);
    await phase(page, 'vote');
    expect(await page.getByRole('timer').innerText()).toMatch(/Votes are counted in\s0:4[1-6]/);
  }
});

test('a lost feed says so, and goes on after what is known; what is typed stays', async () => {
  const table = new FakeTable({ phase: 'invitation', role: 'player' });
  const page = await opened(table);
  await page.getByLabel('Say something').fill('A thought');
  table.isDown = true;
  table.hangUp();
  await page.getByText('The table is interrupted.').waitFor();
  await expectGood(page);
  table.isDown = false;
  await page.getByText('Connected again.').waitFor();
  expect(new Set(table.cursors)).toEqual(new Set(['20']));
  table.view = { ...game(table.view, {}), seq: 24, chat: [] };
  table.send({ type: 'view', ...viewOf({ phase: 'vote', role: 'player' }), seq: 24 });
  await phase(page, 'vote');
  expect(await page.getByLabel('Say something').inputValue()).toBe('A thought');
});

test('a device without network says so, and opens the feed anew when it is back', async () => {
  const table = new FakeTable({ phase: 'invitation', role: 'player' });
  const page = await opened(table);
  await page.context().setOffline(true);
  await page.getByText('This device has no network.').waitFor();
  await expectGood(page);
  await page.context().setOffline(false);
  await expect.poll(() => table.cursors.length).toBeGreaterThan(1);
  await page.getByText('Connected again.').waitFor();
});

test('a page that slept opens its feed anew', async () => {
  const table = new FakeTable({ phase: 'invitation', role: 'player' });
  const page = await opened(table);
  await page.evaluate(() => {
    let isHidden = true;
    Object.defineProperty(document, 'hidden', { get: () => isHidden });
    document.dispatchEvent(new Event('visibilitychange'));
    const now = Date.now;
    Date.now = () => now() + 60_000;
    isHidden = false;
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await expect.poll(() => table.cursors).toEqual(['20', '20']);
});

test('a token that is no longer taken ends the seat, and the table is seen as a visitor sees it', async () => {
  const table = new FakeTable({ phase: 'invitation', role: 'player' });
  const page = await opened(table);
  table.session = null;
  table.view = { ...viewOf({ phase: 'invitation', role: 'visitor' }), seq: 3 };
  table.on('GET /api/session', problem(401, 'token_expired', 'the token has expired')).on('DELETE /api/session', { status: 204 });
  table.hangUp(1008, 'token_expired');
  await page.waitForSelector('[data-role=visitor]');
  await page.getByLabel('Your name').waitFor();
});

test('chat: what was not seen is marked in the game, not over it; lines are text; a draft survives a reload', async () => {
  const table = new FakeTable({ phase: 'invitation', role: 'player' });
  table.on('POST /api/stories/tables/{table}/chat', ({ body }) => {
    const line = { at: new Date().toISOString(), game: GAME, player: playerOf('Ben'), kind: 'said', text: (body as { text: string }).text };
    table.view = { ...table.view, seq: (table.view.seq ?? 0) + 1, chat: [...table.view.chat, line] };
    return { json: table.view };
  });
  const page = await opened(table, PATH, { viewport: { width: 360, height: 640 } });
  const mark = page.getByRole('button', { name: 'Chat: 1 new line' });
  await mark.waitFor();
  await expectGood(page);
  await mark.click();
  await mark.waitFor({ state: 'detached' });
  await page.getByText('Hello <b>you</b>').waitFor();
  await page.reload();
  await phase(page, 'invitation');
  expect(await mark.count()).toBe(0);
  await page.getByLabel('Say something').fill('To be kept');
  await page.reload();
  expect(await page.getByLabel('Say something').inputValue()).toBe('To be kept');
  await page.getByLabel('Say something').press('Enter');
  await page.getByRole('log').getByText('To be kept').waitFor();
  expect(await page.getByLabel('Say something').inputValue()).toBe('');
  table.on('POST /api/stories/tables/{table}/chat', problem(429, 'chat_too_fast', 'one line a second'));
  await page.getByLabel('Say something').fill('Too fast');
  await page.getByLabel('Say something').press('Enter');
  await page.getByText('One line a second (chat_too_fast)').waitFor();
  expect(await page.getByLabel('Say something').inputValue()).toBe('Too fast');
});

test('friends are invited by link and by name', async () => {
  const table = new FakeTable({ phase: 'invitation', role: 'storyteller' });
  table.on('GET /api/stories/my-games', { json: listedGames(2, 'complete').map((row, at) => ({ ...row, storyteller: `e${at}`, role: 'player', has_won: false })) });
  table.does('invite', (view) => game(view, { invited: ['e1'] }));
  const page = await opened(table);
  expect(await page.getByLabel('Link of this table').inputValue()).toBe(`http://console.test${PATH}`);
  await page.getByRole('button', { name: /^Copy ?: Link of this table$/ }).waitFor();
  await button(page, 'Invite Teller 1').click();
  await button(page, 'Teller 1 is invited').waitFor();
  await button(page, 'Invite Dan').waitFor();
  await expectGood(page);
});

test('leaving says what it does, and can be thought over', async () => {
  const table = new FakeTable({ phase: 'invitation', role: 'storyteller' });
  table.does('leave', () => viewOf({ phase: 'canceled', role: 'visitor' }));
  const page = await opened(table);
  await button(page, 'Leave the table').click();
  await page.getByText('The game ends for everyone when its storyteller leaves.').waitFor();
  await expectGood(page);
  await button(page, 'Stay').click();
  await button(page, 'Leave the table').click();
  await button(page, 'Leave').click();
  await phase(page, 'canceled');
});

test('the next storyteller begins the next game, and the hand comes with it', async () => {
  const table = new FakeTable({ phase: 'complete', role: 'player' });
  table.on('POST /api/stories/games', () => ({ status: 201, json: (table.view = { ...viewOf({ phase: 'create', role: 'storyteller' }), seq: 22 }) }));
  const page = await opened(table);
  await page.getByText('You tell the next story.').waitFor();
  await button(page, 'Tell the next story').click();
  await phase(page, 'create');
  expect(await page.getByRole('radio').count()).toBe(6);
  expect(table.asked.find(({ method }) => method === 'POST')?.body).toEqual({ table: TABLE });
});

test('nothing of a person’s hand is kept in the browser', async () => {
  const table = new FakeTable({ phase: 'invitation', role: 'player' });
  const page = await opened(table);
  await page.getByRole('radio').nth(2).press('Space');
  await page.getByLabel('Say something').fill('x');
  const kept = await page.evaluate(() => ({ session: { ...sessionStorage }, local: { ...localStorage } }));
  expect(Object.keys(kept.session).every((key) => /^stories\.(chat|chat-seen)\./.test(key))).toBe(true);
  expect(kept.local).toEqual({});
  expect(VIEWERS.player).toBe(playerOf('Ben'));
  expect(await page.getByText(SENTENCE).count()).toBeGreaterThan(0);
});
