// The page's URL as state, over the browser's own History API: links are plain links, and the ones that lead to another page of the
// console change the URL without a load.
import { isWithin, type Route, routeOf } from './routes.ts';

/** In a frame each page is a document of its own: the server says of each whether it may stand there. */
const IS_FRAMED = window.top !== window;

/** Browsers refuse to change a URL a hundred times in half a minute: what changes faster is written together. */
const WRITE_EVERY_MS = 400;

class Navigation {
  url = $state.raw(new URL(location.href));
  route: Route = $derived(routeOf(this.url.pathname));
  /** How many pages were opened from here: what is new takes the focus, the first page does not. */
  opened = $state(0);

  /** Until then the browser shows an older URL of this page. */
  #writing: ReturnType<typeof setTimeout> | undefined;
  #writtenMs = Number.NEGATIVE_INFINITY;

  constructor() {
    addEventListener('popstate', () => {
      // What was not written yet is of the entry that was left.
      clearTimeout(this.#writing);
      this.#writing = undefined;
      this.#show();
    });
    addEventListener('pagehide', this.#write);
    document.addEventListener('click', (event) => this.#follow(event));
  }

  /** What the URL's query says of this; null without it. */
  query(name: string): string | null {
    return this.url.searchParams.get(name);
  }

  /** Puts this into the URL without a new entry in the history; null takes it out. */
  setQuery(name: string, value: string | null) {
    const url = new URL(this.url);
    if (value === null) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
    if (url.href === this.url.href) return;
    this.url = url;
    this.#writing ??= setTimeout(this.#write, Math.max(0, this.#writtenMs + WRITE_EVERY_MS - performance.now()));
  }

  #write = () => {
    if (this.#writing === undefined) return;
    clearTimeout(this.#writing);
    this.#writing = undefined;
    this.#writtenMs = performance.now();
    history.replaceState(history.state, '', this.url);
  };

  /** What stands after `#`, out of the URL and of the history: a secret there is to be read once, and by no person who looks over a shoulder. */
  takeFragment(): string {
    const fragment = this.url.hash.slice(1);
    if (fragment === '') return '';
    this.#write();
    const url = new URL(location.href);
    url.hash = '';
    history.replaceState(history.state, '', url);
    this.url = url;
    return fragment;
  }

  /** Opens another page of the console, as a link would; `replace` leaves no way back to this one. */
  open(path: string, { replace = false } = {}) {
    this.#write();
    const url = new URL(path, location.href);
    if (IS_FRAMED || !isWithin(this.route, routeOf(url.pathname))) return void location.assign(url);
    if (replace) history.replaceState(null, '', url);
    else if (url.href !== location.href) history.pushState(null, '', url);
    this.#show();
    scrollTo(0, 0);
  }

  #follow(event: MouseEvent) {
    this.#write();
    if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
    if (IS_FRAMED || !isWithin(this.route, routeOf(link.pathname)) || this.#isOnPage(link)) return;
    event.preventDefault();
    this.open(link.href);
  }

  /** A link to a part of the page that is shown: the browser goes there. */
  #isOnPage({ hash, pathname, search }: HTMLAnchorElement): boolean {
    return hash !== '' && pathname === location.pathname && search === location.search;
  }

  #show() {
    const before = this.route;
    const url = new URL(location.href);
    const route = routeOf(url.pathname);
    if (route.key !== before.key) this.opened += 1;
    // Only a document of its own begins or ends a world.
    if (before.page !== 'world' && route.page === 'world') location.reload();
    else this.url = url;
  }
}

export const navigation = new Navigation();
