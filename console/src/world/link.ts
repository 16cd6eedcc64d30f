// The connection that comes back by itself: opens, introduces itself, takes its mover up again, and after a loss waits a
// little longer each time. Decides which endings are worth another try. The socket, the clock and chance are handed in;
// refuses to know what the frames mean to the world.
import type { Refusal } from './api.ts';
import { waitMs } from '../common/backoff.ts';
import type { Cell } from './grid.ts';
import { type ClientFrame, Malformed, readFrame, type Resume, type ServerFrame, VERSION, type ViewOptions, write } from './protocol.ts';
import { sentence } from '../common/words.ts';

export type Phase =
  | { readonly name: 'connecting'; readonly isAgain: boolean }
  | { readonly name: 'playing' }
  | { readonly name: 'waiting'; readonly untilMs: number; readonly why: string }
  | { readonly name: 'refused'; readonly code: string; readonly why: string; readonly address: string };

/** As much of a WebSocket as is used. */
export interface Socket {
  onopen: (() => void) | null;
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  onclose: (() => void) | null;
  send(text: string): void;
  close(): void;
}

export interface Surroundings {
  open(): Socket;
  nowMs(): number;
  /** Of the calendar: milliseconds since 1970. */
  wallMs(): number;
  chance(): number;
  /** Says why a connection did not come about. */
  explain(tell: (refusal: Refusal) => void): void;
  /** Calls back once; the returned function calls it off. */
  after(delayMs: number, then: () => void): () => void;
  /** The mover that may be taken up again, kept for as long as the window is open. */
  recall(): Resume | null;
  remember(resume: Resume | null): void;
}

export interface Listener {
  phase(phase: Phase): void;
  frame(frame: ServerFrame): void;
}

/** Time for a connection to come about, and for an answer to anything. */
const ANSWER_MAX_MS = 8_000;
/** A visitor who only looks on asks nothing, and where nothing happens nothing is told: after so long a silence the server is asked. */
const SILENCE_MAX_MS = 15_000;

/** Endings that another try would only repeat. */
const FINAL = new Set([
  'elsewhere',
  'malformed',
  'no_such_world',
  'out_of_turn',
  'over',
  'oversized',
  'replaced',
  'role_too_weak',
  'token_expired',
  'token_unknown',
  'version',
]);
/** Registrations that are worth another try: the next one may succeed. */
const PASSING = new Set(['busy', 'world_full']);
/** Endings after which the mover is not ours to take up: asked for again, two windows would take it from each other for ever. */
const NOT_OURS = new Set(['replaced', 'unknown_mover']);

export class Link {
  #socket: Socket | null = null;
  #callOff: () => void = () => {};
  #callOffQuestion: () => void = () => {};
  #failures = 0;
  #indicators: readonly string[] = [];
  #isResuming = false;
  #isRegistered = false;

  constructor(
    private readonly around: Surroundings,
    private readonly listener: Listener,
    private readonly wish: { view: ViewOptions; look: string; at?: Cell },
  ) {}

  /** How the mover that is registered next looks. */
  set look(emoji: string) {
    this.wish.look = emoji;
  }

