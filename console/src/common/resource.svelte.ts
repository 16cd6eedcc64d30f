// Something that a server has, as a page shows it: asked for, asked for again when it fails or may have changed, and never shown as
// current when it is not. Pages ask through this instead of counting failures each in its own way.
import { refusalText } from '../api/client.ts';
import { connection } from '../shell/connection.svelte.ts';
import { waitMs } from './backoff.ts';

/** An answer of the generated client. */
export interface Answer<T> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}

export type Standing = 'loading' | 'ready' | 'missing' | 'refused';

const UNREACHABLE = 'The server cannot be reached.';
/** What another attempt may change: too many requests, and what the server could not do just now. */
const isPassing = (status: number) => status === 429 || status >= 500;

export class Resource<T> {
  value = $state.raw<T | null>(null);
  /** Why it is not shown, with the code to quote. */
  refusal = $state('');
  standing = $state<Standing>('loading');

  readonly #ask: () => Promise<Answer<T>>;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;
  /** Answers to earlier questions are not shown. */
  #round = 0;
  #isStopped = true;

  /** With `everyMs` it is asked for again after this time, while the page is looked at: for what no feed tells. */
  constructor(
    ask: () => Promise<Answer<T>>,
    public everyMs = 0,
  ) {
    this.#ask = ask;
  }

  /** Begins, and returns how to stop: made for `onMount`. */
  start = () => {
    this.#isStopped = false;
    document.addEventListener('visibilitychange', this.#look);
    void this.refresh();
    return () => {
      this.#isStopped = true;
      clearTimeout(this.#timer);
      document.removeEventListener('visibilitychange', this.#look);
      connection.left(this);
    };
  };

  /** Asks now. What is shown stays until the answer is there. */
  refresh = async () => {
    clearTimeout(this.#timer);
    const round = ++this.#round;
    const isLate = () => this.#isStopped || round !== this.#round;
    try {
      const { data, error, response } = await this.#ask();
      if (isLate()) return;
      connection.found(this);
      if (response.ok) return this.#receive(data as T);
      const isGone = response.status === 404 || response.status === 410;
      if (!isGone) this.refusal = refusalText(error, response.status);
      if (!isPassing(response.status)) {
        this.#failures = 0;
        return void (this.standing = isGone ? 'missing' : 'refused');
      }
      if (this.value === null) this.standing = 'refused';
    } catch {
      if (isLate()) return;
      connection.lost(this, UNREACHABLE);
    }
    this.#failures += 1;
    this.#again(waitMs(this.#failures, Math.random()));
  };

  /** Shows what is known from elsewhere: a feed, or the answer to an action. */
  set(value: T) {
    this.#round += 1;
    connection.found(this);
    this.#receive(value);
  }

  /** Whether the last attempt failed, and another one follows by itself. */
  get isRetrying(): boolean {
    return this.#failures > 0;
  }

  /** What is shown does not change any more: it is not asked for again by time. */
  rest() {
    this.everyMs = 0;
    clearTimeout(this.#timer);
  }

  #receive(value: T) {
    this.#failures = 0;
    this.value = value;
    this.refusal = '';
    this.standing = 'ready';
    if (this.everyMs > 0) this.#again(this.everyMs);
  }

  #again(ms: number) {
    clearTimeout(this.#timer);
    if (!this.#isStopped && !document.hidden) this.#timer = setTimeout(() => void this.refresh(), ms);
  }

  /** The person looks away: nothing is asked. The person looks again: it may be old. */
  #look = () => {
    if (document.hidden) clearTimeout(this.#timer);
    else if (this.everyMs > 0 || this.standing !== 'ready' || this.isRetrying) void this.refresh();
  };
}
