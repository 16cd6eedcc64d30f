// Which page a URL shows. Pure: the browser's history is handed in by navigation.svelte.ts.

export type Route =
  | { readonly page: 'world'; readonly key: string }
  | { readonly page: 'match'; readonly key: string; readonly id: string }
  | { readonly page: 'missing'; readonly key: string };

/** Ids as the server writes them, of the 36 characters of a UUID. */
const MATCH = /^\/games\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

export function routeOf(path: string): Route {
  if (path === '/world') return { page: 'world', key: 'world' };
  const id = MATCH.exec(path)?.[1]?.toLowerCase();
  if (id) return { page: 'match', key: `match ${id}`, id };
  return { page: 'missing', key: `missing ${path}` };
}

/** Whether the console goes from one page to the other by itself. A world holds a socket and a player: the browser ends both when it
 * loads another document. What the console does not know (the API, figures) is the browser's too. */
export function isWithin(from: Route, to: Route): boolean {
  return from.page !== 'world' && to.page === 'match';
}