  /** Gives the mover up and comes in again at this cell, as another player or looking otherwise: both are fixed for a mover's life. */
  renew(at: Cell | null) {
    if (this.#isRegistered) this.send({ leave: {} });
    this.around.remember(null);
    if (at) this.wish.at = at;
    this.hurry();
  }

  /** Connects now, whatever went before. */
  connect() {
    this.#drop();
    this.listener.phase({ name: 'connecting', isAgain: this.#failures > 0 });
    const socket = this.around.open();
    this.#socket = socket;
    this.#isRegistered = false;
    this.#expectAnswer('The server does not answer.');
    socket.onopen = () => {
      socket.onclose = () => this.#lost('The connection was lost.');
      this.send({ hello: { version: VERSION, capabilities: ['reasons'] } });
    };
    socket.onmessage = ({ data }) => this.#hear(data);
    socket.onclose = () => this.#notLetIn(socket);
  }

  send(frame: ClientFrame) {
    this.#socket?.send(write(frame));
  }

  /** Wants to see this from now on; the answer to it also shows that the connection lives. */
  watch(view: ViewOptions) {
    this.wish.view = view;
    if (!this.#isRegistered) return;
    this.send({ watch: { view } });
    this.expectAnswer();
  }

  /** Something was sent that is answered: when nothing comes, the connection is dead, however open it looks. */
  expectAnswer() {
    this.#expectAnswer('The server stopped answering.');
  }

  /** The network came back, or the player asks for it. */
  hurry() {
    this.#failures = 0;
    this.connect();
  }

  /** The network went away: browsers notice long before a socket does. */
  interrupt(why: string) {
    this.#lost(why);
  }

  #hear(data: unknown) {
    try {
      if (typeof data !== 'string') throw new Malformed('not a text message');
      this.#heed(readFrame(data, this.#indicators));
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      this.#refuse('malformed', `The server said something that this page does not understand (${error.message}). Reload the page.`);
    }
  }

  #heed(frame: ServerFrame) {
    switch (frame.kind) {
      case 'welcome':
        this.#indicators = frame.indicators;
        this.#register(this.around.recall());
        return;
      case 'registered':
        this.#settle(frame.resume);
        break;
      case 'refused':
        if (!this.#isRegistered) return this.#notRegistered(frame.code, frame.reason);
        break;
      case 'error':
        this.#ended(frame.code, frame.reason, frame.address);
        return;
      default:
        break;
    }
    if (frame.kind !== 'view' && frame.kind !== 'round') this.#callOff();
    this.#callOffQuestion();
    this.#callOffQuestion = this.around.after(SILENCE_MAX_MS, () => this.watch(this.wish.view));
    this.listener.frame(frame);
  }

  #register(resume: Resume | null) {
    this.#isResuming = resume !== null;
    const { view, look, at } = this.wish;
    const indicator = Math.max(0, this.#indicators.indexOf(look));
    this.send({ register: { indicator, view, ...(at ? { at } : {}), ...(resume ? { resume } : {}) } });
  }

  #settle(resume: Resume) {
    this.#isRegistered = true;
    this.#failures = 0;
    this.around.remember(resume);
    this.listener.phase({ name: 'playing' });
  }

  /** A mover that is gone is no reason to give up. */
  #notRegistered(code: string, reason: string) {
    if (PASSING.has(code)) return this.#lost(sentence(reason || code));
    this.around.remember(null);
    if (this.#isResuming) this.#register(null);
    else this.#refuse(code, sentence(reason || code));
  }

  /** A browser does not say what a server answered instead of opening a socket: it is asked again, in plain words. */
  #notLetIn(socket: Socket) {
    this.around.explain(({ why, waitMs, isLasting }) => {
      if (this.#socket !== socket) return;
      if (isLasting) this.#refuse('not_opened', why);
      else this.#lost(why, waitMs);
    });
  }

  #ended(code: string, reason: string, address: string) {
    const why = sentence(reason || code);
    if (NOT_OURS.has(code)) this.around.remember(null);
    if (FINAL.has(code)) this.#refuse(code, why, address);
    else this.#lost(why);
  }

  #lost(why: string, atLeastMs = 0) {
    this.#drop();
    this.#failures += 1;
    const delayMs = Math.max(atLeastMs, waitMs(this.#failures, this.around.chance()));
    this.listener.phase({ name: 'waiting', untilMs: this.around.nowMs() + delayMs, why });
    this.#callOff = this.around.after(delayMs, () => this.connect());
  }

  #refuse(code: string, why: string, address = '') {
    this.#drop();
    this.listener.phase({ name: 'refused', code, why, address });
  }

  #expectAnswer(why: string) {
    this.#callOff();
    this.#callOff = this.around.after(ANSWER_MAX_MS, () => this.#lost(why));
  }

  #drop() {
    this.#callOff();
    this.#callOffQuestion();
    this.#callOff = this.#callOffQuestion = () => {};
    const socket = this.#socket;
    this.#socket = null;
    this.#isRegistered = false;
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }
}
