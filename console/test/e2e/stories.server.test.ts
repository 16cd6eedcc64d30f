// Stories on the real server: three people in browsers of their own play a game to its end, over reloads and a server that is killed; and
// no browser gets what its viewer may not know.
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { closePages, sharedBrowser } from '../chromium.ts';
import { Program } from '../program.ts';
import { CARDS, cardTitle } from '../../src/stories/cards.ts';
import type { Update, View } from '../../src/stories/protocol.ts';
import { receive } from '../../src/stories/state.ts';

const program = new Program();
let browser: Browser;
let address: string;

beforeAll(async () => {
  browser = await sharedBrowser();
  address = await program.serve();
});
afterAll(async () => {
  await closePages();
  await program.stop();
});

/** What a browser received, in order, with the mark that the test had set by then. */
class Recording {
  mark = 'before the vote';
  readonly complaints: string[] = [];
  readonly pictures: { mark: string; card: number }[] = [];
  readonly texts: { mark: string; text: Promise<string> }[] = [];

  constructor(readonly page: Page) {
    page.on('pageerror', (error) => this.complaints.push(error.message));
    page.on('console', (line) => /Content Security Policy/.test(line.text()) && this.complaints.push(line.text()));
    page.on('response', (response) => {
      const { pathname } = new URL(response.url());
      const card = /^\/api\/stories\/cards\/(\d+)\.svg$/.exec(pathname)?.[1];
      if (card) this.pictures.push({ mark: this.mark, card: Number(card) });
      // A page that is left takes its last answers with it.
      else if (pathname.startsWith('/api/')) this.texts.push({ mark: this.mark, text: response.text().catch(() => '') });
    });
    page.on('websocket', (socket) => socket.on('framereceived', ({ payload }) => this.texts.push({ mark: this.mark, text: Promise.resolve(payload.toString()) })));
  }
}

async function come(path: string, options: BrowserContextOptions = {}): Promise<Recording> {
  const context = await browser.newContext({ viewport: { width: 1_000, height: 800 }, reducedMotion: 'reduce', ...options });
  const recording = new Recording(await context.newPage());
  await recording.page.goto(`${address}${path}`);
  return recording;
}

const phase = (page: Page, name: string) => page.waitForSelector(`[data-table=${name}]`);
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const cardsOn = async (page: Page) => (await page.locator('[data-card]').evaluateAll((cards) => cards.map((card) => Number((card as HTMLElement).dataset['card']))));

async function sitDown(page: Page, name: string) {
  await page.getByLabel('Your name').fill(name);
  await press(page, 'Join the game');
  await page.waitForSelector('[data-role=player]');
}

/** Chooses the card at this place, and says which it was. */
async function choose(page: Page, place: number, does: string): Promise<number> {
  const radio = page.getByRole('radio').nth(place);
  const card = Number(await radio.inputValue());
  await radio.press('Space');
  await press(page, does);
  return card;
}

async function open(name: string): Promise<Recording> {
  const ann = await come('/stories');
  await ann.page.getByLabel('Your name').fill(name);
  await press(ann.page, 'Open a table for friends');
  await phase(ann.page, 'create');
  return ann;
}

const PHONE: BrowserContextOptions = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

