// A list in pages whose rows move while it is shown.
import { beforeEach, expect, test, vi } from 'vitest';
import { answer, refused, settled } from './browser.ts';
import { List } from '../../src/common/list.svelte.ts';

beforeEach(() => void vi.useFakeTimers());

const EVERY_MS = 5_000;

/** A server of rows, three to a page. Where the next page begins is said by place, as of a ranking. */
class Server {
  rows: string[];
  isRefusing = false;
  /** Answers wait until this is done. */
  gate: Promise<void> = Promise.resolve();
  readonly list = new List<string>((after) => this.#page(after), (row) => row, EVERY_MS);

  constructor(rows: string) {
    this.rows = [...rows];
  }

  async #page(after: string | undefined) {
    const from = Number(after ?? 0);
    // As it is when the question arrives.
    const [page, more] = [this.rows.slice(from, from + 3), this.rows.length > from + 3];
    await this.gate;
    return this.isRefusing ? refused(503, 'busy') : answer(page, more ? { link: `</rows?after=${from + 3}>; rel="next"` } : {});
  }

  /** Holds what is asked from now on back; what comes back lets it go. */
  hold(): () => void {
    let open = () => {};
    this.gate = new Promise((done) => (open = done));
    return () => (open(), (this.gate = Promise.resolve()));
  }

  get shown() {
    return this.list.rows.join('');
  }
}

async function started(rows: string, pages: number): Promise<Server> {
  const server = new Server(rows);
  server.list.start();
  await settled();
  for (let page = 1; page < pages; page += 1) await server.list.more();
  return server;
}

test.each([
  ['a row that comes in front', 'abcdefgh', 'xabcdefg', 'xabcde'],
  ['a row that overtakes another page', 'abcdefgh', 'dabcefgh', 'dabcef'],
  ['a row that goes', 'abcdefgh', 'bcdefgh', 'bcdefg'],
  ['nothing', 'abcdefgh', 'abcdefgh', 'abcdef'],
])('two pages that are asked for again after %s are whole, and each row stands once', async (_, before, after, want) => {
  const server = await started(before, 2);
  expect(server.shown).toBe('abcdef');
  server.rows = [...after];
  await vi.advanceTimersByTimeAsync(EVERY_MS);
  expect([server.shown, server.list.hasMore]).toEqual([want, true]);
});

test('a row that moves between two pages of one reading stands once', async () => {
  const server = await started('abcdefgh', 2);
  const go = server.hold();
  const reading = server.list.refresh();
  server.rows = [...'xabcdefg'];
  go();
  await reading;
  expect(server.shown).toBe('abcde');
});

test.each([
  ['asked for before it is read anew', (list: List<string>) => [list.more(), list.refresh()]],
  ['asked for while it is read anew', (list: List<string>) => [list.refresh(), list.more()]],
])('a further page that is %s ends where the rows do', async (_, act) => {
  const server = await started('abcdefgh', 1);
  const go = server.hold();
  const done = act(server.list);
  server.rows = [...'xabcdefgh'];
  go();
  await Promise.all(done);
  expect([server.shown, server.list.isFetching]).toEqual(['xabcde', false]);
});

test('what is shown stays until it is read anew, all of it', async () => {
  const server = await started('abcdefgh', 3);
  const go = server.hold();
  const reading = server.list.refresh();
  expect(server.shown).toBe('abcdefgh');
  go();
  await reading;
  expect([server.shown, server.list.hasMore]).toEqual(['abcdefgh', false]);
});

test('a list of many pages is asked for again later', async () => {
  const server = await started('abcdefghijklmnopqrstuvwxyz', 9);
  server.rows = [...'zabcdefghijklmnopqrstuvwxy'];
  await vi.advanceTimersByTimeAsync(8_999);
  expect(server.shown).toBe('abcdefghijklmnopqrstuvwxyz');
  await vi.advanceTimersByTimeAsync(1);
  expect(server.shown).toBe('zabcdefghijklmnopqrstuvwxy');
});

test('a page that is refused says why, and is asked for again on request alone', async () => {
  const server = await started('abcdefgh', 1);
  server.isRefusing = true;
  await server.list.more();
  expect([server.shown, server.list.refusal, server.list.hasMore]).toEqual(['abc', 'Come back later (busy)', true]);
  server.isRefusing = false;
  await server.list.more();
  expect([server.shown, server.list.refusal]).toEqual(['abcdef', '']);
});
