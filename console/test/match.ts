// A match for pages under test: a board whose turns the test adds, a feed that it can break, answers that it can hold back. Played into a
// page by Playwright's routes, so that no port is opened.
import type { Page, WebSocketRoute } from 'playwright-core';
import { serveSite } from './site.ts';

export const ID = '01a20a0e-e204-71dd-a91a-45e6f3d457af';

interface Options {
  readonly width?: number;
  readonly height?: number;
  readonly snakes?: number;
  readonly names?: readonly string[];
}

export class FakeMatch {
  /** What the game itself is answered with, instead of the game. */
  answer: { status: number; json: object } | 'none' | null = null;
  status = 'complete';
  session: object | null = null;
  /** Sockets are not opened; a client that asks why is answered so. */
  shut: { status: number; json: object; headers?: Record<string, string> } | null = null;
  /** The reason of a match without a result. */
  failure = '';
  opened = 0;
  readonly frames: object[] = [];
  #sockets = new Set<WebSocketRoute>();

  constructor(private readonly options: Options = {}) {}

  get width() {
    return this.options.width ?? 11;
  }

  get height() {
    return this.options.height ?? 11;
  }

  /** Plays so many turns more: snakes walk around their lanes; the last one dies in the last turn where the match ends. */
  play(turns: number, isLast = false) {
    for (let n = 0; n < turns; n += 1) {
      const frame = this.#frame(this.frames.length, isLast && n === turns - 1);
      this.frames.push(frame);
      for (const socket of this.#sockets) socket.send(event('frame', frame));
    }
    if (!isLast) return;
    this.status = 'complete';
    for (const socket of this.#sockets) this.#end(socket);
  }

  hangUp() {
    for (const socket of this.#sockets) void socket.close({ code: 1012 });
    this.#sockets.clear();
  }

  async playInto(page: Page) {
    await page.route('**/*', (route) => {
      const url = new URL(route.request().url());
      if (url.pathname === '/api/session') {
        if (route.request().method() === 'DELETE') this.session = null;
        return this.session ? route.fulfill({ json: this.session }) : route.fulfill({ status: 204 });
      }
      if (url.pathname === `/api/games/${ID}`) {
        if (this.answer === 'none') return route.abort();
        return route.fulfill(this.answer ?? { status: 200, json: { Game: this.#game() } });
      }
      if (this.shut && url.pathname.endsWith('/events')) return route.fulfill(this.shut);
      if (url.pathname.startsWith('/api/')) return route.fulfill({ status: 404, json: {} });
      return serveSite(route, url);
    });
    await page.routeWebSocket(/\/events$/, (socket) => {
      // There is no such host: a connection to it fails before it is open.
      if (this.shut) return void socket.connectToServer();
      this.opened += 1;
      this.#sockets.add(socket);
      socket.onClose(() => this.#sockets.delete(socket));
      for (const frame of this.frames) socket.send(event('frame', frame));
      if (this.failure) socket.send(event('error', { message: this.failure }));
      if (this.status !== 'running' && this.status !== 'pending') this.#end(socket);
    });
  }

  #end(socket: WebSocketRoute) {
    socket.send(event('game_end', {}));
    void socket.close({ code: 1000 });
  }

  #game() {
    const { width: Width, height: Height, status: Status } = this;
    return { ID, Status, Width, Height, Ruleset: { Name: 'standard' }, RulesetName: 'standard', RulesStages: [], SnakeTimeout: 500, Source: '', Map: 'standard' };
  }

  #frame(turn: number, isLast: boolean) {
    const count = this.options.snakes ?? 2;
    const Snakes = Array.from({ length: count }, (_, seat) => {
      const death = isLast && seat > 0 ? { Cause: 'head-collision', Turn: turn, EliminatedBy: 'snake-0' } : null;
      const Body = Array.from({ length: 6 }, (_, part) => this.#lane(seat, count, turn - part));
      const Latency = `${10 + ((turn * 7 + seat) % 30)}`;
      const face = { Color: ['#d24a5a', '#00788c'][seat] ?? '', HeadType: 'smile', TailType: 'sharp' };
      const Name = this.options.names?.[seat] ?? `Snake ${seat}`;
      return { ID: `snake-${seat}`, Name, Author: 'ann', Body, Health: Math.max(1, 100 - (turn % 100)), Latency, Shout: turn % 2 ? 'hello' : '', Error: turn % 9 ? '' : 'late', Death: death, ...face };
    });
    const Hazards = [{ X: 0, Y: 0 }, { X: 0, Y: 0 }, { X: 1, Y: 0 }];
    return { Turn: turn, Snakes, Food: [{ X: 5, Y: 5 }], Hazards };
  }

  /** Around a rectangle of two rows. */
  #lane(seat: number, count: number, at: number) {
    const [around, row] = [2 * this.width, Math.floor((seat * this.height) / count)];
    const place = ((at % around) + around) % around;
    return place < this.width ? { X: place, Y: row } : { X: around - 1 - place, Y: row + 1 };
  }
}

const event = (Type: string, Data: unknown) => JSON.stringify({ Type, Data });
