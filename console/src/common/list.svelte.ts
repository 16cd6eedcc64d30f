// A list that a server gives in pages: the first of them, and more on request. The next page is where the `Link` header says.
import { refusalText } from '../api/client.ts';
import { nextCursor } from './cursor.ts';
import { once } from './once.ts';
import { type Answer, Resource } from './resource.svelte.ts';

/** A list of many pages is asked for again later: no more than one page in this time. */
const PAGE_EVERY_MS = 1_000;

/** Pages that follow each other, as one. */
interface Page<T> {
  readonly rows: readonly T[];
  readonly next: string | null;
}

export class List<T> {
  /** From the first row to the last one that is shown. */
  readonly first: Resource<Page<T>>;
  isFetching = $state(false);
  refusal = $state('');

  /** A row that moves while pages are read may come twice. */
  rows = $derived.by(() => once(this.first.value?.rows ?? [], this.keyOf));
  hasMore = $derived.by(() => (this.first.value?.next ?? null) !== null);

  readonly #ask: (after: string | undefined) => Promise<Answer<readonly T[]>>;
  #pages = 1;
  /** Readings so far. */
  #begun = 0;
  #ended = 0;

  /** `ask` gets the cursor after which a page begins; `keyOf` tells rows apart. */
  constructor(
    ask: (after: string | undefined) => Promise<Answer<readonly T[]>>,
    readonly keyOf: (row: T) => string | number,
    everyMs = 0,
  ) {
    this.#ask = ask;
    this.first = new Resource<Page<T>>(() => this.#read(), everyMs);
  }

  start = () => this.first.start();

  /** Reads anew what is shown, which stays until the answer is there. */
  refresh = () => this.first.refresh();

  more = async () => {
    const shown = this.first.value;
    if (!shown?.next || this.isFetching) return;
    const ended = this.#ended;
    this.isFetching = true;
    this.refusal = '';
    try {
      const { data, error, response } = await this.#ask(shown.next);
      if (!data) return void (this.refusal = refusalText(error, response.status));
      this.#pages += 1;
      if (this.first.everyMs > 0) this.first.everyMs = Math.max(this.first.everyMs, this.#pages * PAGE_EVERY_MS);
      // What was read anew meanwhile may end elsewhere.
      if (this.#begun !== ended) return await this.first.refresh();
      this.first.set({ rows: [...shown.rows, ...data], next: nextOf(response) });
    } catch {
      this.refusal = 'The server cannot be reached. Try again.';
    } finally {
      this.isFetching = false;
    }
  };

  /** As many pages as are shown, each from where the one before ends: a row that moves from one to another is not lost between them. */
  async #read(): Promise<Answer<Page<T>>> {
    this.#begun += 1;
    try {
      const rows: T[] = [];
      for (let page = 1, after: string | undefined; ; page += 1) {
        const { data, error, response } = await this.#ask(after);
        if (!data) return { error, response };
        rows.push(...data);
        const next = nextOf(response);
        if (next === null || page >= this.#pages) return { data: { rows, next }, response };
        after = next;
      }
    } finally {
      this.#ended += 1;
    }
  }
}

const nextOf = (response: Response) => nextCursor(response.headers.get('link'));
