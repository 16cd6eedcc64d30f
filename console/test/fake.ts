// A world of a few hundred lines less than the real one, for pages under test: it speaks the protocol, keeps trees and
// bounds, lets actors spread from one point, and can be told to refuse, to fall silent and to hang up. Played into a page by
// Playwright's routes, so that no port is opened.
import type { Page, WebSocketRoute } from 'playwright-core';
import { serveSite } from './site.ts';
import { cellOf, keyOf, STEPS, stepped, type Step } from '../src/world/grid.ts';

const SIDE = 1_000;
const INDICATORS = ['😁', '🤖', '🌳', '🦠', '🎁', '👟', '🔭', '🧲', '😎', '🤠', '🦊'];
const RADIUS = 13;
const MARGIN = 2;

interface Fellow {
  id: number;
  x: number;
  y: number;
  indicator: number;
  name?: string;
  seq: number;
  radius: { x: number; y: number };
  socket: WebSocketRoute | null;
  known: Map<number, number>;
  isFresh: boolean;
}

type Message = Partial<Record<string, Record<string, unknown>>>;

export class FakeWorld {
  readonly fellows = new Map<number, Fellow>();
  readonly said: Message[] = [];
  readonly trees = new Set<number>();
  /** What the next hello is answered with instead of a welcome. */
  refusal: { code: string; reason: string; address?: string } | null = null;
  /** The same at another server than world.test. */
  otherRefusal: typeof this.refusal = null;
  /** No player plays without having joined; one who tries to join is told this, or has joined. */
  admission: { whyNot?: string } | null = null;
  /** Sockets are not opened; a client that asks why is answered so. */
  shut: { status: number; detail: string } | null = null;
  /** Worlds that the first page of their list names. */
  others: readonly string[] = ['plaza', 'hunt'];
  /** The best of the round that runs. */
  best: readonly { mover: number; name: string; score: number }[] = [];
  /** Chests that no player has dug, as the figures of the world have them. */
  chestsLeft = 9_550;
  /** Whom the cookie speaks for. */
  session: object | null = { name: 'Amber Lynx', is_guest: true, role: 'guest', player: 'p' };
  /** Whom it speaks for cannot be read for the moment. */
  isStoreDown = false;
  /** Guests that were made, by name. */
  readonly guests: string[] = [];
  /** What is told to operators of what lies where. */
  hidden: readonly { x: number; y: number; indicator: string }[] = [];
  /** Steps are heard and neither done nor answered. */
  isDeaf = false;
  #id = 0;
  #tick = 0;
  #timer: NodeJS.Timeout;

  constructor(
    private readonly chance: () => number,
    treePermille = 50,
    private readonly spawn = { x: 500, y: 500 },
  ) {
    for (let n = 0; n < (SIDE * SIDE * treePermille) / 1_000; n += 1) {
      this.trees.add(keyOf({ x: Math.floor(chance() * SIDE), y: Math.floor(chance() * SIDE) }));
    }
    this.trees.delete(keyOf(spawn));
    this.#timer = setInterval(() => this.tell(), 200);
  }

