// One browser for a file of tests; each test opens pages in a context of its own, and no page may complain.
// With CONSOLE_PICTURES=FOLDER every state that is looked at is kept as a picture, in every scheme.
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page, ViewportSize } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type { FakeApi } from './api.ts';
import { findingsOf } from './axe.ts';
import { launch } from './chromium.ts';

/** What a test broke on purpose shows in the browser's own log. */
const EXPECTED = /Failed to load resource|net::ERR_FAILED|WebSocket connection|EventSource/;

const PICTURES = process.env['CONSOLE_PICTURES'];
const SIZE = { width: 1_000, height: 800 };
const COLOURS = ['color-contrast'];
/** How a page must work, and which of axe's rules may find something there: all of them (null), where only colours are others those about colours,
 * and none where there is only more room. */
const SCHEMES: readonly (readonly [string, Parameters<Page['emulateMedia']>[0], ViewportSize | null, readonly string[] | null])[] = [
  ['in the dark', { colorScheme: 'dark' }, null, null],
  ['in the light', { colorScheme: 'light' }, null, COLOURS],
  ['in forced colours', { forcedColors: 'active' }, null, COLOURS],
  ['on a phone', {}, { width: 360, height: 740 }, null],
  ['on a wide screen', {}, { width: 2_560, height: 1_440 }, []],
];

export class Pages {
  #browser!: Browser;
  readonly #open: Page[] = [];
  readonly #complaints: string[] = [];

  constructor() {
    beforeAll(async () => {
      this.#browser = await launch();
    });
    afterAll(() => this.#browser.close());
    afterEach(async () => {
      await Promise.all(this.#open.splice(0).map((page) => page.context().close()));
      expect(this.#complaints.splice(0)).toEqual([]);
    });
  }

  async open(api: FakeApi, path: string, options: BrowserContextOptions = {}): Promise<Page> {
    const context = await this.#browser.newContext({ viewport: SIZE, reducedMotion: 'reduce', ...options });
    const page = await context.newPage();
    this.#open.push(page);
    page.on('pageerror', (error) => this.#complaints.push(error.message));
    page.on('console', (line) => line.type() === 'error' && !EXPECTED.test(line.text()) && this.#complaints.push(line.text()));
    await api.playInto(page);
    await page.goto(`http://console.test${path}`);
    return page;
  }
}

/** Nothing stands in the way of a reader, and nothing is wider than the window. */
export async function expectGood(page: Page) {
  await keepPicture(page, '');
  expect(await faultsOf(page)).toEqual([]);
}

/** The same in both themes, forced colours, on a phone and on a wide screen: the page that is open changes with what is around it. */
export async function expectGoodInEveryScheme(page: Page) {
  const size = page.viewportSize() ?? SIZE;
  const faults: string[] = [];
  for (const [name, media, viewport, rules] of SCHEMES) {
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
