// What somebody has typed and not sent: kept for this tab, so that a reload loses nothing. Only their own words are: never a card.

/** As much of a storage as is used. */
export interface Store {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

export class Drafts {
  constructor(private readonly store: () => Store) {}

  read(what: string): string {
    try {
      return this.store().getItem(keyOf(what)) ?? '';
    } catch {
      // Browsers may forbid a page to keep anything.
      return '';
    }
  }

  write(what: string, text: string) {
    try {
      if (text) this.store().setItem(keyOf(what), text);
      else this.store().removeItem(keyOf(what));
    } catch {
      // Then it is kept as long as the page is.
    }
  }
}

const keyOf = (what: string) => `stories.${what}`;

export const drafts = new Drafts(() => sessionStorage);
