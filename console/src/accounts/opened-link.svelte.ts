// An invitation or a sign-in link that was opened: what it is for, and what it makes of this browser.
import { Action } from '../common/action.svelte.ts';
import { type Answer, Resource } from '../common/resource.svelte.ts';
import { ofTab } from '../common/storage.ts';
import { navigation } from '../shell/navigation.svelte.ts';
import { session } from '../shell/session.svelte.ts';
import type { SessionView } from '../api/client.ts';
import { KeptCode } from './kept-code.ts';

/** Refusals that leave the link as it was. */
const isOfTheLink = (status: number) => status === 410;

/** As long as the document is, and over reloads where the browser lets a tab remember. */
const KEPT = { join: new KeptCode('join', ofTab), 'sign-in': new KeptCode('sign-in', ofTab) };

export class OpenedLink<Offer> {
  code = $state('');
  draft = $state('');
  /** Who is signed in by it now. */
  signedIn = $state.raw<SessionView | null>(null);
  /** A request got no answer: it may have been done, and the same one tells. */
  isUnanswered = $state(false);
  /** One got none before: what it did is not known, even when the link is gone now. */
  wasUnanswered = $state(false);
  readonly offer: Resource<Offer>;
  readonly action = new Action();
  readonly #kept: KeptCode;
  #stop = () => {};

  constructor(kind: 'join' | 'sign-in', inspect: (code: string) => Promise<Answer<Offer>>) {
    this.#kept = KEPT[kind];
    this.offer = new Resource<Offer>(async () => {
      const answer = await inspect(this.code);
      // Nothing is left to redeem, unless a request has done it whose answer is still to be had.
      if (isOfTheLink(answer.response.status) && !this.isUnanswered) this.#kept.forget();
      return answer;
    });
  }

  /** Takes the code out of the URL, or the one of before a reload. For an effect: a second link may be opened in the same tab. */
  open = () => {
    const opened = navigation.takeFragment();
    if (opened !== '') this.#kept.open(opened);
    if (this.#kept.code === '' || this.#kept.code === this.code) return;
    this.code = this.#kept.code;
    this.draft = this.#kept.draft;
    this.isUnanswered = this.wasUnanswered = this.#kept.isUnanswered;
    this.signedIn = null;
    this.action.refusal = '';
    this.#stop();
    this.#stop = this.offer.start();
  };

  stop = () => this.#stop();

  keepDraft() {
    this.#kept.draft = this.draft;
  }

  /** Redeems it; `ask` gets the key that makes a second try the same as the first. */
  async redeem(body: unknown, ask: (key: string) => Promise<Answer<SessionView>>) {
    const key = this.#kept.keyFor(body);
    let status = 0;
    const answer = await this.action.run(async () => {
      const answer = await ask(key);
      status = answer.response.status;
      return answer;
    });
    this.isUnanswered = status === 0 || status >= 500;
    this.wasUnanswered ||= this.isUnanswered;
    if (answer?.data) {
      this.#kept.forget();
      this.signedIn = answer.data;
      return void session.load();
    }
    if (this.isUnanswered) return;
    this.#kept.answered();
    if (isOfTheLink(status)) await this.offer.refresh();
  }
}
