// The state of the match page: what has arrived, where playback stands, what cannot be shown. Feeds, clocks and drawing are around it.
import { api, type Game, refusalText } from '../../api/client.ts';
import { waitMs } from '../../common/backoff.ts';
import { onWake } from '../../common/wake.ts';
import { browser, Feed } from '../../match/feed.ts';
import type { FeedEvent } from '../../match/frame.ts';
import { advance, AT_START, faster, follow, type Playback, seek, step, toggle, turnOf } from '../../match/playback.ts';
import { Recording } from '../../match/recording.ts';
import { connection } from '../../shell/connection.svelte.ts';

export type Phase = 'loading' | 'missing' | 'refused' | 'waiting' | 'shown';

const LIVE = new Set(['pending', 'running']);
/** Turns that arrive within this time are shown together. */
const GATHER_MS = 40;
const UNREACHABLE = 'The server cannot be reached.';

/** What a board draws: a recording, and where in it the picture stands. */
export interface Shown {
  readonly recording: Recording;
  readonly playback: Playback;
  readonly lastTurn: number;
  readonly turn: number;
  readonly isMoving: boolean;
  /** Goes on by this time. */
  tick(elapsedMs: number): void;
}

export class Viewer implements Shown {
  readonly recording = new Recording();
  game = $state.raw<Game | null>(null);
  isMissing = $state(false);
  /** Why the server does not show the match, and what the feed said went wrong. */
  refusal = $state('');
  failure = $state('');
  lastTurn = $state(-1);
  isOver = $state(false);
  playback = $state.raw<Playback>(AT_START);
  /** A turn that a link named, until it has arrived. */
  wantedTurn = $state<number | null>(null);

  turn = $derived(turnOf(this.playback));
  isMoving = $derived(this.playback.isPlaying || this.playback.isLive);
  phase: Phase = $derived.by(() => {
    if (this.isMissing) return 'missing';
    if (this.lastTurn >= 0 && this.game) return 'shown';
    if (this.refusal) return 'refused';
    return this.game && (this.game.Status === 'pending' || this.isOver) ? 'waiting' : 'loading';
  });

  readonly #feed: Feed;
  #failures = 0;
  #timers = new Set<ReturnType<typeof setTimeout>>();
  #isGathering = false;
  #isStopped = false;
  #stopWaking = () => {};

  constructor(
    private readonly id: string,
    wantedTurn: number | null,
    private readonly isStill: boolean,
    /** The page's URL should name this turn, or none. */
    private readonly pin: (turn: number | null) => void,
  ) {
    this.wantedTurn = wantedTurn;
    this.#feed = new Feed(browser(id, (run, ms) => this.#later(run, ms)), {
      event: (event) => this.#receive(event),
      connected: () => connection.found(this),
      broken: (why) => connection.lost(this, why),
    });
  }

  start = async () => {
    try {
      const { data, error, response } = await api.GET('/api/games/{id}', { params: { path: { id: this.id } } });
      if (this.#isStopped) return;
      connection.found(this);
      if (data) return this.#begin(data.Game);
      if (response.status === 404 || response.status === 400) return void (this.isMissing = true);
      this.refusal = refusalText(error, response.status);
    } catch {
      if (this.#isStopped) return;
      connection.lost(this, UNREACHABLE);
    }
    this.#failures += 1;
    this.#later(() => void this.start(), waitMs(this.#failures, Math.random()));
  };

  stop() {
    this.#isStopped = true;
    this.#timers.forEach(clearTimeout);
    this.#stopWaking();
    this.#feed.stop();
    connection.left(this);
  }

  /** Goes on by this time. What stands still is not drawn again. */
  tick(elapsedMs: number) {
    const next = advance(this.playback, elapsedMs, this.lastTurn, this.isOver);
    const isSame = next.position === this.playback.position && next.isPlaying === this.playback.isPlaying && next.isLive === this.playback.isLive;
    if (!isSame) this.playback = next;
  }

  seek = (turn: number) => this.#stay(seek(this.playback, turn, this.lastTurn));
  step = (turns: number) => this.#stay(step(this.playback, turns, this.lastTurn));
  live = () => this.#go(follow(this.playback));
  faster = (direction: number) => (this.playback = faster(this.playback, direction));
  toggle = () => {
    const next = toggle(this.playback, this.lastTurn, this.isOver);
    if (next.isPlaying) this.#go(next);
    else this.#stay(next);
  };

  set turnsPerS(turnsPerS: number) {
    this.playback = { ...this.playback, turnsPerS };
  }

  #stay(playback: Playback) {
    this.wantedTurn = null;
    this.playback = playback;
    this.pin(turnOf(playback));
  }

  #go(playback: Playback) {
    this.wantedTurn = null;
    this.playback = playback;
    this.pin(null);
  }

  #begin(game: Game) {
    this.refusal = '';
    this.game = game;
    if (this.wantedTurn === null) {
      if (LIVE.has(game.Status)) this.playback = follow(this.playback);
      else if (!this.isStill) this.playback = { ...this.playback, isPlaying: true };
    }
    this.#feed.start();
    this.#stopWaking = onWake(() => this.#feed.renew());
  }

  #receive(event: FeedEvent) {
    if (event.kind === 'frame') this.recording.add(event.frame);
    else if (event.kind === 'error') this.failure = event.message;
    if (event.kind === 'end') return this.#end();
    if (this.#isGathering) return;
    this.#isGathering = true;
    this.#later(this.#show, GATHER_MS);
  }

  #show = () => {
    this.#isGathering = false;
    this.lastTurn = this.recording.lastTurn;
    if (this.wantedTurn === null || (this.wantedTurn > this.lastTurn && !this.isOver)) return;
    this.playback = seek(this.playback, this.wantedTurn, this.lastTurn);
    this.wantedTurn = null;
  };

  #end() {
    this.isOver = true;
    this.#show();
    // A match that was watched live is over now: the page names its result.
    if (this.game && LIVE.has(this.game.Status)) this.game = { ...this.game, Status: 'complete' };
  }

  #later(run: () => void, ms: number): () => void {
    const timer = setTimeout(() => (this.#timers.delete(timer), run()), ms);
    this.#timers.add(timer);
    return () => clearTimeout(timer);
  }
}