  close() {
    clearInterval(this.#timer);
  }

  /** Actors at the point, who have walked so many steps each. */
  letLoose(count: number, steps: number) {
    for (let n = 0; n < count; n += 1) {
      const actor = this.#add(1);
      for (let step = 0; step < steps; step += 1) this.#walk(actor, this.#anyStep());
    }
  }

  /** One step of every actor. */
  stir() {
    for (const fellow of this.fellows.values()) if (fellow.indicator === 1) this.#walk(fellow, this.#anyStep());
  }

  hangUp() {
    for (const { socket } of this.fellows.values()) void socket?.close();
  }

  async playInto(page: Page) {
    await page.route('**/*', async (route) => {
      const url = new URL(route.request().url());
      if (this.shut && url.pathname.endsWith('/socket')) {
        const headers = this.shut.status === 429 ? { 'retry-after': '20' } : {};
        return route.fulfill({ status: this.shut.status, headers, json: this.shut });
      }
      if (url.pathname.endsWith('/join')) return route.fulfill(this.#join());
      if (url.pathname === '/api/stories/guests') return route.fulfill(this.#guest(route.request().postDataJSON() as { name: string }));
      if (url.pathname === '/api/session' && this.isStoreDown) return route.fulfill({ status: 503, json: { code: 'store_unavailable', detail: 'the store does not answer' } });
      if (url.pathname === '/api/session' && this.session === null) return route.fulfill({ status: 204 });
      const json = this.#json(url);
      if (json !== undefined) return route.fulfill({ json });
      if (url.pathname.startsWith('/api/')) return route.fulfill({ status: 404, json: {} });
      return serveSite(route, url);
    });
    await page.routeWebSocket(/\/socket$/, (socket) => {
      // There is no such host: a connection to it fails before it is open.
      if (this.shut) return void socket.connectToServer();
      const isHere = new URL(socket.url()).host === 'world.test';
      this.#welcome(socket, isHere ? () => this.refusal : () => this.otherRefusal);
    });
  }

  #join() {
    const detail = this.admission?.whyNot;
    if (!detail) this.admission = null;
    return detail ? { status: 409, json: { status: 409, detail } } : { json: {} };
  }

  #guest({ name }: { name: string }) {
    if (name === 'Taken') return { status: 400, json: { code: 'bad_name', detail: 'this name cannot be' } };
    this.guests.push(name);
    this.session = { name, is_guest: true, role: 'guest', player: 'p' };
    return { status: 201, json: { name, token: 'secret', player: 'p' } };
  }

  #json(url: URL): unknown {
    if (url.pathname === '/api/session') return this.session ?? undefined;
    if (url.pathname === '/api/worlds') return this.others.map((name) => ({ name, address: null }));
    if (url.pathname.endsWith('/stats')) return { best: this.best, round: { chests_left: this.chestsLeft } };
    if (url.pathname.endsWith('/sections')) return this.#section(url.searchParams);
    if (url.pathname.endsWith('/density')) return this.#density(url.searchParams);
    return undefined;
  }

