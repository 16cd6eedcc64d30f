// The feed of a table over a socket: opened after what is known, and opened again after it broke, later each time. The server sends what
// was missed, or the whole view where it no longer has it. Sockets, timers and chance are handed in, so that tests hold them.
import { waitMs } from '../common/backoff.ts';
import { type Message, readMessage } from './protocol.ts';

/** As much of a WebSocket as is used. */
export interface Socket {
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  onclose: ((event: { readonly code: number; readonly reason: string }) => void) | null;
  onopen: (() => void) | null;
  close(): void;
}

export interface Environment {
  /** A socket whose first message is what comes after this; from the start for null. */
  open(after: number | null): Socket;
  /** Runs this later; what comes back takes it back. */
  later(run: () => void, ms: number): () => void;
  chance(): number;
}

export interface Listener {
  message(message: Message): void;
  connected(): void;
  /** The feed broke, and is opened again in a while. */
  broken(): void;
  /** The server no longer takes the viewer's token: the next feed is another viewer's. */
  revoked(): void;
  /** How far the viewer is. */
  cursor(): number | null;
}

/** RFC 6455, section 7.4.1: here, the token was deleted or has expired. */
const POLICY = 1_008;

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
    const socket = this.environment.open(this.listener.cursor());
    this.#socket = socket;
    socket.onopen = () => {
      this.#failures = 0;
      this.listener.connected();
    };
    socket.onmessage = ({ data }) => {
      const message = readMessage(data);
      if (message) this.listener.message(message);
    };
    socket.onclose = (event) => this.#closed(event.code, event.reason);
  };

  /** Opens it anew at once: a device that slept, or changed its network, may hold a socket that is dead. */
  renew() {
    if (this.#isOver) return;
    this.#drop();
    this.start();
  }

  stop() {
    this.#isOver = true;
    this.#cancel();
    this.#drop();
  }

  #drop() {
    const socket = this.#socket;
    this.#socket = null;
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }

  #closed(code: number, reason: string) {
    this.#socket = null;
    if (this.#isOver) return;
    if (code === POLICY && reason.startsWith('token_')) this.listener.revoked();
    this.#failures += 1;
    this.listener.broken();
    this.#cancel = this.environment.later(this.start, waitMs(this.#failures, this.environment.chance()));
  }
}
