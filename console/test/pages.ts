// Each test opens pages in a context of its own, or looks at a state in the page that its file has for that; no page may complain.
// With CONSOLE_PICTURES=FOLDER every state that is looked at is kept as a picture, in every scheme. With CONSOLE_LONG=1 (scripts/check-long.sh) every
// state is tried in every scheme; without, two schemes and one more width stand for all.
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page, ViewportSize } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { type FakeApi, problem } from './api.ts';
import { findingsOf } from './axe.ts';
import { closePages, sharedBrowser } from './chromium.ts';

/** What a test broke on purpose shows in the browser's own log. */
const EXPECTED = /Failed to load resource|net::ERR_FAILED|WebSocket connection|EventSource/;

const PICTURES = process.env['CONSOLE_PICTURES'];
/** There is time for what rarely finds something. */
export const IS_LONG = process.env['CONSOLE_LONG'] === '1';
const SIZE = { width: 1_000, height: 800 };
const COLOURS = ['color-contrast'];
/** What another width may change: what lies on what, what scrolls, what is shown at all. */
const LAYOUT = [...COLOURS, 'scrollable-region-focusable', 'aria-hidden-focus', 'button-name', 'link-name', 'label', 'region'];
interface Scheme {
  readonly name: string;
  readonly media: Parameters<Page['emulateMedia']>[0];
  readonly viewport: ViewportSize | null;
  /** Axe's rules that may find something there: all of them (null), or none where there is only more room. */
  readonly rules: readonly string[] | null;
}
const WIDE: Scheme = { name: 'on a wide screen', media: {}, viewport: { width: 2_560, height: 1_440 }, rules: [] };
const PHONE = { width: 360, height: 740 };
const ALL_SCHEMES: readonly Scheme[] = [
  { name: 'in the dark', media: { colorScheme: 'dark' }, viewport: null, rules: null },
  { name: 'in the light', media: { colorScheme: 'light' }, viewport: null, rules: COLOURS },
  { name: 'in forced colours', media: { forcedColors: 'active' }, viewport: null, rules: COLOURS },
  { name: 'on a phone in the dark', media: { colorScheme: 'dark' }, viewport: PHONE, rules: null },
  { name: 'on a phone in the light', media: { colorScheme: 'light' }, viewport: PHONE, rules: null },
  WIDE,
];
const SOME_SCHEMES: readonly Scheme[] = [
  { name: 'in the dark', media: { colorScheme: 'dark' }, viewport: null, rules: null },
  { name: 'on a phone in the light', media: { colorScheme: 'light' }, viewport: PHONE, rules: LAYOUT },
  WIDE,
];
const SCHEMES = PICTURES || IS_LONG ? ALL_SCHEMES : SOME_SCHEMES;
const NOWHERE = '/nothing/here';

export class Pages {
  #browser!: Browser;
  /** Pages that look at states, by whom they are signed in as: that is asked for once. */
  readonly #visitors = new Map<string, Page>();
  readonly #open: Page[] = [];
  readonly #complaints: string[] = [];

  constructor() {
    beforeAll(async () => {
      this.#browser = await sharedBrowser();
    });
    afterAll(closePages);
    afterEach(async () => {
      await Promise.all(this.#open.splice(0).map((page) => page.context().close()));
      expect(this.#complaints.splice(0)).toEqual([]);
    });
  }

  async open(api: FakeApi, path: string, options: BrowserContextOptions = {}): Promise<Page> {
    const page = await this.#load(api, path, options);
    this.#open.push(page);
    return page;
  }

  /** The page at this path, for a look at a state of it: the console's own router goes there from a page where nothing stands, so that nothing is left of
   * the state before. */
  async visit(api: FakeApi, path: string): Promise<Page> {
    const key = JSON.stringify(api.session);
    const known = this.#visitors.get(key);
    const page = known ?? (await this.#load(api, path));
    this.#visitors.set(key, page);
    if (!known) return page;
    await page.evaluate(show, NOWHERE);
    await page.getByRole('heading', { name: 'Nothing stands here' }).waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await api.playInto(page);
    await page.evaluate(show, path);
    return page;
  }

  async #load(api: FakeApi, path: string, options: BrowserContextOptions = {}): Promise<Page> {
    const context = await this.#browser.newContext({ viewport: SIZE, reducedMotion: 'reduce', ...options });
    const page = await context.newPage();
    page.on('pageerror', (error) => this.#complaints.push(error.message));
    page.on('console', (line) => line.type() === 'error' && !EXPECTED.test(line.text()) && this.#complaints.push(line.text()));
    await api.playInto(page);
    await page.goto(`http://console.test${path}`);
    return page;
  }
}

/** In the page: goes there as the browser's own arrows would. */
function show(path: string) {
  history.pushState(null, '', path);
  dispatchEvent(new PopStateEvent('popstate'));
  scrollTo(0, 0);
}

/** Nothing stands in the way of a reader, and nothing is wider than the window. */
export async function expectGood(page: Page) {
  await keepPicture(page, '');
  expect(await faultsOf(page)).toEqual([]);
}

/** The same in every scheme that is tried: the page that is open changes with what is around it. */
export async function expectGoodInEveryScheme(page: Page) {
  const size = page.viewportSize() ?? SIZE;
  const faults: string[] = [];
  for (const { name, media, viewport, rules } of SCHEMES) {
    await page.emulateMedia({ colorScheme: null, forcedColors: null, ...media });
    await page.setViewportSize(viewport ?? size);
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    faults.push(...(await faultsOf(page, rules)).map((fault) => `${name}: ${fault}`));
    await keepPicture(page, name);
  }
  await page.emulateMedia({ colorScheme: null, forcedColors: null });
  await page.setViewportSize(size);
  expect(faults).toEqual([]);
}

/** A part of a page that the server cannot answer now says why, with the code to quote, and is there without a click once it answers as `whole` does. */
export async function expectPartComesBack(pages: Pages, api: FakeApi, whole: FakeApi, path: string, what: string, shown: string | RegExp) {
  api.on(what, problem(503, 'store_unavailable', 'the store cannot be reached'));
  const page = await pages.visit(api, path);
  await page.getByText('The store cannot be reached (store_unavailable)').filter({ visible: true }).first().waitFor();
  // It looks as what is refused for good does.
  if (IS_LONG) await expectGood(page);
  expect(await page.getByText(shown).filter({ visible: true }).count()).toBe(0);
  api.replay(what, whole);
  await page.getByText(shown).filter({ visible: true }).first().waitFor();
}

async function faultsOf(page: Page, rules: readonly string[] | null = null): Promise<readonly string[]> {
  const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  const findings = rules?.length === 0 ? [] : await findingsOf(page, rules);
  return [...findings, ...(beyond > 0 ? [`${beyond} points wider than the window`] : [])];
}

let pictures = 0;
async function keepPicture(page: Page, scheme: string) {
  if (!PICTURES) return;
  const words = [expect.getState().currentTestName, String((pictures += 1)), scheme].join(' ').replace(/[^\p{L}\p{N}]+/gu, '-');
  await page.screenshot({ path: join(PICTURES, `${words.slice(0, 150)}.png`) });
}
