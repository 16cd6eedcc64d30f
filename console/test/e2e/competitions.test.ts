// The pages of ladders, tournaments and duels as they are built, in Chromium, against a server that the test plays.
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { type Asked, FakeApi, problem } from '../api.ts';
import { ANN, bot, duel, duelGame, event, FakeTournament, ID, ladder, playDuel, playLadder, PLAYER, tournament, uuid } from '../competitions.ts';
import { expectGood, expectGoodInEveryScheme, expectPartComesBack, IS_LONG, Pages } from '../pages.ts';

const pages = new Pages();
const LADDER = `/ladders/${ID}`;
const CUP = `/tournaments/${ID}`;
const DUEL = `/duels/${ID}`;

const signedIn = () => Object.assign(new FakeApi(), { session: PLAYER });
const cup = (options: Parameters<typeof tournament>[0] = {}, api = new FakeApi()) => new FakeTournament(api, tournament(options));
const bodies = (api: FakeApi, method: string, path: string) => api.asked.filter((asked) => asked.method === method && asked.path === path).map(({ body }) => body);
const text = (page: Page, wanted: string | RegExp) => page.getByText(wanted).filter({ visible: true }).first().waitFor();
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' });

/** What each page shows, and in which state. */
const STATES: readonly [string, string, (api: FakeApi) => void, string | RegExp][] = [
  ['ladders', '/ladders', (api) => playLadder(api), '1,234 games played'],
  ['no ladders', '/ladders', (api) => api.on('GET /api/leaderboards', { json: [] }), 'There is no public ladder'],
  ['a ladder', LADDER, (api) => playLadder(api, { ranked: 12 }), 'In placement: a rank comes after 10 games'],
  ['a ladder that nobody has entered', LADDER, (api) => playLadder(api, { ranked: 0, more: { games_under_way: 0, note: 'no snake has entered; a game needs 4' } }), 'No snake has entered; a game needs 4.'],
  ['a ladder that has ended', LADDER, (api) => playLadder(api, { more: { active: false, ended_at: '2026-01-01T00:00:00Z', note: 'this leaderboard has ended' } }), 'Ended'],
  ['seats', `${LADDER}?tab=seats`, (api) => playLadder(api), 'Mean place'],
  ['seasons', `${LADDER}?tab=seasons`, (api) => playLadder(api), 'Season 2'],
  ['a season that has ended', `${LADDER}?season=2`, (api) => playLadder(api), 'This is season 2, as it ended.'],
  ['an entry', `${LADDER}?entry=${uuid(0)}`, (api) => playLadder(api), '1st by rating, after 200 games.'],
  ['head to head', `${LADDER}?entry=${uuid(0)}&part=opponents`, (api) => playLadder(api), 'Random'],
  ['tournaments', '/tournaments', (api) => void cup({}, api), 'Spring cup'],
  ['no tournaments', '/tournaments', (api) => api.on('GET /api/tournaments', { json: [] }), 'No tournament has been held'],
  ['a bracket', CUP, (api) => void cup({ size: 13 }, api), /live|Being played/],
  ['a double elimination that is over', CUP, (api) => void cup({ format: 'double_elimination', status: 'finished' }, api), 'Champion'],
  ['a match', `${CUP}?match=5`, (api) => void cup({}, api), 'Games'],
  ['rounds', `${CUP}?tab=rounds&round=winners-1`, (api) => void cup({}, api), /won more games/],
  ['standings', `${CUP}?tab=table`, (api) => void cup({}, api), 'Food'],
  ['a Swiss tournament', CUP, (api) => void cup({ format: 'swiss', size: 12 }, api), 'Points'],
  ['groups', `${CUP}?tab=groups`, (api) => void cup({ format: 'groups' }, api), 'Group B'],
  ['heats', CUP, (api) => void cup({ format: 'heats', size: 16 }, api), 'Now'],
  ['entries', CUP, (api) => void cup({ status: 'scheduled' }, api), '8 bots of 64 entered'],
  ['a tournament without entries', CUP, (api) => void cup({ status: 'scheduled', size: 0 }, api), 'No bot has entered yet.'],
  ['one that was called off', CUP, (api) => void cup({ status: 'cancelled', size: 0, more: { cancel_reason: 'too_few_entrants' } }, api), 'too few bots had entered'],
  ['what happened', `${CUP}?tab=events`, (api) => void cup({}, api), /had not ended at its deadline, and was decided by its board/],
  ['duels', '/duels', (api) => playDuel(Object.assign(api, { session: PLAYER }), () => duel()), 'old against new'],
  ['no duels', '/duels', (api) => Object.assign(api, { session: PLAYER }).on('GET /api/duels', { json: [] }), 'You have played no duel yet'],
  ['duels without an account', '/duels', () => {}, 'gauntlet duel http://127.0.0.1:8000'],
  ['a duel', DUEL, (api) => playDuel(api, () => duel()), /of the way to “new is better”/],
  ['a duel that begins', DUEL, (api) => playDuel(api, () => duel({ pairs: 0 })), 'No pair of games has ended yet.'],
  ['a duel that is decided', DUEL, (api) => playDuel(api, () => duel({ end: 'h1_accepted' })), 'new is better than old'],
  ['a duel with a bot that is silent', DUEL, (api) => playDuel(api, () => duel({ end: 'bot_silent', more: { silent_bot: { bot: 1, games: 3, class: 'malformed', problem: 'the answer was a web page', remedy: 'check the URL', status: 200, body_start: '<html>' } } })), 'the answer was a web page'],
  ['games of a duel', `${DUEL}?tab=games`, (api) => playDuel(api, () => duel()), 'Being played'],
  ['a league', DUEL, (api) => playDuel(api, () => duel({ bots: 8 })), 'against v8'],
];

