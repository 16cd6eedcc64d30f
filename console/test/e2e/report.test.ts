// report.html, opened from a disk in Chromium: nothing is fetched, nothing complains, everything can be read in every scheme and on paper.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { findingsOf } from '../axe.ts';
import { closePages, sharedBrowser } from '../chromium.ts';
import { expectGood, expectGoodInEveryScheme } from '../pages.ts';
import { expectDrawn, reportPage, sampleReport } from '../report.ts';

const folder = mkdtempSync(join(tmpdir(), 'gauntlet-report-'));
const file = pathToFileURL(join(folder, 'report.html')).href;
const requests: string[] = [];
const complaints: string[] = [];
let browser: Browser;
let page: Page;

beforeAll(async () => {
  writeFileSync(join(folder, 'report.html'), reportPage(sampleReport()));
  browser = await sharedBrowser();
});
afterAll(async () => {
  await closePages();
  rmSync(folder, { recursive: true });
});
afterEach(async () => {
  await page.context().close();
  expect(requests.splice(0)).toEqual([file]);
  expect(complaints.splice(0)).toEqual([]);
});

async function open(options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1_000, height: 800 }, reducedMotion: 'reduce', ...options });
  page = await context.newPage();
  page.on('request', (request) => requests.push(request.url()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (line) => ['error', 'warning'].includes(line.type()) && complaints.push(line.text()));
  await page.goto(file);
  return page;
}


test('every block can be read, in every scheme', async () => {
  await open();
  await expectDrawn(page, 7);
  await expectGoodInEveryScheme(page);
  await page.evaluate(() => document.querySelectorAll('details').forEach((details) => (details.open = true)));
  await expectGoodInEveryScheme(page);
});

test('gates come first, and a finding stands with the chart that shows it', async () => {
  await open();
  const titles = await page.locator('section.part > h2').allInnerTexts();
  expect(titles[0]).toBe('Gates');
  const panel = page.locator('.panel', { hasText: 'Figures of “create: latency”' });
  await panel.getByText('The pool of connections was used up').waitFor();
  expect(await page.getByText('</script><script>alert(1)</script>').count()).toBe(1);
});

/** The text beside the axis of time of every chart's last place: charts over time show the same time. */
const shownTo = (page: Page) => page.getByRole('slider', { name: 'To' }).getAttribute('aria-valuetext');

test('what is dragged over in one chart all charts over time show, and a double click shows the whole run', async () => {
  await open();
  await expectDrawn(page, 7);
  const field = page.locator('.u-over').first();
  await field.scrollIntoViewIfNeeded();
  const box = await field.boundingBox();
  if (!box) throw new Error('the field has a place');
  await page.mouse.move(box.x + box.width * 0.25, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 60, { steps: 4 });
  await page.mouse.up();
  await expect.poll(() => shownTo(page)).toBe('1:00');
  await expectGood(page);
  await field.dblclick();
  await expect.poll(() => shownTo(page)).toBe('2:00');
});

test('the keyboard chooses a time too', async () => {
  await open();
  const to = page.getByRole('slider', { name: 'To' });
  await to.focus();
  await page.keyboard.press('Home');
  await expect.poll(() => shownTo(page)).toBe('0:01');
  await page.getByRole('button', { name: 'Whole run' }).click();
  await expect.poll(() => shownTo(page)).toBe('2:00');
});

test('every chart has its figures as a table, and gaps have none', async () => {
  await open();
  await page.getByText('Figures of “create: throughput”').click();
  const rows = page.getByRole('group', { name: 'Figures of create: throughput' }).locator('tbody tr');
  await expect.poll(() => rows.count()).toBe(100);
  const gap = rows.filter({ has: page.getByRole('rowheader', { name: '1:05', exact: true }) });
  expect(await gap.locator('td').allInnerTexts()).toEqual(['–', '–']);
  await page.getByText('Figures of “How every load step ended”').click();
  const steps = page.getByRole('group', { name: 'Figures of How every load step ended' }).locator('tbody tr').first();
  expect(await steps.innerText()).toMatch(/burst 1\s+10\s+90/);
});

test('paper has ink on it, and no controls', async () => {
  await open({ colorScheme: 'dark' });
  await expectDrawn(page, 7);
  await page.emulateMedia({ media: 'print' });
  const [background, slider] = await page.evaluate(() => [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector('fieldset') ?? document.body).display]);
  expect([background, slider]).toEqual(['rgb(253, 244, 231)', 'none']);
  expect((await findingsOf(page)).filter((line) => line.startsWith('color-contrast'))).toEqual([]);
  expect((await page.pdf()).length).toBeGreaterThan(20_000);
});

test('without JavaScript the page is what stands in the file', async () => {
  await open({ javaScriptEnabled: false });
  expect(await page.getByRole('heading').allInnerTexts()).toEqual(['sample', 'Gates']);
});