test('three browsers play a game to its end: one is a phone, one reloads in the middle; none gets what is hidden', async () => {
  const ann = await open('Ann');
  const path = new URL(ann.page.url()).pathname;
  const [ben, cam, visitor] = [await come(path, PHONE), await come(path), await come(path)];
  const everyone = [ann, ben, cam, visitor];
  await sitDown(ben.page, 'Ben');
  await sitDown(cam.page, 'Cam');
  const told = await choose(ann.page, 1, 'Tell about this card');
  await ann.page.getByLabel('Your sentence').fill('What the sea keeps');
  await press(ann.page, 'Tell it');
  await Promise.all(everyone.map(({ page }) => phase(page, 'invitation')));
  const hands = await Promise.all([ben, cam].map(({ page }) => cardsOn(page)));
  const picked = [await choose(ben.page, 0, 'Pick this card')];
  await cam.page.getByLabel('Say something').fill('Not sent yet');
  await cam.page.reload();
  expect(await cam.page.getByLabel('Say something').inputValue()).toBe('Not sent yet');
  picked.push(await choose(cam.page, 2, 'Pick this card'));
  // On a phone the chat is below: what is said while it is out of sight is marked above.
  await ben.page.evaluate(() => scrollTo(0, 0));
  await ben.page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  await cam.page.getByLabel('Say something').press('Enter');
  await ben.page.getByText('Chat: 1 new line').waitFor();

  everyone.forEach((recording) => (recording.mark = 'in the vote'));
  await press(ann.page, 'Begin the vote');
  await Promise.all(everyone.map(({ page }) => phase(page, 'vote')));
  const board = [told, ...picked];
  expect((await cardsOn(visitor.page)).sort()).toEqual([...board].sort());
  await ben.page.locator(`input[type=radio][value="${told}"]`).press('Space');
  await press(ben.page, 'Vote for this card');
  await cam.page.locator(`input[type=radio][value="${picked[0]}"]`).press('Space');
  await press(cam.page, 'Vote for this card');
  await ann.page.getByText('Chosen by Cam').waitFor();

  const secret = { hands: [...hands, []], board, votes: [told, picked[0], null], everyone: [ben, cam, visitor] };
  for (const [at, viewer] of secret.everyone.entries()) await expectSecrecy(viewer, secret.hands[at] ?? [], board);

  everyone.forEach((recording) => (recording.mark = 'after the end'));
  await press(ann.page, 'Count the votes');
  await Promise.all(everyone.map(({ page }) => phase(page, 'complete')));
  for (const { page } of everyone) {
    expect(await page.locator('[data-told]').locator('[data-card]').getAttribute('data-card')).toBe(`${told}`);
    expect(await page.getByRole('row').allInnerTexts()).toEqual(['Ann (storyteller)\t12 points\twon', 'Ben\t7 points\twon', 'Cam\t1 point\t']);
  }
  await visitor.page.goto(`${address}${path}?game=1&step=1`);
  await visitor.page.getByText('Ann begins game 1.').first().waitFor();
  for (const { complaints } of everyone) expect(complaints).toEqual([]);
  await Promise.all(everyone.map(({ page }) => page.context().close()));
});

/** Members of a view, an event or a list that count or measure; every other whole number is a card's. */
const COUNTED = /^(seq|number|level|players|players_max|countdown_ms|committed_at_us|score\w*|level_prev|points|status|hand_size|picked_min|voted_min|deck|game_timeout_ms|next_storyteller_timeout_ms)$/;

interface Finding {
  /** Cards that are named anywhere. */
  readonly cards: Set<number>;
  /** What is said of a player who is another one. */
  readonly ofOthers: string[];
}

function look(value: unknown, me: string | null, finding: Finding, key = '', isSettings = false) {
  if (Array.isArray(value)) for (const item of value) look(item, me, finding, key);
  else if (typeof value === 'number') {
    if (!COUNTED.test(key) && !(isSettings && key === 'hand')) finding.cards.add(value);
  } else if (typeof value === 'object' && value !== null) {
    const members = value as Record<string, unknown>;
    const isOther = typeof members['player'] === 'string' && members['player'] !== me;
    for (const [name, member] of Object.entries(members)) {
      if (isOther && ['hand', 'picked', 'vote', 'card', 'points', 'standing'].includes(name) && member !== null) finding.ofOthers.push(`${name} of ${String(members['player'])}`);
      if (['winner_card', 'dealt', 'invited'].includes(name) && member !== null) finding.ofOthers.push(name);
      look(member, me, finding, name, key === 'settings');
    }
  }
}

