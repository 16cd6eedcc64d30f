// The pages of hunts against a server that the test holds in its hands: lobby, search, parties, a hunt, hunters.
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { type Asked, FakeApi, problem } from '../api.ts';
import { expectGood, expectGoodInEveryScheme, Pages } from '../pages.ts';

const pages = new Pages();
const TICKET = '01a20a0e-e204-71dd-a91a-45e6f3d457af';
const ANN = '01a20a0e-e204-71dd-a91a-45e6f3d457b0';
const soon = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();
const guest = { player: ANN, role: 'guest', name: 'Ann', is_guest: true, expires_at: null };

const hunt = (name: string, more: object = {}) => ({
  id: name, name, admission: 'joined', creator: ANN, players: 3, players_max: 50, created_at: soon(-60), ends_at: soon(3_600),
  address: null, width: 120, height: 120, chests: 240, power_ups: 24, round_ms: 120_000, rounds: 3, has_joined: false, may_enter: false, ...more,
});
const hunter = (place: number) => ({ player: place === 0 ? ANN : `01a20a0e-e204-71dd-a91a-${`${place}`.padStart(12, '0')}`, name: place === 0 ? 'Ann' : `Hunter ${place}`, points: 9_000 - place, chests: 100, power_ups: 10, rounds: 20, rounds_won: 5, last_at: soon(-90) });
const ticket = (state: string, more: object = {}) => ({ id: TICKET, state, hunt: null, party: [ANN], party_size: 1, players: 2, region: null, rating: 1_000, since: soon(0), until: soon(60), ...more });

function api(session: object | null = guest): FakeApi {
  const fake = new FakeApi();
  fake.session = session;
  return fake
    .on('GET /api/hunts', { json: [hunt('harbour'), hunt('meadow', { admission: 'everybody', players_max: 0 })] })
    .on('GET /api/hunters', { json: [hunter(0), hunter(1)] })
    .on('GET /api/hunters/{player}', ({ params }) => (params[0] === ANN ? { json: hunter(0) } : problem(404, 'no_such_hunter', 'nothing was counted for this player yet')))
    .on('GET /api/hunts/statistics', { json: { hunters: 2, points: 18_000, chests: 9, power_ups: 1, rounds: 12, claims_behind: 0 } })
    .on('GET /api/hunts/harbour', { json: hunt('harbour') })
    .on('GET /api/hunts/harbour/rounds', { json: [{ number: 2, ended_at: soon(-30), winner: ANN, winner_name: 'Ann', points: 41, hunters: 3 }, { number: 1, ended_at: soon(-300), winner: null, winner_name: '', points: 0, hunters: 0 }] })
    .on('GET /api/hunts/tickets/{id}', problem(404, 'no_such_ticket', 'there is no such ticket of yours'));
}

const search = (page: Page, state: string) => page.waitForSelector(`[data-search=${state}]`);
const sent = (fake: FakeApi, what: string) => fake.asked.filter(({ method, path }) => `${method} ${path}` === what).map(({ body }: Asked) => body);

test('whoever is nobody yet becomes a guest, is found a game, and is taken there', async () => {
  const fake = api(null)
    .on('POST /api/stories/guests', ({ body }) => ({ status: 201, json: { ...guest, ...(body as object), token: 'secret' } }))
    .on('POST /api/session', () => {
      fake.session = guest;
      return { json: guest };
    })
    .on('POST /api/hunts/tickets', { status: 201, json: ticket('waiting') });
  let answer = () => {};
  const matched = new Promise<void>((found) => (answer = found));
  fake.on('GET /api/hunts/tickets/{id}', async () => (await matched, { json: ticket('matched', { hunt: 'match-7' }) }));
  const page = await pages.open(fake, '/hunts');
  // The session is asked for without it being a sign-in.
  fake.on('GET /api/session', () => (fake.session ? { json: fake.session } : { status: 204 }));
  await page.selectOption('select >> nth=0', '2');
  await page.click('button >> text="Find me a game"');
  await search(page, 'waiting');
  await expect.poll(() => new URL(page.url()).searchParams.get('ticket')).toBe(TICKET);
  expect(sent(fake, 'POST /api/hunts/tickets')).toEqual([{ players: 2, party_size: 1 }]);
  answer();
  await page.waitForURL('http://console.test/world?world=match-7');
  await page.goBack();
  await search(page, 'none');
});

