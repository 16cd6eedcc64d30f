// Whether what the page shows is still fed. Parts of pages report what they notice; the shell says it, in one place and one way.

class Connection {
  isOnline = $state(navigator.onLine);
  /** Why something is interrupted, by what is. */
  #reasons = $state.raw<ReadonlyMap<object, string>>(new Map());
  /** Whether it was lost before, so that finding it again is worth a word. */
  wasLost = $state(false);

  constructor() {
    addEventListener('online', () => (this.isOnline = true));
    addEventListener('offline', () => {
      this.isOnline = false;
      this.wasLost = true;
    });
  }

  /** The newest one; empty while nothing is interrupted. */
  reason = $derived([...this.#reasons.values()].at(-1) ?? '');
  isLost = $derived(!this.isOnline || this.reason !== '');

  /** This owner gets nothing more, for this reason. */
  lost(owner: object, reason: string) {
    this.#reasons = new Map(this.#without(owner)).set(owner, reason);
    this.wasLost = true;
  }

  found(owner: object) {
    if (this.#reasons.has(owner)) this.#reasons = this.#without(owner);
  }

  /** No page waits for this owner any more: that it was lost is no news either. */
  left(owner: object) {
    if (!this.#reasons.has(owner)) return;
    this.found(owner);
    if (!this.isLost) this.settle();
  }

  /** It was said that the connection is back. */
  settle() {
    this.wasLost = false;
  }

  #without(owner: object): ReadonlyMap<object, string> {
    return new Map([...this.#reasons].filter(([other]) => other !== owner));
  }
}

export const connection = new Connection();
