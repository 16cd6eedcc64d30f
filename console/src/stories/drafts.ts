// What a player has typed and not sent: kept for this tab, so that a reload loses nothing. Only their own words are: never a card.
import { ofTab, type Store } from '../common/storage.ts';

export class Drafts {
  constructor(private readonly store: Store) {}

  read(what: string): string {
    return this.store.getItem(keyOf(what)) ?? '';
  }

  write(what: string, text: string) {
    if (text) this.store.setItem(keyOf(what), text);
    else this.store.removeItem(keyOf(what));
  }
}

const keyOf = (what: string) => `stories.${what}`;

export const drafts = new Drafts(ofTab);