test.each([
  ['GET /api/session', 'store_unavailable', 503],
  ['POST /api/stories/guests', 'too_many_guests', 429],
])('who cannot be made a guest, for %s is refused, is told why and begins nothing', async (what, code, status) => {
  const fake = api(null).on(what, problem(status, code, 'come back later'));
  const page = await pages.open(fake, '/hunts');
  await page.click('button >> text="Find me a game"');
  await page.waitForSelector(`[data-search] [role=alert] >> text="Come back later (${code})"`);
  expect(fake.asked.filter(({ method }) => method !== 'GET').map(({ path }) => path)).toEqual(what.startsWith('GET') ? [] : ['/api/stories/guests']);
});

test('a party: the link invites, each accepts, and all are told', async () => {
  let joined = 1;
  const gathering = () => ({ json: ticket(joined < 2 ? 'gathering' : 'waiting', { party_size: 2, party: [ANN, 'b'].slice(0, joined) }) });
  const fake = api().on('POST /api/hunts/tickets', { status: 201, json: ticket('gathering', { party_size: 2 }) }).on('GET /api/hunts/tickets/{id}', gathering);
  const page = await pages.open(fake, '/hunts');
  await page.selectOption('select >> nth=0', '3');
  await page.selectOption('select >> nth=1', { label: 'with 1 friend' });
  await page.click('button >> text="Find me a game"');
  await page.waitForSelector('text="1 of 2 of your party are here."');
  const link = await page.inputValue('[aria-label="Link for your friends"]');
  expect(link).toBe(`http://console.test/hunts?ticket=${TICKET}`);

  const friend = api({ ...guest, player: 'b' }).on('POST /api/hunts/tickets/{id}/join', () => ((joined = 2), gathering()));
  const invited = await pages.open(friend, new URL(link).pathname + new URL(link).search);
  await invited.waitForSelector('text="You are invited to a party"');
  expect(sent(friend, `POST /api/hunts/tickets/${TICKET}/join`)).toEqual([]);
  friend.on('GET /api/hunts/tickets/{id}', gathering);
  await invited.click('text="Accept"');
  await search(invited, 'waiting');
  await search(page, 'waiting');
});

test('an invitation is declined without a word to the server', async () => {
  const fake = api();
  const page = await pages.open(fake, `/hunts?ticket=${TICKET}`);
  await page.click('text="No, thanks"');
  await search(page, 'none');
  await expect.poll(() => new URL(page.url()).search).toBe('');
  expect(fake.asked.filter(({ method }) => method !== 'GET')).toEqual([]);
});

test('an old invitation says so', async () => {
  const fake = api().on('POST /api/hunts/tickets/{id}/join', problem(404, 'no_such_ticket', 'gone'));
  const page = await pages.open(fake, `/hunts?ticket=${TICKET}`);
  await page.click('text="Accept"');
  await page.waitForSelector('[role=alert] >> text=/no longer waiting/');
});

test('a link that the server takes for no ticket says so, and leads to a new search', async () => {
  const page = await pages.open(api().on('GET /api/hunts/tickets/{id}', problem(400, 'bad_value', 'that is no id of a ticket')), `/hunts?ticket=${TICKET}`);
  await page.waitForSelector('[role=alert] >> text="That is no id of a ticket (bad_value)"');
  await page.click('text="Search again"');
  await search(page, 'none');
});