test.each(STATES)('%s: good to read in every scheme', async (_, path, play, shown) => {
  const api = new FakeApi();
  play(api);
  const page = await pages.visit(api, path);
  await text(page, shown);
  await expectGoodInEveryScheme(page);
});

const PAGES: readonly [string, string][] = [['/ladders', 'GET /api/leaderboards'], [LADDER, 'GET /api/leaderboards/{id}'], ['/tournaments', 'GET /api/tournaments'], [CUP, 'GET /api/tournaments/{id}'], ['/duels', 'GET /api/duels'], [DUEL, 'GET /api/duels/{id}']];

test.each(PAGES)('%s says that it loads, why it is refused with the code to quote, that nothing is there, and comes back by itself from a lost connection', async (path, what) => {
  const api = signedIn();
  playLadder(api);
  playDuel(api, () => duel());
  const fake = cup({}, api);
  let arrive = () => {};
  api.on(what, () => new Promise((resolve) => (arrive = () => resolve(problem(403, 'forbidden', 'this is not for you')))));
  const page = await pages.open(api, path);
  await page.locator('[data-standing=loading]').waitFor();
  await expectGood(page);
  arrive();
  await text(page, 'This is not for you (forbidden)');
  await expectGood(page);
  api.on(what, problem(404, 'no_such_thing', 'there is none'));
  await button(page, 'Try again').click();
  await text(page, 'Nothing is here');
  await expectGood(page);
  api.isDown = true;
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
  await text(page, /The server cannot be reached. What you see stays/);
  await expectGood(page);
  api.isDown = false;
  api.on(what, { json: { 'GET /api/leaderboards': [ladder()], 'GET /api/leaderboards/{id}': ladder(), 'GET /api/tournaments': [fake.of], 'GET /api/tournaments/{id}': fake.of, 'GET /api/duels': [duel()], 'GET /api/duels/{id}': duel() }[what] });
  await page.getByRole('heading', { name: /Standard 11x11|Spring cup|old against new/ }).waitFor();
});

const PARTS: readonly [string, string, string | RegExp][] = [
  ['/ladders', 'GET /api/leaderboards', '1,234 games played'],
  [LADDER, 'GET /api/leaderboards/{id}', /1,234 games/],
  [LADDER, 'GET /api/leaderboards/{id}/rankings', 'In placement: a rank comes after 10 games'],
  [`${LADDER}?tab=seats`, 'GET /api/leaderboards/{id}/seats', 'Mean place'],
  [`${LADDER}?tab=seasons`, 'GET /api/leaderboards/{id}/seasons', 'Season 2'],
  [`${LADDER}?entry=${uuid(0)}`, 'GET /api/leaderboards/{id}/entries/{snake}', '1st by rating, after 200 games.'],
  [`${LADDER}?entry=${uuid(0)}`, 'GET /api/leaderboards/{id}/entries/{snake}/games', /^Watch/],
  [`${LADDER}?entry=${uuid(0)}&part=opponents`, 'GET /api/leaderboards/{id}/entries/{snake}/opponents', /^10–2/],
  ['/tournaments', 'GET /api/tournaments', 'Spring cup'],
  [CUP, 'GET /api/tournaments/{id}', /live|Being played/],
  ['/duels', 'GET /api/duels', 'old against new'],
  [DUEL, 'GET /api/duels/{id}', /of the way to “new is better”/],
  [`${DUEL}?tab=games`, 'GET /api/duels/{id}/games', 'Being played'],
];

