// The bots of the account that is signed in: all of them, since forms offer them and lists mark them.
import { untrack } from 'svelte';
import { api, type RegisteredSnake } from '../api/client.ts';
import { List } from '../common/list.svelte.ts';

const PAGE = 100;
/** An account may have more; lists of thousands are no choice any more. */
const SHOWN_MAX = 1_000;

const listed = () => new List<RegisteredSnake>((after) => api.GET('/api/snakes', { params: { query: { limit: PAGE, ...(after ? { after } : {}) } } }), ({ id }) => id);

export class OwnBots {
  list = $state.raw(listed());
  rows = $derived(this.list.rows);
  /** Further pages are loaded on request alone. */
  isFull = $derived(this.rows.length >= SHOWN_MAX);

  /** Begins, and returns how to stop: then the bots are forgotten, since another account may be signed in. Further pages follow by themselves. */
  start = () => {
    const list = untrack(() => this.list);
    const stop = list.start();
    const stopFollowing = $effect.root(() => {
      $effect(() => {
        if (list.hasMore && !list.isFetching && !list.refusal && !this.isFull) void list.more();
      });
    });
    return () => {
      stopFollowing();
      stop();
      this.list = listed();
    };
  };
}
