// The link against a socket, a clock and a chance that the test holds in its hands.
import { expect, test } from 'vitest';
import type { Refusal } from '../../src/world/api.ts';
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
  explained: ((refusal: Refusal) => void) | null = null;
  #timers: { atMs: number; then: () => void }[] = [];

  readonly link = new Link(
    {
      open: () => this.wires[this.wires.push(new Wire()) - 1] as Wire,
      nowMs: () => this.nowMs,
      wallMs: () => this.nowMs,
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
    { view: { radius_x: 13, radius_y: 13, per_s: 5 }, look: '😁', at: { x: 2, y: 3 } },
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
  expect([stand.memory, stand.frames]).toEqual([{ id: 4, key: '99' }, ['registered']]);
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
    stand.explained?.({ why: 'The server cannot be reached.', waitMs: 0, isLasting: false });
    expect(stand.phase).toMatchObject({ untilMs: stand.nowMs + wantMs, why: 'The server cannot be reached.' });
    stand.pass(wantMs);
  }
  stand.play();
  stand.wire.onclose?.();
  expect(stand.phase).toMatchObject({ untilMs: stand.nowMs + 400 });
});

test('a server that wants to be left alone is left alone, and says why; one that never will is not asked again', () => {
  const stand = new Stand();
  stand.link.connect();
  stand.wire.onclose?.();
  expect(stand.phase?.name).toBe('connecting');
  stand.explained?.({ why: 'Too many requests.', waitMs: 5_000, isLasting: false });
  expect(stand.phase).toEqual({ name: 'waiting', untilMs: 5_000, why: 'Too many requests.' });
  const late = stand.explained;
  stand.link.hurry();
  late?.({ why: 'Of the socket before.', waitMs: 9_000, isLasting: false });
  expect(stand.phase?.name).toBe('connecting');
  stand.wire.onclose?.();
  stand.explained?.({ why: 'No world is called so.', waitMs: 0, isLasting: true });
  expect(stand.phase).toEqual({ name: 'refused', code: 'not_opened', why: 'No world is called so.', address: '' });
});

test('a mover that is gone is made anew', () => {
  const stand = new Stand();
  stand.memory = { id: 1, key: '1' };
  stand.link.connect();
  stand.wire.hear({ welcome: {} });
  stand.wire.hear({ refused: { code: 'unknown' } });
  expect(stand.wire.sent.at(-1)).not.toHaveProperty('register.resume');
  expect([stand.memory, stand.wire.isClosed]).toEqual([null, false]);
  stand.wire.hear({ refused: { code: 'not_joined', reason: 'nobody may' } });
  expect(stand.phase).toEqual({ name: 'refused', code: 'not_joined', why: 'Nobody may.', address: '' });
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
  stand.pass(14_999);
  expect(stand.phase).toMatchObject({ name: 'playing' });
});

test('a connection that says nothing is asked whether it lives, and a quiet world is no dead one', () => {
  const stand = new Stand().play();
  const asked = () => stand.wire.sent.filter((frame) => Object.hasOwn(frame as object, 'watch')).length;
  for (const wait of [14_999, 14_999]) {
    stand.pass(wait);
    stand.wire.hear({ view: {} });
  }
  expect(asked()).toBe(0);
  stand.pass(15_000);
  stand.wire.hear({ watched: {} });
  stand.pass(15_000);
  expect([asked(), stand.phase?.name]).toEqual([2, 'playing']);
  stand.pass(8_000);
  expect(stand.phase).toMatchObject({ name: 'waiting', why: 'The server stopped answering.' });
});

test('nonsense is said to be nonsense', () => {
  const stand = new Stand().play();
  stand.wire.onmessage?.({ data: new ArrayBuffer(3) });
  expect(stand.phase).toMatchObject({ name: 'refused', why: expect.stringContaining('Reload the page') });
});

test('whoever asks need not wait', () => {
  const stand = new Stand().play();
  stand.wire.onclose?.();
  stand.link.hurry();
  expect([stand.wires.length, stand.waiting]).toEqual([2, 1]);
});

test('a world that is full for the moment is asked again, for the same mover', () => {
  const stand = new Stand();
  stand.memory = { id: 1, key: '1' };
  stand.link.connect();
  stand.wire.hear({ welcome: {} });
  stand.wire.hear({ refused: { code: 'world_full', reason: 'the world is full: come back later' } });
  expect(stand.phase).toMatchObject({ name: 'waiting', why: 'The world is full: come back later.' });
  expect(stand.memory).toEqual({ id: 1, key: '1' });
});

test('what is wanted to be seen is asked for at once, and after a loss as well', () => {
  const view = { radius_x: 20, radius_y: 9, per_s: 5 };
  const stand = new Stand().play();
  stand.link.watch(view);
  expect(stand.wire.sent.at(-1)).toEqual({ watch: { view } });
  stand.wire.hear({ watched: { view } });
  stand.pass(8_000);
  expect(stand.phase?.name).toBe('playing');
  stand.wire.onclose?.();
  stand.link.watch({ ...view, radius_x: 21 });
  stand.play();
  expect(stand.wire.sent.at(-1)).toMatchObject({ register: { view: { radius_x: 21 } } });
});

test('looking again finds out a connection that died in silence', () => {
  const stand = new Stand().play();
  stand.link.watch({ radius_x: 13, radius_y: 13, per_s: 5 });
  stand.pass(8_000);
  expect(stand.phase).toMatchObject({ name: 'waiting', why: 'The server stopped answering.' });
});
