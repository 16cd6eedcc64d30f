// The search for a game: a ticket that is taken, shared with a party, followed until it ends, and given back. Its id stands in the page's
// URL, so that a reload goes on with it and the link of the page is the invitation.
import { api, refusalText, type TicketView } from '../api/client.ts';
import { waitMs } from '../common/backoff.ts';
import type { Answer } from '../common/resource.svelte.ts';
import { connection } from '../shell/connection.svelte.ts';
import { FIND } from './words.ts';

/** Nothing is searched; a ticket is asked for; it is another player's, who invites one; it is known; it is gone. */
export type Search = 'none' | 'asking' | 'invited' | 'known' | 'gone';

/** While a party gathers nothing tells of it; a search answers by itself when it ends. */
const GATHERING_MS = 1_500;
const WAIT = '20s';
const GONE = new Set([404, 410]);

export class TicketSearch {
  state = $state<Search>('none');
  ticket = $state.raw<TicketView | null>(null);
  refusal = $state('');
  isBusy = $state(false);
  #id: string | null = null;
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #ending = new AbortController();

  /** `named` hears which ticket the URL is to name. */
  constructor(
    /** Makes the browser speak for a player; why it could not. */
    private readonly identify: () => Promise<string>,
    private readonly named: (id: string | null) => void,
  ) {}

  /** Goes on with what the URL names. */
  start = (id: string | null) => {
    if (id) {
      this.state = 'asking';
      this.#follow(id);
    }
    return () => this.#stop();
  };

  begin = (players: number, party: number) =>
    this.#act(async () => {
      this.refusal = await this.identify();
      if (this.refusal) return;
      const answer = await api.POST('/api/hunts/tickets', { body: { players, party_size: party } });
      if (!answer.data) return this.#refused(answer);
      this.#take(answer.data);
    });

  accept = () =>
    this.#act(async () => {
      const id = this.#id;
      if (!id) return;
      this.refusal = await this.identify();
      if (this.refusal) return;
      const answer = await api.POST('/api/hunts/tickets/{id}/join', { params: { path: { id } } });
      if (answer.data) return this.#take(answer.data);
      if (GONE.has(answer.response.status)) return this.#lose(FIND.gone);
      this.#refused(answer);
    });

  cancel = () =>
    this.#act(async () => {
      const id = this.#id;
      if (!id) return;
      const answer = await api.DELETE('/api/hunts/tickets/{id}', { params: { path: { id } } });
      if (answer.data) return this.#end(answer.data);
      if (GONE.has(answer.response.status)) return this.#lose(FIND.lost);
      this.#refused(answer);
    });

  /** Back to the beginning. */
  reset = () => {
    this.#stop();
    [this.state, this.ticket, this.refusal, this.#id] = ['none', null, '', null];
    this.named(null);
  };

  async #act(act: () => Promise<void>) {
    if (this.isBusy) return;
    [this.isBusy, this.refusal] = [true, ''];
    try {
      await act();
    } catch {
      this.refusal = 'The server cannot be reached. Try again.';
    } finally {
      this.isBusy = false;
    }
  }

  #take(ticket: TicketView) {
    [this.state, this.ticket] = ['known', ticket];
    this.named(ticket.id);
    this.#follow(ticket.id);
  }

  #follow(id: string) {
    this.#stop();
    this.#id = id;
    void this.#look(id, this.#ending.signal);
  }

  async #look(id: string, signal: AbortSignal) {
    const wait = this.ticket?.state === 'waiting' ? { wait: WAIT } : {};
    try {
      const answer = await api.GET('/api/hunts/tickets/{id}', { params: { path: { id }, query: wait }, signal });
      if (signal.aborted) return;
      connection.found(this);
      const { status } = answer.response;
      if (answer.data) return this.#received(answer.data, id, signal);
      if (this.ticket === null && (status === 401 || status === 404)) return void (this.state = 'invited');
      if (GONE.has(status)) return this.#lose(FIND.lost);
      if (status < 500 && status !== 429) {
        this.#refused(answer);
        if (this.ticket === null) this.state = 'gone';
        return;
      }
    } catch {
      if (signal.aborted) return;
      connection.lost(this, 'The server cannot be reached.');
    }
    this.#failures += 1;
    this.#again(id, signal, waitMs(this.#failures, Math.random()));
  }

  #received(ticket: TicketView, id: string, signal: AbortSignal) {
    this.#failures = 0;
    [this.state, this.refusal] = ['known', ''];
    if (ticket.state !== 'gathering' && ticket.state !== 'waiting') return this.#end(ticket);
    const isNew = this.ticket?.state !== ticket.state;
    this.ticket = ticket;
    this.#again(id, signal, isNew && ticket.state === 'waiting' ? 0 : ticket.state === 'waiting' ? GATHERING_MS / 10 : GATHERING_MS);
  }

  #again(id: string, signal: AbortSignal, ms: number) {
    this.#timer = setTimeout(() => void this.#look(id, signal), ms);
  }

  #end(ticket: TicketView) {
    this.#stop();
    [this.state, this.ticket] = ['known', ticket];
  }

  #lose(why: string) {
    this.#stop();
    [this.state, this.ticket, this.refusal] = ['gone', null, why];
  }

  #refused({ error, response }: Answer<unknown>) {
    this.refusal = refusalText(error, response.status);
  }

  #stop() {
    clearTimeout(this.#timer);
    this.#ending.abort();
    this.#ending = new AbortController();
    connection.left(this);
  }
}
