// Chromium as the system has it, without a download: Debian's, or the one that is named.
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PLACES = [process.env['CONSOLE_CHROMIUM'], '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

export async function launch(): Promise<Browser> {
  const executablePath = PLACES.find((place): place is string => place !== undefined && existsSync(place));
  if (!executablePath) {
    throw new Error('These tests need Chromium: apt-get install chromium, or name the program in CONSOLE_CHROMIUM.');
  }
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
}
