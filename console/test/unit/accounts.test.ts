// What a tab keeps of a link that was opened; who may give which role.
import { expect, test } from 'vitest';
import { KeptCode } from '../../src/accounts/kept-code.ts';
import { rolesUpTo } from '../../src/accounts/words.ts';

function storage(rows: Record<string, string> = {}): Storage {
  const held = new Map(Object.entries(rows));
  return { getItem: (key: string) => held.get(key) ?? null, setItem: (key: string, text: string) => held.set(key, text), removeItem: (key: string) => held.delete(key), size: () => held.size } as unknown as Storage;
}

test('the same body has the same key, in another life of the page too', () => {
  const tab = storage();
  const kept = new KeptCode('join', tab);
  kept.open('a');
  const key = kept.keyFor({ name: 'Ann' });
  expect(key).toMatch(/^[0-9a-f]{32}$/);
  const later = new KeptCode('join', tab);
  expect([later.code, later.isUnanswered, later.keyFor({ name: 'Ann' })]).toEqual(['a', true, key]);
  expect(later.keyFor({ name: 'Bob' })).not.toBe(key);
  later.answered();
  expect(new KeptCode('join', tab).isUnanswered).toBe(false);
});

test('another link replaces what was kept of the one before; an answer leaves nothing', () => {
  const tab = storage();
  const kept = new KeptCode('join', tab);
  kept.open('a');
  kept.draft = 'Ann';
  kept.open('a');
  expect(kept.draft).toBe('Ann');
  kept.open('b');
  expect([kept.code, kept.draft]).toEqual(['b', '']);
  expect(new KeptCode('sign-in', tab).code).toBe('');
  kept.forget();
  expect((tab as unknown as { size(): number }).size()).toBe(0);
});

test.each(['', 'null', '[]', '{"code":7}', '{"code":"a"}', '{"code":'])('what else stands there is nothing: %s', (text) => {
  expect(new KeptCode('join', storage({ 'gauntlet.code.join': text })).code).toBe('');
});

test('what is kept without a key was not sent', () => {
  const kept = new KeptCode('join', storage({ 'gauntlet.code.join': '{"code":"a","draft":"","sent":{"body":"x"}}' }));
  expect([kept.code, kept.isUnanswered]).toEqual(['a', false]);
});

test.each([
  ['guest', ['guest']],
  ['player', ['guest', 'player']],
  ['admin', ['guest', 'player', 'operator', 'admin']],
  ['unknown', []],
])('%s gives %j', (role, want) => expect(rolesUpTo(role)).toEqual(want));
