// The state of the page of a table: the view, kept up by the feed; what the viewer does, one thing at a time; why something did not work.
// Knows no component.
import { api, refusalText } from '../../api/client.ts';
import { IdempotencyKey } from '../../common/action.svelte.ts';
import { type Answer, Resource } from '../../common/resource.svelte.ts';
import { ServerTime } from '../../common/server-time.ts';
import { onWake } from '../../common/wake.ts';
import { connection } from '../../shell/connection.svelte.ts';
import { session } from '../../shell/session.svelte.ts';
import { Feed, type Socket } from '../../stories/feed.ts';
import type { Message, View } from '../../stories/protocol.ts';
import { newest, receive } from '../../stories/state.ts';

type Action = Promise<Answer<View>>;

const UNREACHABLE = 'The server cannot be reached. Nothing is lost: try again.';
const INTERRUPTED = 'The table is interrupted.';

export class TableViewer {
  readonly table: Resource<View>;
  readonly time = new ServerTime();
  /** What could not be done, with the code to quote. */
  refusal = $state('');
  /** Something is being done. */
  isBusy = $state(false);
  /** Games whose end this page has seen: those are shown as they are revealed. */
  witnessed = $state.raw<ReadonlySet<string>>(new Set());

  view: View | null = $derived.by(() => this.table.value);

  readonly #feed: Feed;
  #timers = new Set<ReturnType<typeof setTimeout>>();
  readonly #key = new IdempotencyKey();
  #isStale = false;
  #isAsking = false;
  #isStopped = false;

  /** The viewer's id as a player; null for a visitor without a name. */
  me = $state<string | null>(null);
  /** What is known was another viewer's: the feed is to begin with the whole view. */
  #isNew = false;

  constructor(
    readonly id: string,
    me: string | null,
  ) {
    this.me = me;
    this.table = new Resource<View>(() => this.#ask());
    const environment = { open: (after: number | null) => openSocket(id, after), later: (run: () => void, ms: number) => this.#later(run, ms), chance: Math.random };
    this.#feed = new Feed(environment, {
      message: (message) => this.#receive(message),
      connected: () => this.#connected(),
      broken: () => {
        connection.lost(this, INTERRUPTED);
        void this.#catchUp();
      },
      revoked: () => void session.load(),
      cursor: () => (this.#isNew ? null : (this.view?.seq ?? null)),
    });
  }

  start = () => {
    const stop = this.table.start();
    const stopWaking = onWake(this.#renew);
    return () => {
      this.#isStopped = true;
      stop();
      this.#feed.stop();
      this.#timers.forEach(clearTimeout);
      stopWaking();
      connection.left(this);
    };
  };

  /** The browser speaks for another player now. */
  identify(me: string | null) {
    if (me === this.me) return;
    this.me = me;
    this.#isNew = true;
    this.#renew();
  }

  choose = (card: number) => this.#act((game) => api.POST('/api/stories/games/{game}/card', { ...of(game), body: { card } }));
  tell = (sentence: string) => this.#act((game) => api.POST('/api/stories/games/{game}/sentence', { ...of(game), body: { sentence } }));
  join = () => this.#act((game) => api.POST('/api/stories/games/{game}/join', of(game)));
  leave = () => this.#act((game) => api.POST('/api/stories/games/{game}/leave', of(game)));
  pick = (card: number) => this.#act((game) => api.POST('/api/stories/games/{game}/pick', { ...of(game), body: { card } }));
  vote = (card: number) => this.#act((game) => api.POST('/api/stories/games/{game}/vote', { ...of(game), body: { card } }));
  openVoting = () => this.#act((game) => api.POST('/api/stories/games/{game}/voting', of(game)));
  complete = () => this.#act((game) => api.POST('/api/stories/games/{game}/complete', of(game)));
  invite = (players: string[]) => this.#act((game) => api.POST('/api/stories/games/{game}/invite', { ...of(game), body: { players } }));
  setBots = (are_on: boolean) => this.#act((game) => api.POST('/api/stories/games/{game}/bots', { ...of(game), body: { are_on } }));
  setCountdown = (countdown_ms: number) => this.#act((game) => api.POST('/api/stories/games/{game}/countdown', { ...of(game), body: { countdown_ms } }));
  tellNext = () => this.#act((game) => api.POST('/api/stories/games', { headers: { 'idempotency-key': this.#key.of(game) }, body: { table: this.id } }));
  say = (text: string) => this.#act(() => api.POST('/api/stories/tables/{table}/chat', { params: { path: { table: this.id } }, body: { text } }));

  /** Does it; whether it is done. What the server answers is the view afterwards. */
  async #act(action: (game: string) => Action): Promise<boolean> {
    if (this.isBusy) return false;
    [this.isBusy, this.refusal] = [true, ''];
    try {
      const { data, error, response } = await action(this.view?.game?.id ?? '');
      if (data) {
        this.#take(newest(this.view, data));
        return true;
      }
      this.refusal = refusalText(error, response.status);
      // The game went on meanwhile: what is shown may be old.
      if (response.status === 401) await session.load();
      else if (response.status === 409 || response.status === 403) await this.#catchUp();
    } catch {
      this.refusal = UNREACHABLE;
    } finally {
      this.isBusy = false;
    }
    return false;
  }

  async #ask(): Promise<Answer<View>> {
    const sentMs = Date.now();
    const answer = await api.GET('/api/stories/tables/{table}', { params: { path: { table: this.id } } });
    this.time.answered(answer.response.headers.get('date'), sentMs, Date.now());
    if (!answer.data) return answer;
    // The feed begins where this view ends, once it is shown.
    this.#later(this.#feed.start, 0);
    return { data: newest(this.view, answer.data), response: answer.response };
  }

