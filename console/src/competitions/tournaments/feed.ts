// What happens in a tournament, as it happens: opens the event stream behind the last event that is known, and opens it again after it broke,
// later each time. Streams, timers and chance are handed in, so that tests hold them.
import type { TournamentEvent, TournamentFeed } from '../../api/client.ts';
import { waitMs } from '../../common/backoff.ts';
import type { Refusal } from '../../world/api.ts';

const INTERRUPTED = 'The tournament’s feed is interrupted.';

/** The events that are known: without a gap, oldest first. */
export interface Log {
  readonly events: readonly TournamentEvent[];
  /** The number of the last event that is known of, whether it is kept or not. */
  readonly seq: number;
  readonly isOver: boolean;
}

/** A page keeps the last so many events from the start; older ones are fetched on request. */
export const KEPT_AT_START = 256;

/** Where the log of a page begins that shows what was known at this event. */
export const begin = (seq: number): Log => ({ events: [], seq: Math.max(0, seq - KEPT_AT_START), isOver: false });

/** With what a message brought: nothing twice, nothing out of order. */
export function received(log: Log, feed: TournamentFeed): Log {
  const fresh = feed.events.filter(({ seq }) => seq > log.seq);
  const seq = Math.max(log.seq, feed.seq);
  return { events: fresh.length > 0 ? [...log.events, ...fresh] : log.events, seq, isOver: log.isOver || feed.is_over };
}

/** With a page of events from before those that are kept. */
export function withEarlier(log: Log, feed: TournamentFeed): Log {
  const first = log.events[0]?.seq ?? log.seq + 1;
  return { ...log, events: [...feed.events.filter(({ seq }) => seq < first), ...log.events] };
}

/** After which event to ask for those before the ones that are kept; null when all are. */
export function earlierAfter({ events, seq }: Log): number | null {
  const first = events[0]?.seq ?? seq + 1;
  return first <= 1 ? null : Math.max(0, first - 1 - KEPT_AT_START);
}

/** Games that were decided by their board at their deadline, as far as events are kept. */
export const adjudicated = ({ events }: Log): ReadonlySet<string> =>
  new Set(events.flatMap(({ type, game_id }) => (type === 'game_adjudicated' && game_id ? [game_id] : [])));

/** As much of an `EventSource` as is used. */
export interface Stream {
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  onerror: (() => void) | null;
  onopen: (() => void) | null;
  close(): void;
}

export interface Environment {
  open(after: number): Stream;
  /** Runs this later; what comes back takes it back. */
  later(run: () => void, ms: number): () => void;
  chance(): number;
  /** Says why a stream was not opened: a browser does not. */
  explain(after: number, tell: (refusal: Refusal) => void): void;
}

export interface Listener {
  feed(feed: TournamentFeed): void;
  connected(): void;
  /** The stream broke twice without a word in between, for this reason, and is opened again in a while. */
  broken(why: string): void;
}

export class Feed {
  #stream: Stream | null = null;
  #failures = 0;
  #after: number;
  #cancel: () => void = () => {};
  #isOver = false;

  constructor(
    private readonly environment: Environment,
    private readonly listener: Listener,
    after: number,
  ) {
    this.#after = after;
  }

  start = () => {
    if (this.#stream || this.#isOver) return;
    const stream = this.environment.open(this.#after);
    this.#stream = stream;
    stream.onopen = () => {
      stream.onerror = () => this.#broken(INTERRUPTED, 0);
      this.listener.connected();
    };
    stream.onmessage = ({ data }) => this.#receive(data);
    // The browser would open it again by itself, but at once, and from where it began.
    stream.onerror = () => {
      stream.close();
      this.environment.explain(this.#after, ({ why, waitMs }) => stream === this.#stream && this.#broken(why, waitMs));
    };
  };

  /** Opens it anew at once: the stream may be dead. */
  renew() {
    this.#drop();
    this.#cancel();
    this.start();
  }

  stop() {
    this.#isOver = true;
    this.#cancel();
    this.#drop();
  }

  #receive(data: unknown) {
    const feed = readFeed(data);
    if (!feed) return;
    this.#failures = 0;
    this.#after = feed.seq;
    if (feed.is_over) this.stop();
    this.listener.feed(feed);
  }

  #broken(why: string, atLeastMs: number) {
    this.#drop();
    this.#failures += 1;
    // Proxies end streams now and then: one that is back at once is not worth a word.
    if (this.#failures > 1) this.listener.broken(why);
    this.#cancel = this.environment.later(this.start, Math.max(atLeastMs, waitMs(this.#failures, this.environment.chance())));
  }

  #drop() {
    const stream = this.#stream;
    this.#stream = null;
    if (!stream) return;
    stream.onopen = stream.onmessage = stream.onerror = null;
    stream.close();
  }
}

function readFeed(data: unknown): TournamentFeed | null {
  try {
    const feed = JSON.parse(String(data)) as Partial<TournamentFeed> | null;
    return typeof feed?.seq === 'number' && Array.isArray(feed.events) ? (feed as TournamentFeed) : null;
  } catch {
    return null;
  }
}
