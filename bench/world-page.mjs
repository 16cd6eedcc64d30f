// What a picture of the page /world costs, in Chromium without a window: it is opened at a server where actors walk, walks
// itself, and counts. Prints one line of JSON. Usage: world-page.mjs URL SECONDS OUT.png CONSOLE_FOLDER
//
// A browser without a window has no graphics processor: its canvas is drawn by the same cores that run the page. So what counts is
// processor time a picture, against the 16.7 ms that a screen with 60 a second leaves; and, beside it, the pauses that came of it here.
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [url, seconds, shot, folder] = process.argv.slice(2);
const { chromium } = createRequire(join(folder, 'package.json'))('playwright-core');
const PLACES = [process.env.CONSOLE_CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-headless-shell', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

const CANNOT_RUN = 77;

/** Runs in the page, before its own code: times every callback of a picture and every message. */
function watch() {
  const book = { pictures: [], starts: [], messages: [] };
  window.book = book;
  const ask = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = (draw) =>
    ask((at) => {
      const begun = performance.now();
      draw(at);
      const took = performance.now() - begun;
      // Stage and map draw in callbacks of their own: one picture is what has one time stamp.
      if (book.starts.at(-1) === at) book.pictures[book.pictures.length - 1] += took;
      else book.starts.push(at), book.pictures.push(took);
    });
  const socket = Object.getOwnPropertyDescriptor(WebSocket.prototype, 'onmessage');
  Object.defineProperty(WebSocket.prototype, 'onmessage', {
    ...socket,
    set(hear) {
      socket.set.call(this, hear && ((event) => {
        const begun = performance.now();
        hear(event);
        book.messages.push(performance.now() - begun);
      }));
    },
  });
}

const at = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
const spread = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  return { p50: at(sorted, 0.5), p95: at(sorted, 0.95), p99: at(sorted, 0.99), max: sorted.at(-1) ?? 0 };
};

for (const executablePath of PLACES.filter(Boolean)) {
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] }).catch(() => null);
  if (!browser) continue;
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.addInitScript(watch);
  await page.goto(url);
  await page.waitForSelector('[data-phase=playing]', { state: 'attached', timeout: 120_000 });
  await page.waitForFunction(() => window.book.messages.length > 10, null, { timeout: 120_000 });
  const devtools = await browser.newBrowserCDPSession();
  // Processor time in seconds: of the page's process, and of the one that paints.
  const used = async () => {
    const { processInfo } = await devtools.send('SystemInfo.getProcessInfo');
    const of = (kind) => processInfo.filter(({ type }) => type === kind).reduce((sum, { cpuTime }) => sum + cpuTime, 0);
    return [of('renderer'), of('GPU')];
  };
  await page.evaluate(() => Object.values(window.book).forEach((list) => (list.length = 0)));
  const before = await used();
  // There and back, so that the camera moves all the time.
  const until = Date.now() + seconds * 1_000;
  for (let way = 0; Date.now() < until; way += 1) {
    const key = way % 2 ? 'ArrowLeft' : 'ArrowRight';
    await page.keyboard.down(key);
    await page.waitForTimeout(1_000);
    await page.keyboard.up(key);
  }
  const [page_s, paint_s] = (await used()).map((now, at) => now - before[at]);
  const { pictures, starts, messages } = await page.evaluate(() => window.book);
  const pauses = starts.slice(1).map((start, n) => start - starts[n]);
  // The list of figures may be folded.
  const seen = await page.evaluate(() => [...document.querySelectorAll('dt')].find((name) => name.textContent === 'In sight')?.nextElementSibling?.textContent ?? '?');
  await page.screenshot({ path: shot });
  const dropped = pauses.filter((pause) => pause > 25).length / pauses.length;
  const each = (busy_s) => (1_000 * busy_s) / pictures.length;
  console.log(JSON.stringify({
    pictures: pictures.length, draw_ms: spread(pictures), message_ms: spread(messages), messages: messages.length,
    page_cpu_ms: each(page_s), paint_cpu_ms: each(paint_s), pause_ms: spread(pauses), dropped, seen: seen.trim(),
  }));
  await browser.close();
  process.exit(0);
}
console.error('This measurement needs Chromium: apt-get install chromium, or name the program in CONSOLE_CHROMIUM.');
process.exit(CANNOT_RUN);
