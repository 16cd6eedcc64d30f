// What a page asks a server for: when it is asked for again, and what is said meanwhile.
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { answer, look, notice, refused, settled } from './browser.ts';
import { type Answer, Resource } from '../../src/common/resource.svelte.ts';
import { connection } from '../../src/shell/connection.svelte.ts';

/** Longer than any wait before another attempt. */
const LONG_MS = 10_000;
const DOWN = 'down';
type Reply = Answer<number> | typeof DOWN;
const BUSY = refused(503, 'busy');

beforeEach(() => {
  vi.useFakeTimers();
  look(true);
});

/** A resource whose server answers these in turn, and the last one from then on. */
function resource(replies: readonly Reply[], everyMs = 0) {
  let asked = 0;
  const it = new Resource<number>(async () => {
    const reply = replies[Math.min(asked++, replies.length - 1)];
    if (reply === undefined || reply === DOWN) throw new TypeError('no network');
    return reply;
  }, everyMs);
  return { it, stop: it.start(), asked: () => asked };
}

test.each<[string, readonly Reply[], object]>([
  ['an answer', [answer(1)], { value: 1, standing: 'ready', refusal: '', isRetrying: false }],
  ['a refusal that passes, before anything was shown', [BUSY], { value: null, standing: 'refused', refusal: 'Come back later (busy)', isRetrying: true }],
  ['a refusal that passes, later', [answer(1), BUSY], { value: 1, standing: 'ready', refusal: 'Come back later (busy)', isRetrying: true }],
  ['a refusal that stays, later', [answer(1), BUSY, refused(403, 'no')], { value: 1, standing: 'refused', refusal: 'Come back later (no)', isRetrying: false }],
  ['what was deleted', [answer(1), refused(404, 'gone')], { value: 1, standing: 'missing', refusal: '', isRetrying: false }],
  ['an answer after failures', [DOWN, BUSY, answer(2)], { value: 2, standing: 'ready', refusal: '', isRetrying: false }],
])('%s', async (_, replies, want) => {
  const { it, stop } = resource(replies);
  await settled();
  for (let reply = 1; reply < replies.length; reply += 1) await it.refresh();
  expect(it).toMatchObject(want);
  stop();
});

test.each<[string, readonly Reply[], number]>([
  ['what failed', [answer(1), BUSY, answer(2)], 2],
  ['what could not be reached', [answer(1), DOWN, answer(2)], 2],
  ['what is there, and does not change by time,', [answer(1), answer(2), answer(3)], 0],
])('%s is asked for once more after nobody looked', async (_, replies, more) => {
  const { it, stop, asked } = resource(replies);
  await settled();
  await it.refresh();
  look(false);
  await vi.advanceTimersByTimeAsync(LONG_MS);
  const before = asked();
  expect(before).toBe(2);
  look(true);
  await settled();
  expect([asked() - before, it.value]).toEqual(more === 0 ? [0, 2] : [1, 2]);
  stop();
});

describe('the connection', () => {
  const said = () => [connection.reason, connection.isLost, connection.wasLost];
  const FOUND = ['', false, false];
  const LOST = ['The server cannot be reached.', true, true];
  beforeEach(() => {
    notice('online');
    connection.settle();
  });

  test('is lost and found with what is asked for', async () => {
    const { stop } = resource([DOWN, answer(1)]);
    await settled();
    expect(said()).toEqual(LOST);
    await vi.advanceTimersByTimeAsync(LONG_MS);
    expect(said()).toEqual(['', false, true]);
    stop();
  });

  test('is not found again by something else', async () => {
    const [lost, other] = [resource([DOWN]), resource([answer(1)])];
    await settled();
    await other.it.refresh();
    expect(said()).toEqual(LOST);
    lost.stop();
    other.stop();
  });

  test('is found by what a feed brings', async () => {
    const { it, stop } = resource([DOWN]);
    await settled();
    it.set(3);
    expect(said()).toEqual(['', false, true]);
    stop();
  });

  test('is nobody\'s once the page that lost it was left, and that is no news', async () => {
    const { stop } = resource([DOWN]);
    await settled();
    stop();
    expect(said()).toEqual(FOUND);
  });

  test('stays lost while another part of the page has lost it, and while the device has no network', async () => {
    const [one, other] = [resource([DOWN]), resource([DOWN])];
    await settled();
    one.stop();
    expect(said()).toEqual(LOST);
    notice('offline');
    other.stop();
    expect(said()).toEqual(['', true, true]);
    notice('online');
    expect(said()).toEqual(['', false, true]);
  });
});
