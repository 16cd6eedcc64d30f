// Whether what the page shows is still fed. Pages report what they notice; the shell says it, in one place and one way.

class Connection {
  isOnline = $state(navigator.onLine);
  /** Why the page's own feed is interrupted; empty while it is not. */
  reason = $state('');
  /** Whether it was lost before, so that finding it again is worth a word. */
  wasLost = $state(false);

  constructor() {
    addEventListener('online', () => (this.isOnline = true));
    addEventListener('offline', () => {
      this.isOnline = false;
      this.wasLost = true;
    });
  }

  isLost = $derived(!this.isOnline || this.reason !== '');

  lost(reason: string) {
    this.reason = reason;
    this.wasLost = true;
  }

  found() {
    this.reason = '';
  }

  /** It was said that the connection is back. */
  settle() {
    this.wasLost = false;
  }
}

export const connection = new Connection();
