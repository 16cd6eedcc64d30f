// When the page of a tournament asks for its state again: for what happened, not for what it has, and not faster while the server refuses.
import { beforeEach, expect, test, vi } from 'vitest';
import { answer, refused } from './browser.ts';

const { get } = vi.hoisted(() => ({ get: vi.fn<() => Promise<unknown>>() }));
vi.mock('../../src/api/client.ts', () => ({ api: { GET: get }, refusalText: () => 'Come back later (busy)' }));
const { Follower } = await import('../../src/pages/tournaments/follow.svelte.ts');

class Stream {
  static newest: Stream;
  onmessage: ((event: { data: string }) => void) | null = null;
  onopen: (() => void) | null = null;
  onerror: (() => void) | null = null;
  close() {}
  constructor() {
    Stream.newest = this;
  }
  happens(seq: number) {
    this.onmessage?.({ data: JSON.stringify({ seq, events: [], is_over: false }) });
  }
}
vi.stubGlobal('EventSource', Stream);

beforeEach(() => {
  vi.useFakeTimers();
  get.mockReset();
});

/** A page that shows this state, and is told of what happens. */
async function followed(seq: number) {
  get.mockImplementation(async () => answer({ seq }));
  const follower = new Follower('t');
  const stop = follower.start();
  await vi.advanceTimersByTimeAsync(1);
  follower.follow(seq);
  get.mockClear();
  return { follower, stop };
}

test('what happens together is asked for once', async () => {
  const { follower, stop } = await followed(1);
  get.mockImplementation(async () => answer({ seq: 3 }));
  Stream.newest.happens(2);
  Stream.newest.happens(3);
  await vi.advanceTimersByTimeAsync(5_000);
  expect([get.mock.calls.length, follower.tournament.value]).toEqual([1, { seq: 3 }]);
  stop();
});

test('what happened while the server answered is asked for again', async () => {
  const { follower, stop } = await followed(1);
  get.mockImplementationOnce(async () => (Stream.newest.happens(4), answer({ seq: 3 })));
  get.mockImplementation(async () => answer({ seq: 4 }));
  Stream.newest.happens(3);
  await vi.advanceTimersByTimeAsync(5_000);
  expect([get.mock.calls.length, follower.tournament.value]).toEqual([2, { seq: 4 }]);
  stop();
});

test('a server that refuses is asked later each time, whatever happens, and then for all of it', async () => {
  const { follower, stop } = await followed(1);
  get.mockImplementation(async () => refused(503, 'busy'));
  for (let seq = 2; seq < 42; seq += 1) {
    Stream.newest.happens(seq);
    await vi.advanceTimersByTimeAsync(500);
  }
  // Twenty seconds: after 0.4, at most 0.4, 0.8, 1.6, 3.2, 6.4 and 8 more.
  expect(get.mock.calls.length).toBeLessThanOrEqual(10);
  get.mockImplementation(async () => answer({ seq: 41 }));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(follower.tournament.value).toEqual({ seq: 41 });
  stop();
});

test('a page that was left asks for nothing', async () => {
  const { stop } = await followed(1);
  get.mockImplementation(async () => (stop(), answer({ seq: 1 })));
  Stream.newest.happens(2);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(get).toHaveBeenCalledTimes(1);
});
