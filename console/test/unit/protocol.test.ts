import { expect, test } from 'vitest';
import { Malformed, readFrame } from '../../src/world/protocol.ts';

const LOOKS = ['😁', '🤖'];

const rows: [string, string, object][] = [
  ['a welcome', '{"welcome":{"version":1,"indicators":["😁"]}}', { kind: 'welcome', version: 1, indicators: ['😁'] }],
  [
    'a registration, with a key that no number of ours can hold',
    '{"registered":{"id":3,"key":"18446744073709551615","x":1,"next_seq":4,"width":10,"height":20,"view":{"radius_x":13,"radius_y":8},"move_min_ms":50,"score":9,"is_resumed":true}}',
    { kind: 'registered', resume: { id: 3, key: '18446744073709551615' }, cell: { x: 1, y: 0 }, nextSeq: 4, size: { width: 10, height: 20 }, radius: { x: 13, y: 8 }, moveMinMs: 50, score: 9, isResumed: true },
  ],
  ['a move to the corner, where defaults are left out', '{"moved":{"seq":9}}', { kind: 'moved', seq: 9, cell: { x: 0, y: 0 } }],
  ['a chest', '{"dug":{"seq":1,"points":5,"score":12}}', { kind: 'dug', seq: 1, points: 5, score: 12 }],
  ['a power-up', '{"grabbed":{"seq":1,"item":"magnet","until_ms":99}}', { kind: 'grabbed', seq: 1, item: 'magnet', untilMs: 99 }],
  [
    'a refusal',
    '{"refused":{"seq":2,"code":"out_of_order","reason":"no","expected_seq":7}}',
    { kind: 'refused', seq: 2, code: 'out_of_order', reason: 'no', expectedSeq: 7 },
  ],
  ['an ending', '{"error":{"code":"elsewhere","address":"http://b"}}', { kind: 'error', code: 'elsewhere', reason: '', address: 'http://b' }],
  [
    'a round',
    '{"round":{"number":2,"phase":"running","until_ms":5,"chests_left":7,"ended":1,"scores":[{"id":1,"name":"A","score":3},{"id":2}]}}',
    { kind: 'round', round: { number: 2, phase: 'running', untilMs: 5, chestsLeft: 7, ended: 1, scores: [{ id: 1, name: 'A', score: 3 }, { id: 2, name: '', score: 0 }] } },
  ],
  ['something of a later version', '{"news":{"of":"tomorrow"}}', { kind: 'other' }],
];
test.each(rows)('%s is read', (_, text, want) => expect(readFrame(text, LOOKS)).toEqual(want));

test('a view is read', () => {
  const text = `{"view":{"tick":3,"is_full":true,"x":1,"y":2,"crowd":4,"oldest_change_us":1500,"radius_x":9,"radius_y":8,"score":0,"round":{"number":1},"left":[8],"moved":[{"id":5,"x":6}],
    "entered":[{"id":1,"x":2,"y":3,"indicator":1},{"id":2,"name":"B"},{"id":3,"indicator":99}],
    "trees":[1,2,3,4],"items":[{"x":1,"kind":"farsight"},{"y":2}],"items_gone":[5,6],"life":[7,8],"life_gone":[9,0]}}`;
  expect(readFrame(text, LOOKS)).toEqual({
    kind: 'view',
    view: {
      isFull: true,
      centre: { x: 1, y: 2 },
      radius: { x: 9, y: 8 },
      score: 0,
      round: { number: 1, phase: 'waiting', untilMs: 0, chestsLeft: 0, ended: 0, scores: [] },
      crowd: 4,
      oldestMs: 1.5,
      left: [8],
      moved: [{ id: 5, at: { x: 6, y: 0 } }],
      entered: [
        { id: 1, at: { x: 2, y: 3 }, emoji: '🤖' },
        { id: 2, at: { x: 0, y: 0 }, emoji: '😁', name: 'B' },
        { id: 3, at: { x: 0, y: 0 }, emoji: '❔' },
      ],
      trees: [{ x: 1, y: 2 }, { x: 3, y: 4 }],
      itemsIn: [{ at: { x: 1, y: 0 }, kind: 'farsight', emoji: '🔭' }, { at: { x: 0, y: 2 }, kind: 'chest', emoji: '🎁' }],
      itemsGone: [{ x: 5, y: 6 }],
      lifeOn: [{ x: 7, y: 8 }],
      lifeOff: [{ x: 9, y: 0 }],
    },
  });
});

test.each([
  '',
  'null',
  '[]',
  '{"moved":3}',
  '{"moved":{"seq":"1"}}',
  '{"moved":{"seq":null,"x":true}}',
  '{"view":{"trees":[1,2,3]}}',
  '{"view":{"entered":[4]}}',
  '{"view":{"left":{}}}',
  '{"welcome":{"indicators":[1]}}',
  '{"registered":{"key":7}}',
])('%s is refused', (text) => expect(() => readFrame(text, LOOKS)).toThrow(Malformed));