  /** Of a hunt: its terrain only, but for operators. */
  #section(query: URLSearchParams) {
    const { x, y, w, h } = partOf(query);
    const trees = [...this.trees].map(cellOf).filter((tree) => tree.x >= x && tree.y >= y && tree.x < x + w && tree.y < y + h);
    return { x, y, width: w, height: h, trees: trees.flatMap((tree) => [tree.x, tree.y]), items: this.hidden, movers: [], life: [] };
  }

  #density(query: URLSearchParams) {
    const { x, y, w, h } = partOf(query);
    const bin = Math.ceil(Math.max(w, h) / 128);
    const [columns, rows] = [Math.ceil(w / bin), Math.ceil(h / bin)];
    const counts = new Array<number>(columns * rows).fill(0);
    for (const fellow of this.fellows.values()) {
      const [column, row] = [Math.floor((fellow.x - x) / bin), Math.floor((fellow.y - y) / bin)];
      if (column < 0 || row < 0 || column >= columns || row >= rows) continue;
      counts[row * columns + column] = (counts[row * columns + column] ?? 0) + 1;
    }
    return { x, y, width: w, height: h, bin, columns, rows, counts, movers: this.fellows.size };
  }

  #welcome(socket: WebSocketRoute, refusal: () => FakeWorld['refusal']) {
    let own: Fellow | null = null;
    socket.onMessage((text) => {
      const message = JSON.parse(String(text)) as Message;
      this.said.push(message);
      if (message['hello']) this.#greet(socket, refusal());
      else if (message['register']) own = this.#register(socket, message['register']);
      else if (own && message['watch']) this.#watch(own, message['watch']);
      else if (own && message['move'] && !this.isDeaf) this.#move(own, message['move']);
    });
    socket.onClose(() => {
      if (own?.socket === socket) own.socket = null;
    });
  }

  #greet(socket: WebSocketRoute, refusal: FakeWorld['refusal']) {
    if (!refusal) return socket.send(JSON.stringify({ welcome: { version: 1, indicators: INDICATORS } }));
    socket.send(JSON.stringify({ error: refusal }));
    return void socket.close();
  }

  #register(socket: WebSocketRoute, register: Record<string, unknown>): Fellow | null {
    if (this.admission) {
      socket.send(JSON.stringify({ refused: { code: 'not_joined', reason: 'join this hunt first' } }));
      return null;
    }
    const resume = register['resume'] as { id: number } | undefined;
    const own = (resume && this.fellows.get(resume.id)) ?? this.#add(Number(register['indicator'] ?? 0));
    Object.assign(own, { socket, isFresh: true, name: own.name ?? `Guest ${own.id}`, known: new Map() });
    const view = register['view'] as { radius_x: number; radius_y: number };
    own.radius = { x: view.radius_x, y: view.radius_y };
    const body = { id: own.id, key: '18446744073709551615', x: own.x, y: own.y, next_seq: own.seq, width: SIDE, height: SIDE, view };
    socket.send(JSON.stringify({ registered: body }));
    return own;
  }

  #watch(own: Fellow, watch: Record<string, unknown>) {
    const view = watch['view'] as { radius_x: number; radius_y: number };
    Object.assign(own, { radius: { x: view.radius_x, y: view.radius_y }, isFresh: true, known: new Map() });
    own.socket?.send(JSON.stringify({ watched: { view } }));
  }

  #move(own: Fellow, move: Record<string, unknown>) {
    const { seq, step } = move as { seq: number; step: Step };
    own.seq = seq + 1;
    const answer = this.#walk(own, step)
      ? { moved: { seq, x: own.x, y: own.y } }
      : { refused: { seq, code: 'blocked', reason: 'A tree stands there.' } };
    own.socket?.send(JSON.stringify(answer));
  }

  #walk(fellow: Fellow, step: Step): boolean {
    const to = stepped(fellow, step);
    if (to.x < 0 || to.y < 0 || to.x >= SIDE || to.y >= SIDE || this.trees.has(keyOf(to))) return false;
    [fellow.x, fellow.y] = [to.x, to.y];
    return true;
  }

  #anyStep(): Step {
    return STEPS[Math.floor(this.chance() * STEPS.length)] ?? 'stay';
  }

  #add(indicator: number): Fellow {
    const id = (this.#id += 1);
    const fellow = { id, ...this.spawn, indicator, seq: 1, socket: null, known: new Map(), isFresh: true, radius: { x: RADIUS, y: RADIUS } };
    this.fellows.set(id, fellow);
    return fellow;
  }

  /** Everybody's view, at the tick. */
  tell() {
    this.#tick += 1;
    for (const fellow of this.fellows.values()) if (fellow.socket) fellow.socket.send(JSON.stringify({ view: this.#view(fellow) }));
  }

  #view(own: Fellow) {
    const { x: across, y: down } = own.radius;
    const near = [...this.fellows.values()].filter((other) => Math.abs(other.x - own.x) <= across && Math.abs(other.y - own.y) <= down);
    const shown = near.filter((other) => other !== own).sort((a, b) => a.id - b.id).slice(-200);
    const entered = shown.filter((other) => !own.known.has(other.id)).map(({ id, x, y, indicator, name }) => ({ id, x, y, indicator, name }));
    const moved = shown.filter((other) => (own.known.get(other.id) ?? keyOf(other)) !== keyOf(other)).map(({ id, x, y }) => ({ id, x, y }));
    const left = [...own.known.keys()].filter((id) => !shown.some((other) => other.id === id));
    own.known = new Map(shown.map((other) => [other.id, keyOf(other)]));
    const trees: number[] = [];
    for (let y = own.y - down - MARGIN; y <= own.y + down + MARGIN; y += 1) {
      for (let x = own.x - across - MARGIN; x <= own.x + across + MARGIN; x += 1) if (this.trees.has(keyOf({ x, y }))) trees.push(x, y);
    }
    const view = { tick: this.#tick, ...(own.isFresh ? { is_full: true, radius_x: across, radius_y: down } : {}), x: own.x, y: own.y, entered, moved, left, trees };
    own.isFresh = false;
    return { ...view, crowd: near.length - 1 - shown.length };
  }
}

function partOf(query: URLSearchParams) {
  const [x, y, w, h] = ['x', 'y', 'w', 'h'].map((name) => Number(query.get(name)));
  if (x === undefined || y === undefined || w === undefined || h === undefined) throw new Error('a part of the world');
  return { x, y, w, h };
}

/** Numbers from 0 to 1 that are the same each time. */
export function dice(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}
