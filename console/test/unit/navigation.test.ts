// The URL of a page while it changes: at once for the page, together for the browser.
import { beforeEach, expect, test, vi } from 'vitest';
import { notice } from './browser.ts';

const START = 'http://console.test/games/01a20a0e-e204-71dd-a91a-45e6f3d457af';
const written: string[] = [];
let now = new URL(START);
/** Shows this URL from now on. */
const write = (_: unknown, __: string, url: URL) => {
  now = new URL(url);
  written.push(now.search);
};
vi.stubGlobal('window', new (class { top = this; })());
vi.stubGlobal('location', { get href() { return now.href; }, get origin() { return now.origin; }, get pathname() { return now.pathname; }, get search() { return now.search; } });
vi.stubGlobal('history', { state: null, replaceState: write, pushState: write });
vi.stubGlobal('scrollTo', () => {});

let navigation: typeof import('../../src/shell/navigation.svelte.ts').navigation;
beforeEach(async () => {
  vi.useFakeTimers();
  vi.resetModules();
  now = new URL(START);
  written.length = 0;
  ({ navigation } = await import('../../src/shell/navigation.svelte.ts'));
});

test('two changes of one moment are written once, and a lone one at once', async () => {
  navigation.setQuery('from', '1');
  navigation.setQuery('to', '2');
  expect(navigation.url.search).toBe('?from=1&to=2');
  await vi.advanceTimersByTimeAsync(0);
  expect(written).toEqual(['?from=1&to=2']);
});

test('a key that is held for half a minute stays below what browsers allow', async () => {
  for (let turn = 0; turn < 1_000; turn += 1) {
    navigation.setQuery('turn', `${turn}`);
    expect(navigation.query('turn')).toBe(`${turn}`);
    await vi.advanceTimersByTimeAsync(30);
  }
  await vi.advanceTimersByTimeAsync(400);
  expect(written.length).toBeLessThan(100);
  expect(written.at(-1)).toBe('?turn=999');
});

test('what is not written yet is written before another page is opened, and belongs to no other entry', async () => {
  navigation.setQuery('turn', '1');
  await vi.advanceTimersByTimeAsync(0);
  navigation.setQuery('turn', '2');
  navigation.open('/games');
  expect(written).toEqual(['?turn=1', '?turn=2', '']);
  navigation.setQuery('map', 'royale');
  now = new URL(START);
  notice('popstate');
  await vi.advanceTimersByTimeAsync(1_000);
  expect([written.length, navigation.url.href]).toEqual([3, START]);
});
