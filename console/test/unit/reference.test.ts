// The OpenAPI document as rows of a page.
import { describe, expect, test } from 'vitest';
import { grouped } from '../../src/docs/groups.ts';
import { matches, membersOf, type OpenApi, operationsOf, paragraphs, reachable, type Schema, typeOf } from '../../src/docs/reference.ts';

test.each<[Schema, string]>([
  [{ type: 'string', maxLength: 64 }, 'string, at most 64 characters'],
  [{ type: ['string', 'null'] }, 'string or null'],
  [{ type: 'integer', minimum: 0, maximum: 100 }, 'integer, 0 to 100'],
  [{ type: 'array', items: { $ref: '#/components/schemas/Game' } }, 'Game[]'],
  [{ oneOf: [{ $ref: '#/components/schemas/Game' }, { type: 'null' }] }, 'Game or null'],
  [{ type: 'object', additionalProperties: { type: 'integer' } }, '{ name: integer }'],
  [{ enum: ['won', 'lost'] }, '"won" or "lost"'],
  [{}, 'any'],
])('%j is %s', (schema, want) => expect(typeOf(schema)).toBe(want));

const API: OpenApi = {
  info: { title: 'A', version: '1' },
  paths: {
    '/api/games/{id}': {
      get: { summary: 'A game', tags: ['games'], security: [{}, { bearer: [] }], parameters: [{ name: 'id', in: 'path', required: true }], responses: { 200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Game' } } } } } },
      delete: { security: [{ bearer: [] }] },
    },
  },
  components: { schemas: { Game: { properties: { snakes: { type: 'array', items: { $ref: '#/components/schemas/Snake' } } }, required: ['snakes'] }, Snake: { properties: { games: { $ref: '#/components/schemas/Game' } } } } },
};

describe('operations', () => {
  const [get, end] = operationsOf(API);
  test('say who may, what they take and answer', () => {
    expect([get?.access, get?.parameters[0]?.isRequired, get?.responses[0]?.schema]).toEqual(['either', true, 'Game']);
    expect([end?.access, end?.method, end?.tag]).toEqual(['token', 'DELETE', 'other']);
  });
  test('are named by what only they have', () => expect([get?.id, end?.id]).toEqual(['get /api/games/{id}', 'delete /api/games/{id}']));
  test.each([['get game', true], ['GAMES', true], ['', true], ['get tables', false]])('%j finds it: %j', (search, want) =>
    expect(get && matches(get, search)).toBe(want));
  test('schemas that lead to each other end', () => expect(reachable(API, 'Game')).toEqual(['Game', 'Snake']));
  test('members know what must be there', () =>
    expect(membersOf(API, 'Game').map(({ name, schema, isRequired }) => [name, schema, isRequired])).toEqual([['snakes', 'Snake', true]]));
});

test('descriptions are text and code', () =>
  expect(paragraphs('With `after`:\nmore.\n\nOr ` alone')).toEqual([
    [{ text: 'With ', isCode: false }, { text: 'after', isCode: true }, { text: ': more.', isCode: false }],
    [{ text: 'Or ` alone', isCode: false }],
  ]));

test('every document is listed once', () => {
  const all = ['stories', 'decision-0001', 'something-new', 'lifecycle-match', 'bots'].map((name) => ({ name, title: name }));
  const listed = grouped(all).flatMap(([, list]) => list.map(({ name }) => name));
  expect([...listed].sort()).toEqual(all.map(({ name }) => name).sort());
});
