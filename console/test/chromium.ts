// Chromium as the system has it, without a download: the one that is named, or Debian's. Its shell without windows is the same engine, and a page
// costs a third less in it. Files of tests that run in one process share one browser; contexts keep their pages apart.
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PLACES = [process.env['CONSOLE_CHROMIUM'], '/usr/bin/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
/** What will come has come by then, also where compilers have the machine: too long costs nothing where nothing is broken. */
export const PATIENCE_MS = 180_000;
let shared: Promise<Browser> | null = null;

/** The browser of this process; another one where the last is gone. */
export async function sharedBrowser(): Promise<Browser> {
  if (!shared || !(await shared.catch(() => null))?.isConnected()) shared = start();
  return shared;
}

/** Ends what a file of tests has open in it. */
export async function closePages() {
  const contexts = (await shared)?.contexts() ?? [];
  await Promise.all(contexts.map((context) => context.close()));
}

async function start(): Promise<Browser> {
  const executablePath = PLACES.find((place): place is string => place !== undefined && existsSync(place));
  if (!executablePath) {
    throw new Error('These tests need Chromium: apt-get install chromium-headless-shell, or name the program in CONSOLE_CHROMIUM.');
  }
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  browser.on('context', (context) => context.setDefaultTimeout(PATIENCE_MS));
  return browser;
}
