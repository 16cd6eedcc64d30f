// A server for pages under test: answers by method and path, which the test sets and changes, holds back or takes away. Played into a page by
// Playwright's routes, so that no port is opened.
import type { Page, Route } from 'playwright-core';
import { serveSite } from './site.ts';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
  /** What `{…}` of the pattern stood for, in order. */
  readonly params: readonly string[];
}

export interface Reply {
  readonly status?: number;
  readonly json?: unknown;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

type Answer = Reply | ((asked: Asked) => Reply | Promise<Reply>);

/** A refusal as the server writes it (RFC 9457). */
export const problem = (status: number, code: string, detail: string): Reply => ({ status, json: { type: `/problems/${code}`, title: code, status, code, detail } });

export class FakeApi {
  /** Every request to the API, in order. */
  readonly asked: Asked[] = [];
  /** No request arrives. */
  isDown = false;
  session: object | null = null;
  #answers: { method: string; pattern: RegExp; answer: Answer }[] = [];

  /** Answers `GET /api/snakes/{id}`; the last one that was set for a path counts. */
  on(what: string, answer: Answer) {
    const [method = '', path = ''] = what.split(' ');
    const pattern = new RegExp(`^${path.replace(/[.+?^$()|[\]\\]/g, '\\$&').replace(/\{\w+\}/g, '([^/]+)')}$`);
    this.#answers.unshift({ method, pattern, answer });
    return this;
  }

  /** From now on answers this as another server does. */
  replay(what: string, other: FakeApi) {
    const [method = '', path = ''] = what.split(' ');
    const found = other.#find(method, path);
    if (found) this.on(what, found.answer);
  }

  async playInto(page: Page) {
    await page.route('**/*', (route) => this.#serve(route));
  }

  async #serve(route: Route) {
    const request = route.request();
    const url = new URL(request.url());
    const method = request.method();
    if (!url.pathname.startsWith('/api/') && !this.#find(method, url.pathname)) return serveSite(route, url);
    if (this.isDown) return route.abort();
    if (url.pathname === '/api/session' && !this.#find(method, url.pathname)) {
      if (method === 'DELETE') this.session = null;
      return this.session ? route.fulfill({ json: this.session }) : route.fulfill({ status: 204 });
    }
    const found = this.#find(method, url.pathname);
    const asked: Asked = { method, path: url.pathname, query: url.searchParams, body: parsed(request.postData()), params: found?.params ?? [] };
    this.asked.push(asked);
    if (!found) return route.fulfill(problem(404, 'no_such_route', 'there is no such route'));
    const { answer } = found;
    const reply = typeof answer === 'function' ? await answer(asked) : answer;
    return route.fulfill({ status: 200, ...reply, headers: { 'content-type': 'application/json', ...reply.headers } });
  }

  #find(method: string, path: string) {
    for (const row of this.#answers) {
      const match = row.method === method ? row.pattern.exec(path) : null;
      if (match) return { answer: row.answer, params: match.slice(1).map(decodeURIComponent) };
    }
    return null;
  }
}

function parsed(text: string | null): unknown {
  if (text === null || text === '') return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