/** Before the end this browser had its own hand and, from the vote on, the board: nothing else, nowhere. */
async function expectSecrecy({ page, texts, pictures }: Recording, hand: readonly number[], board: readonly number[]) {
  const me = ((await (await page.request.get(`${address}/api/session`)).text()).match(/"player":"([^"]+)"/) ?? [])[1] ?? null;
  const allowed: Readonly<Record<string, readonly number[]>> = { 'before the vote': hand, 'in the vote': [...hand, ...board] };
  let looked = 0;
  for (const { mark, text } of texts) {
    const finding: Finding = { cards: new Set(), ofOthers: [] };
    const received = await text;
    if (received === '') continue;
    look(JSON.parse(received), me, finding);
    expect([mark, [...finding.cards].filter((card) => !allowed[mark]?.includes(card)), finding.ofOthers]).toEqual([mark, [], []]);
    looked += 1;
  }
  expect(looked).toBeGreaterThan(5);
  for (const { mark, card } of pictures) expect([mark, allowed[mark]?.includes(card)]).toEqual([mark, true]);
  expect((await cardsOn(page)).filter((card) => !board.includes(card))).toEqual([]);
  const kept = await page.evaluate(async () => ({
    stores: Object.keys({ ...sessionStorage, ...localStorage }).filter((key) => !/^stories\.chat(-seen)?\./.test(key)),
    caches: await globalThis.caches?.keys().catch(() => []) ?? [],
    databases: await indexedDB.databases(),
    cookie: document.cookie,
  }));
  expect(kept).toEqual({ stores: [], caches: [], databases: [], cookie: '' });
}

test('the server is killed in the middle: nobody loses a seat, a card or a word, and the game is played to its end', async () => {
  const ann = await open('Ann');
  const path = new URL(ann.page.url()).pathname;
  const [ben, cam] = [await come(path, PHONE), await come(path)];
  await sitDown(ben.page, 'Ben');
  await sitDown(cam.page, 'Cam');
  await choose(ann.page, 0, 'Tell about this card');
  await ann.page.getByLabel('Your sentence').fill('Twice told');
  await program.end('SIGKILL');
  await ann.page.getByText('The table is interrupted.').waitFor();
  await press(ann.page, 'Tell it');
  await ann.page.getByText('Nothing is lost').waitFor();
  await program.serve();
  await ann.page.getByText('Connected again.').waitFor();
  expect(await ann.page.getByLabel('Your sentence').inputValue()).toBe('Twice told');
  await press(ann.page, 'Tell it');
  await Promise.all([ann, ben, cam].map(({ page }) => phase(page, 'invitation')));
  const [first, second] = [await choose(ben.page, 3, 'Pick this card'), await choose(cam.page, 4, 'Pick this card')];
  await Promise.all([ben, cam].map(({ page }) => page.getByText('Your card is in').waitFor()));
  await program.end('SIGKILL');
  await program.serve();
  await ann.page.getByText('Connected again.').waitFor();
  await press(ann.page, 'Begin the vote');
  await Promise.all([ann, ben, cam].map(({ page }) => phase(page, 'vote')));
  await ben.page.locator(`input[type=radio][value="${second}"]`).press('Space');
  await press(ben.page, 'Vote for this card');
  await cam.page.locator(`input[type=radio][value="${first}"]`).press('Space');
  await press(cam.page, 'Vote for this card');
  await Promise.all([ben, cam].map(({ page }) => page.getByText('Your vote is in').waitFor()));
  await program.end('SIGKILL');
  await program.serve();
  await ann.page.getByText('Connected again.').waitFor();
  await press(ann.page, 'Count the votes');
  for (const { page, complaints } of [ann, ben, cam]) {
    await phase(page, 'complete');
    await page.getByText('Too vague: no one found it').waitFor();
    expect(complaints).toEqual([]);
    await page.context().close();
  }
});

interface Guest {
  readonly id: string | null;
  readonly headers: Readonly<Record<string, string>>;
}

