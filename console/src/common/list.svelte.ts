// A list that a server gives in pages: the first of them, and more on request. The next page is where the `Link` header says.
import { refusalText } from '../api/client.ts';
import { nextCursor } from './cursor.ts';
import { type Answer, Resource } from './resource.svelte.ts';

interface Page<T> {
  readonly rows: readonly T[];
  readonly next: string | null;
}

export class List<T> {
  readonly first: Resource<Page<T>>;
  /** Rows of further pages. */
  further = $state.raw<readonly T[]>([]);
  isFetching = $state(false);
  refusal = $state('');
  #next = $state<string | null | undefined>(undefined);

  rows = $derived.by(() => [...(this.first.value?.rows ?? []), ...this.further]);
  hasMore = $derived.by(() => (this.#next === undefined ? (this.first.value?.next ?? null) : this.#next) !== null);

  readonly #ask: (after: string | undefined) => Promise<Answer<readonly T[]>>;

  /** `ask` gets the cursor after which a page begins. */
  constructor(ask: (after: string | undefined) => Promise<Answer<readonly T[]>>, everyMs = 0) {
    this.#ask = ask;
    this.first = new Resource<Page<T>>(async () => {
      const { data, error, response } = await ask(undefined);
      if (!data) return { error, response };
      return { data: { rows: data, next: nextCursor(response.headers.get('link')) }, response };
    }, everyMs);
  }

  start = () => this.first.start();

  /** Begins from the first page again. */
  refresh = async () => {
    this.further = [];
    this.#next = undefined;
    this.refusal = '';
    await this.first.refresh();
  };

  more = async () => {
    const after = this.#next === undefined ? this.first.value?.next : this.#next;
    if (!after || this.isFetching) return;
    this.isFetching = true;
    this.refusal = '';
    try {
      const { data, error, response } = await this.#ask(after);
      if (!data) return void (this.refusal = refusalText(error, response.status));
      this.further = [...this.further, ...data];
      this.#next = nextCursor(response.headers.get('link'));
    } catch {
      this.refusal = 'The server cannot be reached. Try again.';
    } finally {
      this.isFetching = false;
    }
  };
}