test.each(PARTS)('%s: %s that fails for the moment is said, and comes back', async (path, what, shown) => {
  const [api, whole] = [signedIn(), signedIn()].map((api) => {
    playLadder(api);
    playDuel(api, () => duel());
    cup({}, api);
    return api;
  }) as [FakeApi, FakeApi];
  await expectPartComesBack(pages, api, whole, path, what, shown);
});

test('figures that cannot be asked for again are said to be old', async () => {
  const api = playLadder(new FakeApi());
  const page = await pages.open(api, '/docs');
  await page.clock.install();
  await page.goto(`http://console.test${LADDER}`);
  await page.getByRole('button', { name: 'Flood' }).waitFor();
  api.on('GET /api/leaderboards/{id}', problem(503, 'store_unavailable', 'the store cannot be reached'));
  await page.clock.fastForward(60_000);
  await text(page, 'The store cannot be reached (store_unavailable) What you see is from before; the page asks again by itself.');
  await page.getByRole('button', { name: 'Flood' }).waitFor();
  await expectGood(page);
});

test('a ladder of 1,205 is read in pages, searched and sorted', async () => {
  const api = playLadder(new FakeApi(), { ranked: 1_200 });
  const page = await pages.open(api, LADDER);
  for (let rows = 200; rows <= 1_200; rows += 200) {
    await page.locator(`table[data-count="${rows}"]`).waitFor();
    await button(page, 'Show more').click();
  }
  await page.locator('table[data-count="1205"]').waitFor();
  expect(await button(page, 'Show more').count()).toBe(0);
  await page.getByRole('searchbox').fill('bot 1199');
  await text(page, '1 bot of the 1,205 shown');
  expect(await page.locator('tbody tr').count()).toBe(1);
  await page.getByRole('button', { name: 'Food' }).click();
  await page.locator('table[data-count="200"]').waitFor();
  await expect.poll(() => new URL(page.url()).searchParams.get('sort')).toBe('food');
  expect(api.asked.findLast(({ query }) => query.has('sort'))?.query.get('sort')).toBe('food_eaten');
});

test('a row opens its history and the games of two', async () => {
  const page = await pages.open(playLadder(new FakeApi()), LADDER);
  await page.getByRole('button', { name: 'Flood' }).click();
  await page.locator('[data-chart=shown]').waitFor();
  await expect.poll(() => new URL(page.url()).searchParams.get('entry')).toBe(uuid(1));
  await page.getByRole('link', { name: 'Head to head' }).click();
  await page.getByRole('dialog').getByRole('button', { name: /^A name that is quite long/ }).click();
  await text(page, /against 2nd of 4/);
  expect(await page.getByRole('link', { name: 'Watch game 7' }).getAttribute('href')).toBe(`/games/${uuid(7)}`);
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  await expect.poll(() => new URL(page.url()).search).toBe('');
});

test('an owner of bots enters one and takes another out', async () => {
  const api = playLadder(signedIn())
    .on('POST /api/leaderboards/{id}/entries', problem(409, 'too_many', 'this account has 1000 active entries'))
    .on('DELETE /api/leaderboards/{id}/entries/{snake}', { status: 204 });
  const page = await pages.open(api, LADDER);
  await button(page, 'Enter or take out a bot').click();
  await text(page, 'private: make it public first');
  await expectGood(page);
  await button(page, 'Enter Flood').click();
  await text(page, 'This account has 1000 active entries (too_many)');
  api.on('POST /api/leaderboards/{id}/entries', { status: 201, json: {} }).on('GET /api/leaderboards/{id}/entries', { json: [{ battlesnake_id: uuid(1), active: true, display_score: 0, games_played: 0 }] });
  await button(page, 'Enter Flood').click();
  await button(page, 'Take out Flood').waitFor();
  expect(bodies(api, 'POST', `/api/leaderboards/${ID}/entries`).at(-1)).toEqual({ battlesnake_id: uuid(1) });
  await button(page, 'Take out Flood').click();
  await expect.poll(() => api.asked.some(({ method, path }) => method === 'DELETE' && path.endsWith(uuid(1)))).toBe(true);
});

