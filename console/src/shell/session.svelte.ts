// Whom the browser speaks for. The token itself is in a cookie that no script reads.
import { api, type SessionView } from '../api/client.ts';
import { isAtLeast } from './menu.ts';

class Session {
  view = $state.raw<SessionView | null>(null);
  /** Until the first answer nothing is said: a guess that changes would flicker. */
  isKnown = $state(false);
  /** Whether an account is signed in: guests own nothing. */
  hasAccount = $derived(this.view !== null && !this.view.is_guest);
  isOperator = $derived(isAtLeast(this.view?.role ?? null, 'operator'));

  /** Whether this account is meant. */
  is(account: string): boolean {
    return this.hasAccount && this.view?.player === account;
  }

  /** Asks again. What cannot be asked stays as it is. */
  async load() {
    try {
      const { data, response } = await api.GET('/api/session');
      if (!response.ok) return;
      this.view = data ?? null;
      this.isKnown = true;
    } catch {
      // Without a server there is nobody to be signed in at: the page's own notice says so.
    }
  }

  async end() {
    try {
      const { response } = await api.DELETE('/api/session');
      if (response.ok) this.view = null;
    } catch {
      await this.load();
    }
  }
}

export const session = new Session();
