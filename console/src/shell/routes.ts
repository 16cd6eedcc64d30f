// Which page a URL shows. Pure: the browser's history is handed in by navigation.svelte.ts. The addresses stand in pages.json, which the
// server reads too: it serves the console's document there, and answers 404 elsewhere.
import pages from './pages.json';

export type PageName = keyof typeof pages;

export interface Route {
  readonly page: PageName | 'missing';
  /** The same for two URLs that show one page of one thing: what changes between them is the page's own business. */
  readonly key: string;
  readonly params: Readonly<Record<string, string>>;
}

/** What may stand in the places of an address: `{id}` is a UUID as the server writes it, `{name}` a word. */
const PARAMS: Readonly<Record<string, string>> = {
  id: '[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}',
  name: '[a-z0-9][a-z0-9_.-]{0,63}',
};

const ROUTES = (Object.entries(pages) as [PageName, string][]).map(([page, path]) => {
  const pattern = path.replace(/\{(\w+)\}/g, (_, param: string) => `(?<${param}>${PARAMS[param]})`);
  return { page, pattern: new RegExp(`^${pattern}$`) };
});

export function routeOf(path: string): Route {
  for (const { page, pattern } of ROUTES) {
    const found = pattern.exec(path);
    if (!found) continue;
    const params = Object.fromEntries(Object.entries(found.groups ?? {}).map(([name, value]) => [name, name === 'id' ? value.toLowerCase() : value]));
    return { page, key: [page, ...Object.values(params)].join(' '), params };
  }
  return { page: 'missing', key: `missing ${path}`, params: {} };
}

/** Whether the console goes from one page to the other by itself. A world holds a socket and a player: the browser ends both when it
 * loads another document. What the console does not know (the API, figures) is the browser's too. */
export function isWithin(from: Route, to: Route): boolean {
  return from.page !== 'world' && to.page !== 'world' && to.page !== 'missing';
}
