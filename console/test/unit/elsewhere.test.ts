// Where another server has the world: what its address means, and when no visitor is sent there.
import { expect, test } from 'vitest';
import { mayGo, origin, pageOf } from '../../src/world/elsewhere.ts';

test.each([
  ['10.0.0.7:4001', 'http:', 'http://10.0.0.7:4001'],
  ['node-a:4001', 'https:', 'https://node-a:4001'],
  ['https://games.example/x?y', 'http:', 'https://games.example'],
  ['[::1]:4001', 'http:', 'http://[::1]:4001'],
  ['javascript://alert(1)', 'http:', ''],
  ['not a place', 'http:', ''],
  ['', 'http:', ''],
])('the address %s by %s is %s', (address, scheme, want) => {
  expect(origin(address, scheme)).toBe(want);
});

test('names of worlds are quoted', () => {
  expect(pageOf('http://a', 'x&y')).toBe('http://a/world?world=x%26y');
});

test('nobody is sent to the same place again and again', () => {
  let kept: string | null = null;
  const memory = { recall: () => kept, remember: (text: string) => void (kept = text) };
  expect(mayGo('http://b', memory, 1_000)).toBe(true);
  expect(mayGo('http://b', memory, 30_999)).toBe(false);
  expect(mayGo('http://c', memory, 30_999)).toBe(true);
  expect(mayGo('http://c', memory, 60_999)).toBe(true);
  expect(mayGo('', memory, 99_999)).toBe(false);
});

test('nobody is sent anywhere where it would be forgotten', () => {
  expect(mayGo('http://b', { recall: () => null, remember: () => {} }, 0)).toBe(false);
});
