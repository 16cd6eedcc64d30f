// The link against a socket, a clock and a chance that the test holds in its hands.
import { expect, test } from 'vitest';
import { Link, type Phase, type Socket } from '../../src/world/link.ts';
import type { Resume } from '../../src/world/protocol.ts';

class Wire implements Socket {
  onopen: (() => void) | null = null;
  onmessage: ((event: { readonly data: unknown }) => void) | null = null;
  onclose: (() => void) | null = null;
  readonly sent: unknown[] = [];
  isClosed = false;
  send(text: string) {
    this.sent.push(JSON.parse(text));
  }
  close() {
    this.isClosed = true;
  }
  hear(frame: object) {
    this.onmessage?.({ data: JSON.stringify(frame) });
  }
}

class Stand {
  readonly wires: Wire[] = [];
  readonly phases: Phase[] = [];
  readonly frames: string[] = [];
  memory: Resume | null = null;
  nowMs = 0;
  explained: ((why: string, waitMs: number) => void) | null = null;
  #timers: { atMs: number; then: () => void }[] = [];

  readonly link = new Link(
    {
      open: () => this.wires[this.wires.push(new Wire()) - 1] as Wire,
      nowMs: () => this.nowMs,
      chance: () => 1,
      explain: (tell) => (this.explained = tell),
      after: (delayMs, then) => {
        const timer = { atMs: this.nowMs + delayMs, then };
        this.#timers.push(timer);
        return () => (this.#timers = this.#timers.filter((other) => other !== timer));
      },
      recall: () => this.memory,
      remember: (resume) => (this.memory = resume),
    },
    { phase: (phase) => this.phases.push(phase), frame: (frame) => this.frames.push(frame.kind) },
    { view: { radius_x: 13, radius_y: 13, per_s: 5 }, at: { x: 2, y: 3 } },
  );

  get wire(): Wire {
    const wire = this.wires.at(-1);
    if (!wire) throw new Error('nothing was opened');
    return wire;
  }
  get phase(): Phase | undefined {
    return this.phases.at(-1);
  }
  pass(ms: number) {
    this.nowMs += ms;
    const due = this.#timers.filter((timer) => timer.atMs <= this.nowMs);
    this.#timers = this.#timers.filter((timer) => timer.atMs > this.nowMs);
    for (const timer of due) timer.then();
  }
  get waiting(): number {
    return this.#timers.length;
  }
  /** Connects, and plays. */
  play(): this {
    this.link.connect();
    this.wire.onopen?.();
    this.wire.hear({ welcome: { version: 1, indicators: ['🤖', '😁'] } });
    this.wire.hear({ registered: { id: 4, key: '99', width: 10, height: 10 } });
    return this;
  }
}

test('it introduces itself, registers, and plays', () => {
  const stand = new Stand().play();
  expect(stand.wire.sent).toEqual([
    { hello: { version: 1, capabilities: ['reasons'] } },
    { register: { indicator: 1, at: { x: 2, y: 3 }, view: { radius_x: 13, radius_y: 13, per_s: 5 } } },
  ]);
  expect(stand.phases.map(({ name }) => name)).toEqual(['connecting', 'playing']);
  expect([stand.memory, stand.frames, stand.waiting]).toEqual([{ id: 4, key: '99' }, ['registered'], 0]);
});

test('after a loss it waits, and takes its mover up again', () => {
  const stand = new Stand().play();
  stand.wire.onclose?.();
  expect(stand.phase).toEqual({ name: 'waiting', untilMs: 400, why: 'The connection was lost.' });
  stand.pass(399);
  expect(stand.wires).toHaveLength(1);
  stand.pass(1);
  expect(stand.phase).toEqual({ name: 'connecting', isAgain: true });
  stand.wire.onopen?.();
  stand.wire.hear({ welcome: {} });
  expect(stand.wire.sent.at(-1)).toMatchObject({ register: { resume: { id: 4, key: '99' } } });
});

test('failures lengthen the wait, and success ends that', () => {
  const stand = new Stand();
  stand.link.connect();
  for (const wantMs of [400, 800, 1_600]) {
    stand.wire.onclose?.();
    stand.explained?.('The server cannot be reached.', 0);
    expect(stand.phase).toMatchObject({ untilMs: stand.nowMs + wantMs, why: 'The server cannot be reached.' });
    stand.pass(wantMs);
  }
  stand.play();
  stand.wire.onclose?.();
  expect(stand.phase).toMatchObject({ untilMs: stand.nowMs + 400 });
});

test('a server that wants to be left alone is left alone, and says why', () => {
  const stand = new Stand();
  stand.link.connect();
  stand.wire.onclose?.();
  expect(stand.phase?.name).toBe('connecting');
  stand.explained?.('Too many requests.', 5_000);
  expect(stand.phase).toEqual({ name: 'waiting', untilMs: 5_000, why: 'Too many requests.' });
  const late = stand.explained;
  stand.link.hurry();
  late?.('Of the socket before.', 9_000);
  expect(stand.phase?.name).toBe('connecting');
});

test('a mover that is gone is made anew', () => {
  const stand = new Stand();
  stand.memory = { id: 1, key: '1' };
  stand.link.connect();
  stand.wire.hear({ welcome: {} });
  stand.wire.hear({ refused: { code: 'unknown' } });
  expect(stand.wire.sent.at(-1)).not.toHaveProperty('register.resume');
  expect([stand.memory, stand.wire.isClosed]).toEqual([null, false]);
  stand.wire.hear({ refused: { code: 'full', reason: 'The world is full.' } });
  expect(stand.phase).toEqual({ name: 'refused', why: 'The world is full.', address: '' });
});

test.each([
  ['draining', 'waiting'],
  ['world_moved', 'waiting'],
  ['busy', 'waiting'],
  ['something_new', 'waiting'],
  ['elsewhere', 'refused'],
  ['replaced', 'refused'],
  ['malformed', 'refused'],
  ['over', 'refused'],
])('an ending by %s leaves it %s', (code, name) => {
  const stand = new Stand().play();
  stand.wire.hear({ error: { code, reason: 'Because.', address: 'http://other' } });
  expect(stand.phase).toMatchObject({ name, why: 'Because.' });
  expect([stand.wire.isClosed, stand.wire.onclose]).toEqual([true, null]);
});

test('a mover that the server lost is not asked for again', () => {
  const stand = new Stand().play();
  stand.wire.hear({ error: { code: 'unknown_mover' } });
  expect([stand.memory, stand.phase?.name]).toEqual([null, 'waiting']);
});

test('an input that is refused is the listener\'s, whatever its number', () => {
  const stand = new Stand().play();
  stand.wire.hear({ refused: { code: 'blocked' } });
  expect([stand.phase?.name, stand.frames.at(-1)]).toEqual(['playing', 'refused']);
});

test('silence where an answer is due ends a connection that looks open', () => {
  const stand = new Stand().play();
  stand.link.expectAnswer();
  stand.wire.hear({ view: {} });
  stand.pass(7_999);
  expect(stand.phase).toMatchObject({ name: 'playing' });
  stand.pass(1);
  expect(stand.phase).toMatchObject({ name: 'waiting', why: 'The server stopped answering.' });
});

test('an answer is enough', () => {
  const stand = new Stand().play();
  stand.link.expectAnswer();
  stand.wire.hear({ moved: { seq: 1 } });
  stand.pass(60_000);
  expect(stand.phase).toMatchObject({ name: 'playing' });
});

test('nonsense is said to be nonsense', () => {
  const stand = new Stand().play();
  stand.wire.onmessage?.({ data: new ArrayBuffer(3) });
  expect(stand.phase).toMatchObject({ name: 'refused', why: expect.stringContaining('Reload the page') });
});

test('whoever asks need not wait, and whoever leaves is gone', () => {
  const stand = new Stand().play();
  stand.wire.onclose?.();
  stand.link.hurry();
  expect([stand.wires.length, stand.waiting]).toEqual([2, 1]);
  stand.play();
  const { wire } = stand;
  stand.link.leave();
  expect([wire.sent.at(-1), wire.isClosed, stand.memory, stand.waiting]).toEqual([{ leave: {} }, true, null, 0]);
});
