// Pictures of pages: each in both themes and three widths. Usage: screenshots.mjs SERVER FOLDER CONSOLE_FOLDER NAME=PATH...
// NAME@TOKEN=PATH shows the page to this token's owner.
// Ends with 1 where a page reports an error or is wider than its window.
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [server, folder, console_folder, ...pages] = process.argv.slice(2);
const { chromium } = createRequire(join(console_folder, 'package.json'))('playwright-core');
const SIZES = [[360, 740], [1_024, 768], [2_560, 1_440]];
const PLACES = [process.env.CONSOLE_CHROMIUM, '/usr/bin/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
/** What pages must have shown before they are taken, and what they must show no more. */
const SHOWN = 'main h1, [data-match=shown] canvas, [data-phase=playing]';
const isLoaded = () => !document.querySelector('main').innerText.includes('Loading …');
/** A page of what is not there, and of a link that is no longer open, says so in the browser's log as well. */
const EXPECTED = /status of (404|410)/;

let browser;
for (const executablePath of PLACES.filter(Boolean)) browser ??= await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] }).catch(() => undefined);
if (!browser) {
  console.error('Pictures need Chromium: apt-get install chromium-headless-shell, or name the program in CONSOLE_CHROMIUM.');
  process.exit(77);
}
const faults = [];
for (const colorScheme of ['dark', 'light']) {
  for (const [width, height] of SIZES) {
    const context = await browser.newContext({ viewport: { width, height }, colorScheme, reducedMotion: 'reduce' });
    for (const entry of pages) {
      const [who, path] = [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)];
      const [name, token] = who.split('@');
      await context.clearCookies();
      if (token) await context.request.post(`${server}/api/session`, { headers: { authorization: `Bearer ${token}` } });
      const page = await context.newPage();
      page.on('pageerror', (error) => faults.push(`${name}: ${error.message}`));
      page.on('console', (line) => line.type() === 'error' && !EXPECTED.test(line.text()) && faults.push(`${name}: ${line.text()}`));
      await page.goto(`${server}${path}`);
      await page.waitForSelector(SHOWN, { state: 'attached' });
      await page.waitForFunction(isLoaded);
      await page.waitForTimeout(800);
      const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (beyond > 0) faults.push(`${name}: ${beyond} points wider than a window of ${width}`);
      await page.screenshot({ path: join(folder, `${name}-${colorScheme}-${width}.png`) });
      await page.close();
    }
    await context.close();
  }
}
await browser.close();
for (const fault of faults) console.error(fault);
process.exit(faults.length > 0 ? 1 : 0);