test('an owner makes a ladder, invites, and ends it after a question', async () => {
  const api = playLadder(signedIn(), { more: { owner_id: ANN, is_public: false } })
    .on('GET /api/leaderboards/{id}/invitations', { json: [{ account_id: uuid(7), account: 'bob', invited_at: '2026-01-01T00:00:00Z' }] })
    .on('POST /api/leaderboards/{id}/invitations', problem(404, 'no_such_account', 'there is no account of this name'))
    .on('DELETE /api/leaderboards/{id}/invitations/{account}', { status: 204 })
    .on('DELETE /api/leaderboards/{id}', { status: 204 })
    .on('POST /api/leaderboards', problem(400, 'bad_value', 'board must be WxH'));
  const page = await pages.open(api, '/ladders');
  await button(page, 'New ladder').click();
  await expectGood(page);
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Mine');
  await page.getByLabel('Bots in a game').fill('2');
  await page.getByLabel('Everyone may see and enter it').uncheck();
  api.isDown = true;
  await button(page, 'Create the ladder').click();
  await text(page, /Nothing that you typed is lost/);
  api.isDown = false;
  await button(page, 'Create the ladder').click();
  await text(page, 'Board must be WxH (bad_value)');
  api.on('POST /api/leaderboards', { status: 201, json: ladder() });
  await button(page, 'Create the ladder').click();
  await page.getByRole('link', { name: 'Invitations' }).click();
  expect(bodies(api, 'POST', '/api/leaderboards').at(-1)).toEqual({ name: 'Mine', is_public: false, game_type: 'standard', board: '11x11', timeout_ms: 500, players: 2 });
  await text(page, 'bob');
  await expectGood(page);
  await page.getByLabel(/Invite an account/).fill('eve');
  await button(page, 'Invite').click();
  await text(page, 'There is no account of this name (no_such_account)');
  await button(page, 'Take back the invitation of bob').click();
  await text(page, /all of its bots are taken out/);
  await button(page, 'Take it back').click();
  await page.locator('dialog').waitFor({ state: 'detached' });
  await button(page, 'End this ladder').click();
  await text(page, /It cannot be opened again/);
  await expectGood(page);
  await button(page, 'Leave it as it is').click();
  expect(api.asked.some(({ method, path }) => method === 'DELETE' && path === `/api/leaderboards/${ID}`)).toBe(false);
  await button(page, 'End this ladder').click();
  await button(page, 'End it for good').click();
  await expect.poll(() => api.asked.some(({ method, path }) => method === 'DELETE' && path === `/api/leaderboards/${ID}`)).toBe(true);
});