test.each([
  ['timed_out', /Not enough others/],
  ['cancelled', /called off/],
])('a search that ended as %s says why, and begins again', async (state, words) => {
  const fake = api().on('GET /api/hunts/tickets/{id}', { json: ticket(state) });
  const page = await pages.open(fake, `/hunts?ticket=${TICKET}`);
  await search(page, state);
  expect(await page.textContent('[data-search]')).toMatch(words);
  await page.click('text="Search again"');
  await search(page, 'none');
});

test('a search is stopped, and a refusal has its code', async () => {
  const fake = api()
    .on('POST /api/hunts/tickets', problem(409, 'in_hunt', 'you are in the hunt match-3 already'))
    .on('DELETE /api/hunts/tickets/{id}', { json: ticket('cancelled') });
  const page = await pages.open(fake, '/hunts');
  await page.click('button >> text="Find me a game"');
  await page.waitForSelector('[role=alert] >> text="You are in the hunt match-3 already (in_hunt)"');
  let end = () => {};
  const held = new Promise<void>((done) => (end = done));
  fake.on('POST /api/hunts/tickets', { status: 201, json: ticket('waiting') }).on('GET /api/hunts/tickets/{id}', async () => (await held, { json: ticket('waiting') }));
  await page.click('button >> text="Find me a game"');
  await search(page, 'waiting');
  await page.click('text="Stop searching"');
  await search(page, 'cancelled');
  end();
});

test('a search goes on when the server is back, and says when it is lost with it', async () => {
  const fake = api().on('GET /api/hunts/tickets/{id}', { json: ticket('gathering', { party_size: 2 }) });
  const page = await pages.open(fake, `/hunts?ticket=${TICKET}`);
  await search(page, 'gathering');
  fake.isDown = true;
  await page.waitForSelector('[data-connection=lost]');
  await search(page, 'gathering');
  fake.on('GET /api/hunts/tickets/{id}', problem(410, 'ticket_lost', 'gone'));
  fake.isDown = false;
  await page.waitForSelector('[role=alert] >> text=/is gone, and the search with it/');
});

test('a hunt of one\'s own is begun, with as many chests as it has room for', async () => {
  const fake = api().on('POST /api/hunts', ({ body }) => ({ status: 201, json: { ...hunt('harbour'), ...(body as object) } }));
  const page = await pages.open(fake, '/hunts');
  await page.click('text="Begin a hunt of your own"');
  await page.fill('details input', 'harbour');
  await page.selectOption('details select >> nth=1', '1');
  await page.selectOption('details select >> nth=2', '1');
  await page.click('button >> text="Begin"');
  await page.waitForURL('http://console.test/hunts/harbour');
  expect(sent(fake, 'POST /api/hunts')).toEqual([{ name: 'harbour', width: 120, height: 120, chests: 240, power_ups: 24, rounds: 1, round_ms: 60_000, open_ms: 1_080_000, admission: 'everybody' }]);
});

test('what was typed stays when the server cannot be reached', async () => {
  const fake = api();
  const page = await pages.open(fake, '/hunts');
  await page.click('text="Begin a hunt of your own"');
  await page.fill('details input', 'harbour');
  fake.isDown = true;
  await page.click('button >> text="Begin"');
  await page.waitForSelector('details [role=alert]');
  expect(await page.inputValue('details input')).toBe('harbour');
});

test('a hunt is joined, left, and ended by who made it, who is asked first', async () => {
  let state = hunt('harbour');
  const fake = api()
    .on('GET /api/hunts/harbour', () => ({ json: state }))
    .on('POST /api/hunts/harbour/join', () => ({ json: (state = hunt('harbour', { has_joined: true, may_enter: true })) }))
    .on('POST /api/hunts/harbour/leave', () => ({ json: (state = hunt('harbour')) }))
    .on('DELETE /api/hunts/harbour', () => ((state = hunt('harbour', { ends_at: soon(-1) })), { status: 204, body: '' }));
  const page = await pages.open(fake, '/hunts/harbour');
  await page.waitForSelector('strong >> text="Ann"');
  await page.click('text="Join"');
  expect(await page.getAttribute('text="Enter"', 'href')).toBe('/world?world=harbour');
  await page.click('text="Leave"');
  await page.waitForSelector('text="Join"');
  await page.click('text="End it for all"');
  await expectGood(page);
  await page.click('text="End it"');
  await page.waitForSelector('[data-over=true]');
  expect(await page.locator('text="Join"').count()).toBe(0);
});