async function call<T>(guest: Guest, path: string, body?: object): Promise<T> {
  const headers = { ...guest.headers, 'content-type': 'application/json' };
  const response = await fetch(`${address}/api/stories/${path}`, body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return JSON.parse(text) as T;
}

async function guest(name: string): Promise<Guest> {
  const { player, token } = await call<{ player: string; token: string }>({ id: null, headers: {} }, 'guests', { name });
  return { id: player, headers: { authorization: `Bearer ${token}` } };
}

/** A view without what no event tells. */
function told(view: View, isOwnKnown: boolean) {
  const { game, presence: _, committed_at_us: __, members, ...rest } = view;
  const players = game?.players.map(({ level: _, standing: __, hand, ...seat }) => ({ ...seat, hand: isOwnKnown ? hand : null }));
  const { inactive_at: _i, tell_by: _t, dealt: _d, own, ...shown } = game ?? ({} as NonNullable<View['game']>);
  return { ...rest, members: members.map(({ level: _, ...member }) => member), game: { ...shown, players, own: isOwnKnown ? own : null } };
}

test('what the events make of a table is what the server shows, for every role and step of two games', async () => {
  const [ann, ben, cam, dan] = [await guest('Ann'), await guest('Ben'), await guest('Cam'), await guest('Dan')];
  const opened = await call<View>(ann, 'games', {});
  const [table, game] = [opened.table, opened.game?.id ?? ''];
  const viewers: Guest[] = [ann, ben, cam, dan, { id: null, headers: {} }];
  const views = await Promise.all(viewers.map((viewer) => call<View>(viewer, `tables/${table}`)));
  let compared = 0;
  const follow = async () => {
    for (const [at, viewer] of viewers.entries()) {
      const before = views[at] as View;
      const update = await call<Update>(viewer, `tables/${table}/feed?after=${before.seq}&wait=0`);
      const { view, isStale } = receive(before, update, viewer.id);
      const shown = await call<View>(viewer, `tables/${table}`);
      const hasBegun = update.events.some(({ type }) => type === 'started');
      // Who sits down is shown what was said before: the page asks for it.
      const hasSatDown = update.events.some((event) => event.type === 'joined' && event.player === viewer.id);
      expect(isStale || !hasSatDown).toBe(true);
      const chat = hasSatDown ? [] : undefined;
      expect({ ...told(view, !hasBegun), ...(chat && { chat }) }).toEqual({ ...told(shown, !hasBegun), ...(chat && { chat }) });
      views[at] = isStale ? shown : view;
      compared += update.events.length;
    }
  };
  const act = async (who: Guest, what: string, body: object = {}, id = game) => {
    const view = await call<View>(who, `games/${id}/${what}`, body);
    await follow();
    return view;
  };
  const hand = (at: number, card: number) => views[at]?.game?.own?.hand[card] ?? 0;
  await act(ben, 'join');
  await act(dan, 'join');
  await act(cam, 'join');
  await act(ann, 'card', { card: hand(0, 2) });
  await act(ann, 'invite', { players: [ben.id, '01a218ac-20b8-7b40-a707-5b394012afc5'] });
  await act(ann, 'sentence', { sentence: 'Once' });
  await call(cam, `tables/${table}/chat`, { text: 'Hm' });
  await follow();
  await act(ben, 'pick', { card: hand(1, 0) });
  await act(cam, 'pick', { card: hand(2, 0) });
  await act(cam, 'leave');
  await act(cam, 'join');
  await act(cam, 'pick', { card: hand(2, 1) });
  await act(ann, 'countdown', { countdown_ms: 120_000 });
  await act(ann, 'countdown', { countdown_ms: 0 });
  await act(ann, 'voting');
  await act(ben, 'vote', { card: hand(2, 1) });
  await act(cam, 'vote', { card: hand(0, 2) });
  await act(ann, 'complete');
  const next = views[0]?.next_storyteller?.player ?? null;
  const teller = viewers.find(({ id }) => id === next) ?? ann;
  const second = (await call<View>(teller, 'games', { table })).game?.id ?? '';
  await follow();
  await act(ann === teller ? ben : ann, 'join', {}, second);
  await act(teller, 'bots', { are_on: true }, second);
  await act(teller, 'leave', {}, second);
  expect(views[0]?.game?.phase).toBe('canceled');
  expect(compared).toBeGreaterThan(80);
});

test('every card has its title', async () => {
  for (let card = 1; card <= CARDS; card += 1) {
    const svg = await (await fetch(`${address}/api/stories/cards/${card}.svg`)).text();
    expect(svg).toContain(cardTitle(card));
  }
  expect((await fetch(`${address}/api/stories/cards/${CARDS + 1}.svg`)).status).toBe(404);
});
