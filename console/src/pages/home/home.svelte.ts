// The state of the home page: the newest summary, by a feed while a visitor looks, asked for once where the feed is not to be had.
import { api, type Summary } from '../../api/client.ts';
import { Resource } from '../../common/resource.svelte.ts';
import { SummaryFeed, type Source } from '../../home/feed.ts';
import { isOld } from '../../home/summary.ts';

const CLOCK_MS = 5_000;

export class Home {
  readonly summary = new Resource<Summary>(() => api.GET('/api/summary'));
  #receivedMs = $state(0);
  #nowMs = $state(0);

  /** When the figures came, if that is long ago. */
  oldSince = $derived(this.#receivedMs > 0 && isOld(this.#receivedMs, this.#nowMs) ? new Date(this.#receivedMs).toISOString() : null);
  nowMs = $derived(this.#nowMs);

  readonly #feed = new SummaryFeed(
    {
      open: () => new EventSource('/api/summary/feed') as Source,
      later: (run, ms) => {
        const timer = setTimeout(run, ms);
        return () => clearTimeout(timer);
      },
      chance: Math.random,
    },
    {
      summary: (summary) => {
        this.summary.set(summary);
        this.#received();
      },
      // Why, an EventSource does not say: a plain request does.
      broken: () => void this.#ask(),
    },
  );

  start = () => {
    const stopAsking = this.summary.start();
    const clock = setInterval(() => (this.#nowMs = Date.now()), CLOCK_MS);
    const look = () => {
      this.#nowMs = Date.now();
      if (document.hidden) this.#feed.stop();
      else this.#feed.start();
    };
    document.addEventListener('visibilitychange', look);
    look();
    return () => {
      stopAsking();
      clearInterval(clock);
      document.removeEventListener('visibilitychange', look);
      this.#feed.stop();
    };
  };

  async #ask() {
    const before = this.summary.value;
    await this.summary.refresh();
    if (this.summary.value !== before) this.#received();
  }

  #received() {
    this.#receivedMs = this.#nowMs = Date.now();
  }
}
