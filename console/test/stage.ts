// A page as it is built, in Chromium, against a world that the test holds in its hands: a new one of both for each test.
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { closePages, sharedBrowser } from './chromium.ts';
import { dice, FakeWorld } from './fake.ts';

export class Stage {
  page!: Page;
  world!: FakeWorld;
  /** Errors that the page did not catch, and what it wrote as errors to its console. */
  readonly complaints: string[] = [];

  constructor() {
    let browser: Browser;
    beforeAll(async () => {
      browser = await sharedBrowser();
    });
    afterAll(closePages);
    beforeEach(async () => {
      this.complaints.length = 0;
      this.world = new FakeWorld(dice(3), 0);
      this.page = await browser.newPage({ viewport: { width: 900, height: 700 } });
      this.page.on('pageerror', (error) => this.complaints.push(error.message));
      this.page.on('console', (line) => line.type() === 'error' && this.complaints.push(line.text()));
    });
    afterEach(async () => {
      this.world.close();
      await this.page.close();
    });
  }

  /** Opens the page, and waits until it plays. */
  async open() {
    await this.world.playInto(this.page);
    await this.page.goto('http://world.test/world');
    await this.phase('playing');
    await until(() => this.own?.isFresh === false);
    // Chromium drops keys that come before it has shown a page for the first time.
    await this.page.evaluate(() => new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown))));
  }

  phase(name: string) {
    return this.page.waitForSelector(`[data-phase=${name}]`);
  }

  /** Waits until the page shows the own mover on this cell. */
  at(x: number, y: number) {
    return this.page.waitForSelector(`[data-cell="${x},${y}"]`);
  }

  /** The own mover, as the world has it. */
  get own() {
    return [...this.world.fellows.values()].find((fellow) => fellow.socket);
  }

  /** Says this to the page, as the server would. */
  say(frame: object) {
    this.own?.socket?.send(JSON.stringify(frame));
  }

  /** What the page said so far of this kind. */
  said(kind: string) {
    return this.world.said.flatMap((message): Record<string, unknown>[] => (message[kind] ? [message[kind]] : []));
  }
}

/** Waits until it is so. */
export const until = (holds: () => boolean) => expect.poll(holds, { interval: 20 }).toBe(true);
