// One browser for a file of tests; each test opens pages in a context of its own, and no page may complain.
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type { FakeApi } from './api.ts';
import { expectAccessible, findingsOf } from './axe.ts';
import { launch } from './chromium.ts';

/** What a test broke on purpose shows in the browser's own log. */
const EXPECTED = /Failed to load resource|net::ERR_FAILED|WebSocket connection|EventSource/;

/** How a page must work: both themes, forced colours, a phone, a wide screen. */
export const SCHEMES: readonly BrowserContextOptions[] = [
  { colorScheme: 'dark' },
  { colorScheme: 'light' },
  { forcedColors: 'active' },
  { viewport: { width: 360, height: 740 } },
  { viewport: { width: 2_560, height: 1_440 } },
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
    const context = await this.#browser.newContext({ viewport: { width: 1_000, height: 800 }, reducedMotion: 'reduce', ...options });
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
  await expectAccessible(page);
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
}

/** The same, as lines: for a test that looks at many states, and says all that is wrong with them at once. */
export async function faultsOf(page: Page): Promise<readonly string[]> {
  const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  return [...(await findingsOf(page)), ...(beyond > 0 ? [`${beyond} points wider than the window`] : [])];
}