test('a tournament is followed by its feed, to its champion', async () => {
  const fake = cup({ size: 4 });
  const page = await pages.open(fake.api, CUP);
  await page.locator('.live[data-match]').waitFor();
  expect(await page.getByRole('region', { name: 'Now' }).getByRole('link').getAttribute('href')).toMatch(/^\/games\//);
  const asked = () => fake.api.asked.filter(({ path }) => path === `/api/tournaments/${ID}`).length;
  const before = asked();
  const over = tournament({ size: 4, status: 'finished', more: { seq: 14 } });
  fake.happen(over, event(13, 'game_played', { pairing: 2, game_id: over.pairings[2]?.games[1]?.id ?? '' }), event(14, 'ended', { end: { status: 'finished', champion: 0, champion_name: 'Hungry', standings_path: '' } }));
  await page.locator('.champion').getByText('Hungry').waitFor();
  expect(asked()).toBe(before + 1);
  await page.getByRole('link', { name: 'What happened' }).click();
  await text(page, 'The tournament is over: Hungry has won.');
  // Over is over: nothing is opened again.
  expect(fake.opened).toBe(2);
});

test('a match says how each game ended, and which was decided by its board', async () => {
  const page = await pages.open(cup().api, CUP);
  await page.getByRole('button', { name: /^match 1, won by Hungry: 1 Hungry 2 won, 8 Eight/ }).press('Enter');
  await text(page, 'Hungry won, by the board: it was not over at its deadline');
  await expect.poll(() => new URL(page.url()).searchParams.get('match')).toBe('1');
  expect(await page.getByRole('link', { name: 'Watch game 2' }).getAttribute('href')).toBe(`/games/${uuid(1_001)}`);
  await button(page, 'Close').click();
  await expect.poll(() => new URL(page.url()).search).toBe('');
});

test.each(['double_elimination', ...(IS_LONG ? ['single_elimination'] : [])])('a %s of 1,024 is drawn, and scrolls', async (format) => {
  const fake = cup({ size: 1_024, format, status: 'finished' });
  const page = await pages.open(fake.api, CUP, { viewport: { width: 1_024, height: 768 } });
  await page.locator('[data-match="1022"]').waitFor();
  expect(await page.locator('[data-bracket=winners] [data-match]').count()).toBeGreaterThanOrEqual(1_023);
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
  await page.getByRole('link', { name: 'Entrants' }).click();
  await page.locator('ul[data-count="1024"]').waitFor();
  await page.getByRole('link', { name: 'Standings' }).click();
  await page.locator('table[data-count="1024"]').waitFor();
});

test('on a phone a bracket is read round by round', async () => {
  const page = await pages.open(cup().api, CUP, { viewport: { width: 360, height: 740 } });
  await page.locator('[data-round=third_place-3]').waitFor();
  await button(page, 'The round before').click();
  await page.locator('[data-round=winners-3]').waitFor();
  await expect.poll(() => new URL(page.url()).searchParams.get('round')).toBe('winners-3');
  expect(await page.locator('[data-bracket]').count()).toBe(0);
});

test('an organizer creates a tournament with every format', async () => {
  const api = signedIn().on('GET /api/tournaments', { json: [] }).on('POST /api/tournaments', problem(422, 'bad_value', 'no'));
  const page = await pages.open(api, '/tournaments');
  await button(page, 'New tournament').click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Cup');
  const formats = ['Single elimination', 'Double elimination', 'Swiss', 'Round robin', 'Groups, then a bracket', 'Heats'];
  for (const [at, format] of formats.entries()) {
    await page.getByRole('combobox', { name: 'Format' }).selectOption(format);
    await expectGood(page);
    await button(page, 'Create the tournament').click();
    await expect.poll(() => bodies(api, 'POST', '/api/tournaments').length).toBe(at + 1);
    await button(page, 'Create the tournament').waitFor();
  }
  const sent = bodies(api, 'POST', '/api/tournaments') as { format: { type: string } }[];
  expect(sent.map(({ format }) => format.type)).toEqual(['single_elimination', 'double_elimination', 'swiss', 'round_robin', 'groups', 'heats']);
});

test('an organizer enters bots, sets seeds, invites, starts, and calls off after a question', async () => {
  const api = signedIn();
  const more = { organizer_id: ANN, entry: 'invited', rules: { ...tournament().rules, seeding: 'manual' } };
  const fake = cup({ size: 3, status: 'scheduled', more }, api);
  api
    .on('POST /api/tournaments/{id}/entries', problem(409, 'duplicate_url', 'a bot with this URL is entered already'))
    .on('POST /api/tournaments/{id}/invitations', { status: 204 })
    .on('PUT /api/tournaments/{id}/seeds', () => ({ json: fake.of }))
    .on('DELETE /api/tournaments/{id}/entries/{snake}', { status: 204 })
    .on('POST /api/tournaments/{id}/start', () => ({ json: fake.of }))
    .on('POST /api/tournaments/{id}/cancel', () => ({ json: fake.of }));
  const page = await pages.open(api, CUP);
  await button(page, 'Enter a bot').click();
  await page.getByRole('combobox', { name: 'Bot', exact: true }).selectOption('Mine');
  await button(page, 'Enter it').click();
  await text(page, 'A bot with this URL is entered already (duplicate_url)');
  await expectGood(page);
  api.on('POST /api/tournaments/{id}/entries', { status: 201, json: { ...fake.of.entrants[0], snake_name: 'Mine' } });
  await button(page, 'Enter it').click();
  await text(page, 'Mine is entered.');
  await page.keyboard.press('Escape');
  await button(page, 'Invite').click();
  await page.getByLabel('The account’s id').fill(uuid(5));
  await page.getByRole('dialog').getByRole('button', { name: 'Invite' }).click();
  await text(page, 'The account is invited.');
  await page.keyboard.press('Escape');
  await button(page, 'Set the seeds').click();
  await button(page, 'A name that is quite long for a snake up').click();
  await expectGood(page);
  await button(page, 'Keep these seeds').click();
  await expect.poll(() => bodies(api, 'PUT', `/api/tournaments/${ID}/seeds`)).toEqual([{ snakes: [uuid(0), uuid(2), uuid(1)] }]);
  await button(page, 'Withdraw Flood').click();
  await text(page, /as if it had never entered/);
  await button(page, 'Withdraw it').click();
  await page.locator('dialog').waitFor({ state: 'detached' });
  await button(page, 'Start now').click();
  await text(page, /Entries close with 3 bots/);
  await expectGood(page);
  await button(page, 'Start it').click();
  await page.locator('dialog').waitFor({ state: 'detached' });
  await button(page, 'Call off').click();
  await text(page, /It cannot be taken up again/);
  await button(page, 'Call it off').click();
  await expect.poll(() => api.asked.filter(({ method, path }) => method === 'POST' && /start|cancel/.test(path)).map(({ path }) => path)).toEqual([`/api/tournaments/${ID}/start`, `/api/tournaments/${ID}/cancel`]);
});

test('an owner whose session comes late finds the way out', async () => {
  let arrive = () => {};
  const held = new Promise<void>((done) => (arrive = done));
  const api = new FakeApi().on('GET /api/session', async () => (await held, { json: PLAYER }));
  cup({ size: 3, status: 'scheduled' }, api);
  const page = await pages.open(api, CUP);
  await text(page, '3 bots of 64 entered');
  expect(await page.getByRole('button', { name: /^Withdraw/ }).count()).toBe(0);
  arrive();
  await button(page, /^Withdraw/).waitFor();
});

test('a stranger sees no way to do what is not allowed', async () => {
  for (const session of [null, PLAYER, { player: uuid(1), role: 'guest', name: 'Gus', is_guest: true }]) {
    const api = Object.assign(new FakeApi(), { session });
    playLadder(api);
    cup({}, api);
    for (const path of [LADDER, CUP]) {
      const page = await pages.open(api, path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      expect(await page.getByRole('button', { name: /End this ladder|Call off|Start now|Withdraw/ }).count()).toBe(0);
      if (path === LADDER && session !== PLAYER) await text(page, /Entering a bot needs an account/);
    }
  }
});

test('earlier events come on request', async () => {
  const api = new FakeApi();
  cup({ more: { seq: 1_000 } }, api);
  const feed = ({ query }: Asked) => {
    const after = Number(query.get('after'));
    const events = Array.from({ length: Math.min(256, 1_000 - after) }, (_, at) => event(after + at + 1, 'game_created', { pairing: 0 }));
    const json = { seq: after + events.length, timed_out: false, is_over: true, events };
    return { body: `data: ${JSON.stringify(json)}\n\n`, json, headers: { 'content-type': 'text/event-stream' } };
  };
  api.on('GET /api/tournaments/{id}/feed', (asked) => {
    const { body, json } = feed(asked);
    return after(asked) >= 744 ? { body, headers: { 'content-type': 'text/event-stream' } } : { json };
  });
  const page = await pages.open(api, `${CUP}?tab=events`);
  await page.locator('ol[data-count="256"]').waitFor();
  for (const count of [512, 768, 1_000]) {
    await button(page, 'Show what happened before').click();
    await page.locator(`ol[data-count="${count}"]`).waitFor();
  }
  expect(await button(page, 'Show what happened before').count()).toBe(0);
});

const after = ({ query }: Asked) => Number(query.get('after'));

test('a duel narrows while one looks, and rests when it is decided', async () => {
  let of = duel({ pairs: 30 });
  const api = playDuel(new FakeApi(), () => of);
  const page = await pages.open(api, DUEL);
  await page.locator('[data-games="60"]').waitFor();
  of = duel({ pairs: 60, end: 'h1_accepted' });
  await page.locator('.known').getByText(/^new is better than old/).waitFor();
  const asked = api.asked.length;
  expect(await page.getByRole('link', { name: 'All numbers as JSON' }).getAttribute('href')).toBe(`/api/duels/${ID}`);
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
  expect(api.asked.length).toBe(asked);
});

test('a duel is begun between a bot of one’s own and a URL, with its command', async () => {
  const api = playDuel(signedIn(), () => duel({ more: { is_own: true } })).on('POST /api/duels', problem(400, 'bad_value', 'this is the same program'));
  const page = await pages.open(api, `/duels?new=&candidate=${uuid(1)}`);
  await page.getByRole('combobox', { name: 'Baseline: what plays today' }).selectOption('Another one …');
  await page.getByLabel('Its id or URL').fill('http://127.0.0.1:8000');
  await page.getByLabel('What to call it').fill('old one');
  expect(await page.getByRole('combobox', { name: 'Candidate: the new one' }).inputValue()).toBe(uuid(1));
  await page.getByText('The same on the command line').click();
  await text(page, `gauntlet duel 'old one=http://127.0.0.1:8000' ${uuid(1)} --server http://console.test`);
  await expectGood(page);
  await button(page, 'Begin').click();
  await text(page, 'This is the same program (bad_value)');
  api.on('POST /api/duels', { status: 201, json: duel() }).on('POST /api/duels/{id}/cancel', { json: duel({ end: 'cancelled', more: { verdict: 'It was called off.', status: 'cancelled' } }) });
  await button(page, 'Begin').click();
  await page.waitForURL(`**${DUEL}`);
  expect(bodies(api, 'POST', '/api/duels').at(-1)).toMatchObject({ bots: [{ url: 'http://127.0.0.1:8000', name: 'old one' }, { snake_id: uuid(1) }], elo0: 0, elo1: 50 });
  await button(page, 'Call off').click();
  await text(page, /What counted so far stays/);
  await button(page, 'Call it off').click();
  await text(page, 'It was called off.');
});

test('what is typed before one’s own bots are listed stays', async () => {
  let arrive = () => {};
  const api = signedIn().on('GET /api/duels', { json: [] }).on('GET /api/snakes', () => new Promise((resolve) => (arrive = () => resolve({ json: [bot(0)] }))));
  const page = await pages.open(api, '/duels?new=');
  await page.getByLabel('Baseline: what plays today: its id or URL').fill('http://127.0.0.1:8000');
  arrive();
  await page.getByRole('combobox', { name: 'Baseline: what plays today' }).waitFor();
  expect(await page.getByLabel('Its id or URL').inputValue()).toBe('http://127.0.0.1:8000');
});

test('a league of eight is typed', async () => {
  const api = signedIn().on('GET /api/duels', { json: [] }).on('GET /api/snakes', { json: Array.from({ length: 9 }, (_, at) => bot(at)) }).on('POST /api/duels', problem(400, 'bad_value', 'no'));
  const page = await pages.open(api, '/duels?new=');
  await button(page, 'More than two: a league').click();
  for (let bots = 3; bots < 8; bots += 1) await button(page, 'One more bot').click();
  expect(await button(page, 'One more bot').count()).toBe(0);
  for (let at = 1; at <= 8; at += 1) await page.getByRole('combobox', { name: `Bot ${at}`, exact: true }).selectOption(uuid(at));
  await button(page, 'Take out bot 8').click();
  await expectGood(page);
  await button(page, 'Begin').click();
  await expect.poll(() => bodies(api, 'POST', '/api/duels')).toMatchObject([{ bots: [1, 2, 3, 4, 5, 6, 7].map((at) => ({ snake_id: uuid(at) })) }]);
});

test('1,000 games of a duel come in pages', async () => {
  const api = playDuel(new FakeApi(), () => duel({ end: 'h1_accepted' }));
  api.on('GET /api/duels/{id}/games', (asked) => {
    const from = after(asked);
    const rows = Array.from({ length: 100 }, (_, at) => duelGame(from + at));
    return { json: rows, headers: from < 900 ? { link: `</api/duels/${ID}/games?after=${from + 100}>; rel="next"` } : {} };
  });
  const page = await pages.open(api, `${DUEL}?tab=games`);
  for (let rows = 100; rows < 1_000; rows += 100) {
    await page.locator(`table[data-count="${rows}"]`).waitFor();
    await button(page, 'Show more').click();
  }
  await page.locator('table[data-count="1000"]').waitFor();
});
