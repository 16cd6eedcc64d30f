// Documents as pages: what becomes of Markdown, and that no link of any document leads nowhere.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { anchorOf, documentPaths, nameOf, readDocument, render } from '../../plugins/documents.ts';
import { routeOf } from '../../src/shell/routes.ts';

describe('names', () => {
  test.each([
    ['games.md', 'games'],
    ['decisions/0060-one-document-and-its-router.md', 'decision-0060'],
    ['decisions/README.md', 'decisions'],
    ['lifecycles/world.md', 'lifecycle-world'],
    ['openapi.json', 'api'],
    ['../README.md', null],
    ['maps/standard.svg', null],
    ['run.schema.json', null],
  ])('%s is %s', (path, want) => expect(nameOf(path)).toBe(want));
  test.each([
    ['A game as a file', 'a-game-as-a-file'],
    ['When `bots` fail: what then?', 'when-bots-fail-what-then'],
    ['1.5 KB, or more', '15-kb-or-more'],
  ])('%s has the anchor %s', (heading, want) => expect(anchorOf(heading)).toBe(want));
});

describe('render', () => {
  const html = (markdown: string, path = 'games.md') => render(path, markdown).html.trim();
  test.each([
    ['[a](bots.md#keys)', '<p><a href="/docs/bots#keys">a</a></p>'],
    ['[a](#keys)', '<p><a href="/docs/games#keys">a</a></p>'],
    ['[a](../crates/wire/proto/rls.proto)', '<p>a</p>'],
    ['[a](https://example.com/?a=1&b="2")', '<p><a href="https://example.com/?a=1&#38;b=&#34;2&#34;" rel="noreferrer">a</a></p>'],
    ['## Who sees what', '<h2 id="who-sees-what">Who sees what</h2>'],
    ['```sh\na <b> && c\n```', '<pre tabindex="0"><code>a &#60;b&#62; &#38;&#38; c</code></pre>'],
  ])('%j', (markdown, want) => expect(html(markdown)).toBe(want));
  test('a link from a decision is followed from its folder', () =>
    expect(html('[m](../lifecycles/match.md)', 'decisions/0001-one-lease-a-worker.md')).toContain('/docs/lifecycle-match'));
  test('title and lead are text', () => {
    const { title, lead } = render('bots.md', '# The *bots*\n\nThey `play`\nand [win](games.md).\n\nMore.');
    expect([title, lead]).toEqual(['The bots', 'They play and win.']);
  });
});

const all = documentPaths().map(readDocument);
const anchors = new Map(all.map(({ name, anchors }) => [name, anchors]));

test.each(all.map((document) => [document.name, document] as const))('%s: a title, an address, links and pictures that exist', (name, { title, links, pictures }) => {
  expect(title).not.toBe('');
  expect(routeOf(`/docs/${name}`).page).toBe('document');
  for (const link of links) {
    const [path = '', anchor] = link.split('#');
    expect(routeOf(path).page, link).toMatch(/^(document|api)$/);
    if (path === '/docs/api') continue;
    const there = anchors.get(path.slice('/docs/'.length));
    expect(there, link).toBeDefined();
    if (anchor) expect(there, link).toContain(anchor);
  }
  for (const picture of pictures) expect(existsSync(join(import.meta.dirname, '../../../docs', picture)), picture).toBe(true);
});
