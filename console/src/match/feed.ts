// The events of a match: opens the feed, and opens it again after it broke, later each time. The server sends all turns from the start;
// what is known already is left out by the recording. Sockets, timers and chance are handed in, so that tests hold them.
import { waitMs } from '../common/backoff.ts';
import { type FeedEvent, readEvent } from './frame.ts';

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
}

export interface Listener {
  event(event: FeedEvent): void;
  connected(): void;
  /** The feed broke, and is opened again in a while. */
  broken(): void;
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
    socket.onopen = () => this.listener.connected();
    socket.onmessage = ({ data }) => this.#receive(data);
    socket.onclose = () => this.#closed();
  };

  stop() {
    this.#isOver = true;
    this.#cancel();
    this.#socket?.close();
    this.#socket = null;
  }

  #receive(data: unknown) {
    const event = typeof data === 'string' ? readEvent(data) : null;
    if (!event) return;
    this.#failures = 0;
    if (event.kind === 'end') this.#isOver = true;
    this.listener.event(event);
  }

  #closed() {
    this.#socket = null;
    if (this.#isOver) return;
    this.#failures += 1;
    this.listener.broken();
    this.#cancel = this.environment.later(this.start, waitMs(this.#failures, this.environment.chance()));
  }
}
