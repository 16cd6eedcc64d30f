// The events of a match: opens the feed, and opens it again after it broke, later each time. The server sends all turns from the start;
// what is known already is left out by the recording. Sockets, timers and chance are handed in, so that tests hold them.
import { waitMs } from '../common/backoff.ts';
import { type Refusal, refusal } from '../world/api.ts';
import { type FeedEvent, readEvent } from './frame.ts';

const INTERRUPTED = 'The match is interrupted.';

/** As much of a WebSocket as is used. */
export interface Socket {
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  onclose: (() => void) | null;
  onopen: (() => void) | null;
  close(): void;
}

export interface Environment {
  open(): Socket;
  /** Runs this later; what comes back takes it back. */
  later(run: () => void, ms: number): () => void;
  chance(): number;
  /** Says why a socket was not opened: a browser does not. */
  explain(tell: (refusal: Refusal) => void): void;
}

export interface Listener {
  event(event: FeedEvent): void;
  connected(): void;
  /** The feed broke, for this reason, and is opened again in a while. */
  broken(why: string): void;
}

/** The feed of this match in a browser. */
export function browser(id: string, later: Environment['later']): Environment {
  const path = `/api/games/${id}/events`;
  return {
    open: () => new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}${path}`) as Socket,
    later,
    chance: Math.random,
    explain: (tell) => void refusal(path).then(tell),
  };
}

export class Feed {
  #socket: Socket | null = null;
  #failures = 0;
  #cancel: () => void = () => {};
  #isOver = false;

  constructor(
    private readonly environment: Environment,
    private readonly listener: Listener,
  ) {}

  start = () => {
    if (this.#socket || this.#isOver) return;
    this.#cancel();
    const socket = this.environment.open();
    this.#socket = socket;
    socket.onopen = () => {
      socket.onclose = () => this.#broken(INTERRUPTED, 0);
      this.listener.connected();
    };
    socket.onmessage = ({ data }) => this.#receive(data);
    socket.onclose = () => this.environment.explain(({ why, waitMs }) => socket === this.#socket && this.#broken(why, waitMs));
  };

  /** Opens it anew at once: the socket may be dead. */
  renew() {
    this.#drop();
    this.start();
  }

  stop() {
    this.#isOver = true;
    this.#cancel();
    this.#drop();
  }

  #receive(data: unknown) {
    const event = typeof data === 'string' ? readEvent(data) : null;
    if (!event) return;
    this.#failures = 0;
    if (event.kind === 'end') this.#isOver = true;
    this.listener.event(event);
  }

  #broken(why: string, atLeastMs: number) {
    this.#drop();
    if (this.#isOver) return;
    this.#failures += 1;
    this.listener.broken(why);
    this.#cancel = this.environment.later(this.start, Math.max(atLeastMs, waitMs(this.#failures, this.environment.chance())));
  }

  #drop() {
    const socket = this.#socket;
    this.#socket = null;
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }
}