test('another\'s hunt has no button to end it', async () => {
  const fake = api({ ...guest, player: 'somebody-else' });
  const page = await pages.open(fake, '/hunts/harbour');
  await page.waitForSelector('text="Join"');
  expect(await page.locator('text="End it for all"').count()).toBe(0);
});

test('hunters by a thousand are shown in pages, also when one overtakes others, and each has a page', async () => {
  let all = Array.from({ length: 1_000 }, (_, place) => hunter(place));
  const fake = api().on('GET /api/hunters', ({ query }) => {
    const from = Number(query.get('after') ?? 0);
    return { json: all.slice(from, from + 100), headers: from < 900 ? { link: `</api/hunters?after=${from + 100}>; rel="next"` } : {} };
  });
  const page = await pages.open(fake, '/docs');
  await page.clock.install();
  await page.goto('http://console.test/hunts');
  for (let count = 100; count < 1_000; count += 100) {
    await expect.poll(() => page.locator('tbody tr').count()).toBe(count);
    await page.click('text="Show more"');
  }
  await expect.poll(() => page.locator('tbody tr').count()).toBe(1_000);
  // From the third page to the first place.
  all = [...all.splice(250, 1), ...all];
  await page.clock.fastForward(10_000);
  await expect.poll(() => page.locator('tbody tr').first().innerText()).toContain('Hunter 250');
  expect(await page.locator('tbody tr').count()).toBe(1_000);
  expect(await page.locator('tbody tr').nth(250).innerText()).toContain('Hunter 249');
  await expectGood(page);
  await page.click('tbody >> text="Ann"');
  await page.waitForURL(`http://console.test/hunters/${ANN}`);
  await page.waitForSelector('h1 >> text="Ann"');
  await expectGood(page);
});

test('a hunter of whom nothing was counted, and a hunt that is not there', async () => {
  const page = await pages.open(api(), '/hunters/01a20a0e-e204-71dd-a91a-45e6f3d457ff');
  await page.waitForSelector('[data-standing=missing]');
  const other = await pages.open(api().on('GET /api/hunts/nowhere', problem(404, 'no_such_hunt', 'no')), '/hunts/nowhere');
  await other.waitForSelector('[data-standing=missing]');
  await expectGood(other);
});

test('every state is good in every scheme', async () => {
  const full = await pages.open(api(), '/hunts');
  await full.waitForSelector('tbody tr');
  await full.click('text="Begin a hunt of your own"');
  await expectGoodInEveryScheme(full);
  const empty = api(null).on('GET /api/hunts', { json: [] }).on('GET /api/hunters', { json: [] }).on('GET /api/hunts/statistics', { json: { hunters: 0, points: 0, chests: 0, power_ups: 0, rounds: 0, claims_behind: 0 } });
  const nobody = await pages.open(empty, '/hunts');
  await nobody.waitForSelector('text=/Nobody has found anything/');
  await expectGoodInEveryScheme(nobody);
  const refusing = api().on('GET /api/hunts', problem(400, 'bad_value', 'that is no page')).on('GET /api/hunts/tickets/{id}', { json: ticket('gathering', { party_size: 3 }) });
  const refused = await pages.open(refusing, `/hunts?ticket=${TICKET}`);
  await refused.waitForSelector('[role=alert] >> text="That is no page (bad_value)"');
  await search(refused, 'gathering');
  await expectGoodInEveryScheme(refused);
  const invited = await pages.open(api(), `/hunts?ticket=${TICKET}`);
  await search(invited, 'invited');
  await expectGoodInEveryScheme(invited);
  const one = await pages.open(api(), '/hunts/harbour');
  await one.waitForSelector('strong');
  await expectGoodInEveryScheme(one);
});
