// The bots of the account that is signed in: all of them, since forms offer them and lists mark them.
import { api, type RegisteredSnake } from '../api/client.ts';
import { List } from '../common/list.svelte.ts';

const PAGE = 100;
/** An account may have more; lists of thousands are no choice any more. */
const SHOWN_MAX = 1_000;

export class OwnBots {
  readonly list = new List<RegisteredSnake>((after) => api.GET('/api/snakes', { params: { query: { limit: PAGE, ...(after ? { after } : {}) } } }));
  rows = $derived(this.list.rows);

  /** Begins, and returns how to stop. Further pages follow by themselves. */
  start = () => {
    const stop = this.list.start();
    const stopFollowing = $effect.root(() => {
      $effect(() => {
        if (this.list.hasMore && !this.list.isFetching && !this.list.refusal && this.rows.length < SHOWN_MAX) void this.list.more();
      });
    });
    return () => {
      stopFollowing();
      stop();
    };
  };

  refresh = () => this.list.refresh();
}
