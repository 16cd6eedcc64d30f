// Whom the browser speaks for. The token itself is in a cookie that no script reads.
import { api, refusalText, type SessionView } from '../api/client.ts';
import { Action } from '../common/action.svelte.ts';
import { waitMs } from '../common/backoff.ts';
import { isAtLeast } from './menu.ts';

class Session {
  view = $state.raw<SessionView | null>(null);
  /** Until the first answer nothing is said: a guess that changes would flicker. */
  isKnown = $state(false);
  /** Why it is not known, with the code to quote. */
  refusal = $state('');
  /** The account that is signed in: guests own nothing. */
  account = $derived(this.view !== null && !this.view.is_guest ? this.view.player : null);
  hasAccount = $derived(this.account !== null);
  isOperator = $derived(isAtLeast(this.view?.role ?? null, 'operator'));

  /** Whether this account is meant. */
  is(account: string): boolean {
    return this.account === account;
  }

  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Answers to earlier questions do not count. */
  #round = 0;

  /** Asks again. What cannot be asked stays as it is; until it is known, it is asked for again. */
  async load() {
    clearTimeout(this.#timer);
    const round = ++this.#round;
    try {
      const asked = await api.GET('/api/session');
      // The cookie's token was deleted or has expired: with it every request is refused, without it one may look and take a name.
      const { data, error, response } = asked.response.status === 401 ? await api.DELETE('/api/session') : asked;
      if (round !== this.#round) return;
      if (response.ok) return this.begin(data ?? null);
      this.refusal = refusalText(error, response.status);
    } catch {
      // Without a server there is nothing to be signed in at: the page's own notice says so.
    }
    if (this.isKnown || round !== this.#round) return;
    this.#failures += 1;
    this.#timer = setTimeout(() => void this.load(), waitMs(this.#failures, Math.random()));
  }

  /** From now on the browser has this session, or none. */
  begin(view: SessionView | null) {
    clearTimeout(this.#timer);
    this.#round += 1;
    this.#failures = 0;
    this.refusal = '';
    this.view = view;
    this.isKnown = true;
  }

  readonly leaving = new Action();

  async end() {
    if (await this.leaving.run(() => api.DELETE('/api/session'))) this.begin(null);
  }
}

export const session = new Session();
