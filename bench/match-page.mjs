// What a picture of the match page costs, in Chromium without a window: plays a match from its start at 32 turns a second, and
// times every callback of a picture. Prints one line of JSON. Usage: match-page.mjs URL SECONDS OUT.png CONSOLE_FOLDER
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [url, seconds, shot, folder] = process.argv.slice(2);
const { chromium } = createRequire(join(folder, 'package.json'))('playwright-core');
const PLACES = [process.env.CONSOLE_CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-headless-shell', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const CANNOT_RUN = 77;

/** Runs in the page, before its own code. */
function watch() {
  window.pictures = [];
  const request = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = (draw) =>
    request((at) => {
      const begun = performance.now();
      draw(at);
      window.pictures.push(performance.now() - begun);
    });
}

function spread(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: sorted.at(-1) ?? 0 };
}

for (const executablePath of PLACES.filter(Boolean)) {
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] }).catch(() => null);
  if (!browser) continue;
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.addInitScript(watch);
  await page.goto(`${url}?turn=0`);
  await page.waitForSelector('[data-turn]');
  await page.getByLabel('Speed in turns a second').selectOption('32');
  await page.evaluate(() => (window.pictures.length = 0));
  await page.getByRole('button', { name: 'Play' }).click();
  await page.waitForTimeout(1_000 * Number(seconds));
  const pictures = await page.evaluate(() => window.pictures);
  const turns = Number(await page.locator('[data-turn]').getAttribute('data-turn'));
  await page.screenshot({ path: shot });
  console.log(JSON.stringify({ pictures: pictures.length, turns, draw_ms: spread(pictures) }));
  await browser.close();
  process.exit(pictures.length > 0 ? 0 : 1);
}
console.error('This measurement needs Chromium: apt-get install chromium, or name the program in CONSOLE_CHROMIUM.');
process.exit(CANNOT_RUN);
