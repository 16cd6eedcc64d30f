// What the home page asks a server, played by the test: a summary that it changes, and the match that is featured.
import type { Page } from 'playwright-core';
import type { FeaturedGame, Summary } from '../src/api/client.ts';
import { FakeApi } from './api.ts';
import { FakeMatch, ID } from './match.ts';

export const QUIET: Summary = {
  health: 'ok',
  games: { running: 0, waiting: 0, ended_last_minute: 0 },
  stories: { live: 0, open: 0, players_waiting: 0, seats_open: 0 },
  leaderboards: { active: 0, rated_last_minute: 0 },
  worlds: [],
  hunts: { open: 0, players: 0 },
  featured: null,
};

export const FEATURED: FeaturedGame = {
  id: ID,
  game_type: 'Standard',
  map: 'standard',
  board: '11x11',
  turns: 29,
  started_at: '2026-11-26T16:00:00.000Z',
  snakes: [
    { name: 'Snake 0', rating: 31.25 },
    { name: 'Snake 1', rating: null },
  ],
  leaderboard: { id: ID, name: 'Standard' },
};

export const BUSY: Summary = {
  health: 'ok',
  games: { running: 10_000, waiting: 12, ended_last_minute: 1_234 },
  stories: { live: 7, open: 3, players_waiting: 5, seats_open: 9 },
  leaderboards: { active: 2, rated_last_minute: 321 },
  worlds: [
    { name: 'plaza', kind: 'world', movers: 204, address: null },
    { name: 'hunt', kind: 'hunt', movers: 1, address: null },
    { name: 'harbour', kind: 'world', movers: null, address: '10.0.0.2:4000' },
  ],
  hunts: { open: 1, players: 4 },
  featured: FEATURED,
};

export class HomeApi extends FakeApi {
  /** The featured match. */
  readonly match = new FakeMatch();
  /** The page's time is the test's. */
  holdsClock = false;

  constructor(public summary: Summary) {
    super();
    this.match.status = 'running';
    this.on('GET /api/summary', () => ({ json: this.summary }));
    // A stream that has told what there is ends: the page comes back for more.
    const event = () => `retry: 1000\n\nid: 1\ndata: ${JSON.stringify(this.summary)}\n\n`;
    this.on('GET /api/summary/feed', () => ({ body: event(), headers: { 'content-type': 'text/event-stream' } }));
  }

  override async playInto(page: Page) {
    if (this.holdsClock) await page.clock.install();
    // The socket of the match; every other request comes to this API.
    await this.match.playInto(page);
    await super.playInto(page);
  }
}
