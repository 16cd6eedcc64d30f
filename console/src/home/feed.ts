// The summary's feed: opens it, and opens it again when it breaks or falls silent, later each time. Streams, timers and chance are handed in,
// so that tests hold them.
import type { Summary } from '../api/client.ts';
import { waitMs } from '../common/backoff.ts';
import { readSummary, SILENT_AFTER_MS } from './summary.ts';

/** As much of an EventSource as is used. */
export interface Source {
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  onerror: (() => void) | null;
  close(): void;
}

export interface Environment {
  open(): Source;
  /** Runs this later; what comes back takes it back. */
  later(run: () => void, ms: number): () => void;
  chance(): number;
}

export interface Listener {
  summary(summary: Summary): void;
  /** It broke, and is opened again in a while. */
  broken(): void;
}

export class SummaryFeed {
  #source: Source | null = null;
  #failures = 0;
  #cancel: () => void = () => {};

  constructor(
    private readonly environment: Environment,
    private readonly listener: Listener,
  ) {}

  start = () => {
    if (this.#source) return;
    this.#cancel();
    const source = this.environment.open();
    this.#source = source;
    source.onmessage = ({ data }) => this.#receive(data);
    // A browser would connect again by itself after some errors, all pages at once: this does after all of them, and each in its own time.
    source.onerror = this.#broken;
    this.#cancel = this.environment.later(this.#broken, SILENT_AFTER_MS);
  };

  stop() {
    this.#cancel();
    this.#source?.close();
    this.#source = null;
  }

  #receive(data: unknown) {
    const summary = readSummary(data);
    if (!summary) return;
    this.#failures = 0;
    this.#cancel();
    this.#cancel = this.environment.later(this.#broken, SILENT_AFTER_MS);
    this.listener.summary(summary);
  }

  #broken = () => {
    this.stop();
    this.#failures += 1;
    this.listener.broken();
    this.#cancel = this.environment.later(this.start, waitMs(this.#failures, this.environment.chance()));
  };
}
