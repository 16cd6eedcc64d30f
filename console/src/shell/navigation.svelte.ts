// The page's URL as state, over the browser's own History API: links are plain links, and the ones that lead to another page of the
// console change the URL without a load.
import { isWithin, type Route, routeOf } from './routes.ts';

class Navigation {
  url = $state.raw(new URL(location.href));
  route: Route = $derived(routeOf(this.url.pathname));
  /** How many pages were opened from here: what is new takes the focus, the first page does not. */
  opened = $state(0);

  constructor() {
    addEventListener('popstate', () => this.#show());
    document.addEventListener('click', (event) => this.#follow(event));
  }

  /** Puts this into the URL without a new entry in the history; null takes it out. */
  setQuery(name: string, value: string | null) {
    const url = new URL(location.href);
    if (value === null) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
    if (url.href !== location.href) history.replaceState(history.state, '', url);
  }

  #follow(event: MouseEvent) {
    if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
    const to = routeOf(link.pathname);
    if (!isWithin(this.route, to)) return;
    event.preventDefault();
    if (link.href !== location.href) history.pushState(null, '', link.href);
    this.#show();
    scrollTo(0, 0);
  }

  #show() {
    const before = this.route;
    const url = new URL(location.href);
    if (routeOf(url.pathname).key !== before.key) this.opened += 1;
    // Only a document of its own begins or ends a world.
    if (before.page !== 'world' && routeOf(url.pathname).page === 'world') location.reload();
    else this.url = url;
  }
}

export const navigation = new Navigation();