  #receive(message: Message) {
    const view = this.view;
    if (message.type === 'view') {
      this.#isNew = false;
      return this.#take(message);
    }
    if (!view) return;
    if (message.committed_at_us !== null) this.time.heard(message.committed_at_us / 1_000, Date.now());
    const received = receive(view, message, this.me);
    this.#take(received.view);
    if (!received.isStale) return;
    this.#isStale = true;
    void this.#catchUp();
  }

  #take(view: View) {
    const [before, after] = [this.view?.game, view.game];
    if (after && before?.id === after.id && before.phase === 'vote' && after.phase === 'complete') this.witnessed = new Set([...this.witnessed, after.id]);
    if (before && after && before.id !== after.id) this.refusal = '';
    this.table.set(view);
  }

  /** Asks for the whole view: when events did not tell all of it, and when the feed breaks, for the reason. */
  async #catchUp() {
    this.#isStale = true;
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      while (this.#isStale && !this.#isStopped) {
        this.#isStale = false;
        const { data, response } = await this.#ask();
        if (this.#isStopped) return;
        if (data) this.#take(newest(this.view, data));
        else if (response.status === 404) this.table.standing = 'missing';
        else if (response.status === 401) await session.load();
        else this.#isStale = true;
        if (this.#isStale && !data) return;
      }
    } catch {
      // The feed says that the server is gone, and asks again when it is back.
      this.#isStale = true;
    } finally {
      this.#isAsking = false;
    }
  }

  #connected() {
    connection.found(this);
    if (this.#isStale) void this.#catchUp();
  }

  #renew = () => {
    if (this.view) this.#feed.renew();
  };

  #later(run: () => void, ms: number): () => void {
    const timer = setTimeout(() => (this.#timers.delete(timer), run()), ms);
    this.#timers.add(timer);
    return () => clearTimeout(timer);
  }
}

const of = (game: string) => ({ params: { path: { game } } });

function openSocket(table: string, after: number | null): Socket {
  const query = after === null ? '' : `?after=${after}`;
  return new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/api/stories/tables/${table}/socket${query}`) as Socket;
}
