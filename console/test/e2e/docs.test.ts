// Documents and the API reference, as they are built, in Chromium.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FakeApi, problem } from '../api.ts';
import { expectGood, expectGoodInEveryScheme, Pages } from '../pages.ts';

const pages = new Pages();
const OPENAPI = readFileSync(join(import.meta.dirname, '../../../docs/openapi.json'), 'utf8');
const withDocument = () => new FakeApi().on('GET /api/openapi.json', { body: OPENAPI });

test('documents are readable, in every scheme', async () => {
  const page = await pages.open(withDocument(), '/docs');
  await page.getByRole('main').getByRole('link', { name: 'Stories', exact: true }).waitFor();
  await expectGoodInEveryScheme(page);
  await page.getByRole('main').getByRole('link', { name: 'Maps', exact: true }).click();
  await page.getByRole('heading', { name: 'Maps', level: 1 }).waitFor();
  await expect.poll(() => page.evaluate(() => document.images[0]?.naturalWidth ?? 0)).toBeGreaterThan(0);
  await expectGoodInEveryScheme(page);
});

test('the API reference is readable, in every scheme', async () => {
  const page = await pages.open(withDocument(), '/docs/api?operation=post+/api/games');
  await page.getByRole('heading', { name: 'Answers' }).waitFor();
  await expectGoodInEveryScheme(page);
});

test('a link to a part of another document leads there', async () => {
  const page = await pages.open(withDocument(), '/docs/games');
  await page.locator('article a[href="/docs/limiter#in-the-gateway"]').first().click();
  await page.getByRole('heading', { name: 'In the gateway' }).waitFor();
  await expect.poll(() => page.evaluate(() => document.getElementById('in-the-gateway')?.getBoundingClientRect().top ?? 9_999)).toBeLessThan(500);
});

test('a route is found by its words, and a link names what was found', async () => {
  const page = await pages.open(withDocument(), '/docs/api');
  await page.getByRole('searchbox', { name: 'Find a route' }).fill('post stories vote');
  await page.getByText('/api/stories/games/{game}/vote', { exact: true }).click();
  await page.getByRole('heading', { name: 'Parameters' }).waitFor();
  await expect.poll(() => new URL(page.url()).search).toContain('operation=');
  await page.getByRole('searchbox').fill('nothing of that kind');
  await page.getByText('No route has all of these words').waitFor();
  await expectGood(page);
});

test('a document that is not there leads home', async () => {
  const page = await pages.open(withDocument(), '/docs/secrets');
  await page.getByRole('heading', { name: 'Nothing stands here' }).waitFor();
  await expectGood(page);
});

test('a refusal is told with its code, an outage goes by', async () => {
  const api = new FakeApi().on('GET /api/openapi.json', problem(403, 'forbidden', 'this address is refused'));
  const page = await pages.open(api, '/docs/api');
  expect(await page.getByRole('alert').innerText()).toContain('This address is refused (forbidden)');
  await expectGood(page);
  api.isDown = true;
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('The server cannot be reached').waitFor();
  api.isDown = false;
  api.on('GET /api/openapi.json', { body: OPENAPI });
  await page.getByRole('heading', { name: 'stories', exact: true }).waitFor();
});
