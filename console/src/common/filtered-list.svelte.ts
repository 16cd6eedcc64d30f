// What of a list a page filters itself, because the server does not: pages are read until enough rows are found, a bounded number before the
// reader is asked again.
import { untrack } from 'svelte';
import type { List } from './list.svelte.ts';

const ROWS = 100;
/** Rows that are looked through without being asked. */
export const LOOKED_AT_MAX = 1_000;

export class FilteredList<T> {
  readonly list: List<T>;
  readonly #holds: (row: T) => boolean;
  #wanted = $state(ROWS);
  #mayLookAt = $state(LOOKED_AT_MAX);

  #found = $derived.by(() => this.list.rows.filter(this.#holds));
  rows = $derived.by(() => this.#found.slice(0, this.#wanted));
  /** How many rows were read. */
  lookedAt = $derived.by(() => this.list.rows.length);
  hasMore = $derived.by(() => this.list.hasMore || this.#found.length > this.#wanted);
  isSearching = $derived.by(() => this.list.hasMore && this.list.refusal === '' && this.#found.length < this.#wanted && this.lookedAt < this.#mayLookAt);

  constructor(list: List<T>, holds: (row: T) => boolean) {
    this.list = list;
    this.#holds = holds;
  }

  /** Reads the next page if there is too little to show: for an effect. */
  read = () => {
    if (this.isSearching && !this.list.isFetching) untrack(() => void this.list.more());
  };

  /** Shows more rows; whatever must be read for that is read. */
  more = () => {
    this.#wanted = this.rows.length + ROWS;
    this.#mayLookAt = this.lookedAt + LOOKED_AT_MAX;
    if (this.list.refusal) void this.list.more();
  };
}
