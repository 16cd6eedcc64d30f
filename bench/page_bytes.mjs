// Bytes that a first visit of each page sends. Usage: page_bytes.mjs SERVER CONSOLE_FOLDER MOST_KIB PATH...
// Ends with 1 where scripts and styles of a page are more than MOST_KIB, 77 without Chromium.
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [server, consoleFolder, most, ...paths] = process.argv.slice(2);
const { chromium } = createRequire(join(consoleFolder, 'package.json'))('playwright-core');
const PLACES = [process.env.CONSOLE_CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-headless-shell', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
let browser;
for (const executablePath of PLACES.filter(Boolean)) browser ??= await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] }).catch(() => undefined);
if (!browser) {
  console.error('This needs Chromium: apt-get install chromium, or name the program in CONSOLE_CHROMIUM.');
  process.exit(77);
}
/** How Chromium names what counts as code. */
const CODE = ['Script', 'Stylesheet'];
const kib = (bytes) => (bytes / 1024).toFixed(1);
let isHeld = true;
console.log('| page | document, KiB | scripts and styles, KiB | files | everything else, KiB |\n|---|---|---|---|---|');
for (const path of paths) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const network = await context.newCDPSession(page);
  const kinds = new Map();
  const bytes = { Document: 0, code: 0, other: 0 };
  let files = 0;
  network.on('Network.responseReceived', ({ requestId, type }) => kinds.set(requestId, type));
  network.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const type = kinds.get(requestId);
    if (CODE.includes(type)) files += 1;
    bytes[type === 'Document' ? type : CODE.includes(type) ? 'code' : 'other'] += encodedDataLength;
  });
  await network.send('Network.enable');
  await page.goto(`${server}${path}`);
  await page.waitForSelector('main h1', { state: 'attached' });
  await page.waitForLoadState('load');
  await page.waitForTimeout(500);
  console.log(`| ${path} | ${kib(bytes.Document)} | ${kib(bytes.code)} | ${files} | ${kib(bytes.other)} |`);
  isHeld &&= bytes.code > 0 && bytes.code <= Number(most) * 1024;
  await context.close();
}
await browser.close();
process.exit(isHeld ? 0 : 1);
