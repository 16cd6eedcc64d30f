// Whom the browser speaks for, as far as the server says so; and that no visitor becomes a guest in the place of an account.
import { beforeEach, expect, test, vi } from 'vitest';
import { answer, refused, settled } from './browser.ts';

const { api } = vi.hoisted(() => ({ api: { GET: vi.fn(), POST: vi.fn(), DELETE: vi.fn() } }));
vi.mock('../../src/api/client.ts', async (original) => ({ ...(await original<object>()), api }));

const ACCOUNT = { player: 'a', role: 'player', name: 'Ann', is_guest: false };
const GUEST = { player: 'g', role: 'guest', name: 'Amber Lynx', is_guest: true };
const NOBODY = { response: new Response(null, { status: 204 }) };
const down = async () => {
  throw new TypeError('no network');
};

let session: typeof import('../../src/shell/session.svelte.ts').session;
let becomePlayer: typeof import('../../src/accounts/guest.ts').becomePlayer;
beforeEach(async () => {
  vi.useFakeTimers();
  vi.resetModules();
  Object.values(api).forEach((method) => method.mockReset());
  api.DELETE.mockImplementation(async () => NOBODY);
  ({ session } = await import('../../src/shell/session.svelte.ts'));
  ({ becomePlayer } = await import('../../src/accounts/guest.ts'));
});

test.each<[string, () => unknown, string, readonly string[]]>([
  ['an account', async () => answer(ACCOUNT), '', []],
  ['a guest', async () => answer(GUEST), '', []],
  ['nobody', async () => NOBODY, '', ['/api/stories/guests', '/api/session']],
  ['a token that is gone', async () => refused(401, 'token_unknown'), '', ['/api/stories/guests', '/api/session']],
  ['a store that does not answer', async () => refused(503, 'busy'), 'Come back later (busy)', []],
  ['too many requests', async () => refused(429, 'too_many_requests'), 'Come back later (too_many_requests)', []],
  ['no network', down, 'The server cannot be reached. Try again.', []],
])('of %s, a guest is made only where nobody is', async (_, get, refusal, posted) => {
  api.GET.mockImplementation(get);
  api.POST.mockImplementation(async (path: string) => answer(path === '/api/session' ? GUEST : { token: 't' }));
  expect(await becomePlayer()).toBe(refusal);
  expect(api.POST.mock.calls.map(([path]) => path as string)).toEqual(posted);
});

test('a guest that is refused says why', async () => {
  api.GET.mockImplementation(async () => NOBODY);
  api.POST.mockImplementation(async () => refused(429, 'too_many_guests'));
  expect([await becomePlayer(), session.view]).toEqual(['Come back later (too_many_guests)', null]);
});

test('until it is known, it is asked for again', async () => {
  api.GET.mockImplementationOnce(down).mockImplementationOnce(async () => refused(503, 'busy')).mockImplementation(async () => answer(ACCOUNT));
  await session.load();
  await vi.advanceTimersByTimeAsync(5_000);
  expect([session.isKnown, session.account, session.refusal]).toEqual([true, 'a', '']);
});

test('a cookie that is dead and cannot be removed is tried again', async () => {
  api.GET.mockImplementation(async () => refused(401, 'token_unknown'));
  api.DELETE.mockImplementationOnce(async () => refused(503, 'busy')).mockImplementationOnce(down);
  await session.load();
  expect(session.isKnown).toBe(false);
  await vi.advanceTimersByTimeAsync(5_000);
  expect([session.isKnown, session.view, api.DELETE.mock.calls.length]).toEqual([true, null, 3]);
});

test('an answer that was under way does not undo a sign-out', async () => {
  api.GET.mockImplementationOnce(async () => answer(ACCOUNT));
  await session.load();
  let arrive = (_: unknown) => {};
  api.GET.mockImplementationOnce(() => new Promise((resolve) => (arrive = resolve)));
  const late = session.load();
  await session.end();
  arrive(answer(ACCOUNT));
  await late;
  await settled();
  expect([session.isKnown, session.view]).toEqual([true, null]);
});

test('of two answers the one to the newer question counts', async () => {
  const arrivals: ((value: unknown) => void)[] = [];
  api.GET.mockImplementation(() => new Promise((resolve) => arrivals.push(resolve)));
  const both = [session.load(), session.load()];
  arrivals[1]?.(answer(GUEST));
  arrivals[0]?.(answer(ACCOUNT));
  await Promise.all(both);
  expect(session.view).toEqual(GUEST);
});
