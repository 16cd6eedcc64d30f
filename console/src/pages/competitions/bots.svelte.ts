// The bots of the account that is signed in: what it can enter. At most so many are listed; of others it types the id.
import { api, type RegisteredSnake } from '../../api/client.ts';
import { nextCursor } from '../../common/cursor.ts';
import { Resource } from '../../common/resource.svelte.ts';

const LISTED_MAX = 1_000;

export const ownBots = () =>
  new Resource<readonly RegisteredSnake[]>(async () => {
    const all: RegisteredSnake[] = [];
    for (let after: string | null | undefined; ; ) {
      const { data, error, response } = await api.GET('/api/snakes', { params: { query: after ? { after } : {} } });
      if (!data) return { error, response };
      all.push(...data);
      after = nextCursor(response.headers.get('link'));
      if (!after || all.length >= LISTED_MAX) return { data: all, response };
    }
  });
