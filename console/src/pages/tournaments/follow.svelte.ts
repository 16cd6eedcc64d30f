// A tournament as its page follows it: its state, asked for again when the feed says that something happened, and the events themselves.
import { api, type TournamentDetails, type TournamentFeed } from '../../api/client.ts';
import { Resource } from '../../common/resource.svelte.ts';
import { Action } from '../../common/action.svelte.ts';
import { onWake } from '../../common/wake.ts';
import { begin, earlierAfter, Feed, type Log, received, type Stream, withEarlier } from '../../competitions/tournaments/feed.ts';
import { connection } from '../../shell/connection.svelte.ts';
import { type Refusal, refusal } from '../../world/api.ts';

/** What happens within this time is shown together. */
const GATHER_MS = 400;

export class Follower {
  readonly tournament: Resource<TournamentDetails>;
  readonly earlier = new Action();
  log = $state.raw<Log>(begin(0));
  hasEarlier = $derived.by(() => earlierAfter(this.log) !== null);

  #feed: Feed | null = null;
  #timers = new Set<ReturnType<typeof setTimeout>>();
  #isRefreshing = false;
  #isStopped = false;
  #stopWaking = () => {};

  constructor(private readonly id: string) {
    this.tournament = new Resource(async () => {
      const answer = await api.GET('/api/tournaments/{id}', { params: { path: { id } } });
      // What happened since the server answered is not in it.
      this.#later(() => this.#refreshSoon(), 0);
      return answer;
    });
  }

  start = () => {
    const stop = this.tournament.start();
    return () => {
      this.#isStopped = true;
      stop();
      this.#stopWaking();
      this.#feed?.stop();
      this.#timers.forEach(clearTimeout);
      connection.left(this);
    };
  };

  /** Opens the feed, once it is known where: called with the first state that has arrived. */
  follow(seq: number) {
    if (this.#feed) return;
    this.log = begin(seq);
    const path = `/api/tournaments/${this.id}/feed`;
    const environment = {
      open: (after: number) => new EventSource(`${path}?after=${after}`) as Stream,
      later: (run: () => void, ms: number) => this.#later(run, ms),
      chance: Math.random,
      // A client that waits for what happens next is refused as a stream is.
      explain: (after: number, tell: (refusal: Refusal) => void) => void refusal(`${path}?after=${after}&wait=1ms`).then(tell),
    };
    const listener = {
      feed: (feed: TournamentFeed) => this.#receive(feed),
      connected: () => connection.found(this),
      broken: (why: string) => connection.lost(this, why),
    };
    this.#feed = new Feed(environment, listener, this.log.seq);
    this.#feed.start();
    this.#stopWaking = onWake(() => this.#feed?.renew());
  }

  showEarlier = async () => {
    const after = earlierAfter(this.log);
    if (after === null) return;
    const answer = await this.earlier.run(() => api.GET('/api/tournaments/{id}/feed', { params: { path: { id: this.id }, query: { after } } }));
    if (answer?.data) this.log = withEarlier(this.log, answer.data);
  };

  #receive(feed: TournamentFeed) {
    this.log = received(this.log, feed);
    this.#refreshSoon();
  }

  /** The state may be megabytes: one request at a time, none for what is shown already, and none before its time while the server has none to give. */
  #refreshSoon() {
    const { value, standing, isRetrying } = this.tournament;
    if (this.#isStopped || this.#isRefreshing || isRetrying || standing !== 'ready' || this.log.seq <= (value?.seq ?? 0)) return;
    this.#isRefreshing = true;
    this.#later(() => void this.tournament.refresh().then(() => (this.#isRefreshing = false)), GATHER_MS);
  }

  #later(run: () => void, ms: number): () => void {
    const timer = setTimeout(() => (this.#timers.delete(timer), run()), ms);
    this.#timers.add(timer);
    return () => clearTimeout(timer);
  }
}
