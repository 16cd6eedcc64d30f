// One match, followed live on the home page: what has arrived, and where the picture stands.
import { onWake } from '../../common/wake.ts';
import { browser, Feed } from '../../match/feed.ts';
import type { FeedEvent } from '../../match/frame.ts';
import { advance, AT_START, follow, type Playback, seek, turnOf } from '../../match/playback.ts';
import { Recording } from '../../match/recording.ts';

/** Turns that arrive within this time are shown together. */
const GATHER_MS = 40;

export class LiveBoard {
  readonly recording = new Recording();
  lastTurn = $state(-1);
  isOver = $state(false);
  isBroken = $state(false);
  /** Why it has no result, or cannot be shown. */
  failure = $state('');
  playback = $state.raw<Playback>(AT_START);

  turn = $derived(turnOf(this.playback));
  isMoving = $derived(this.playback.isLive);

  readonly #feed: Feed;
  #timers = new Set<ReturnType<typeof setTimeout>>();
  #isGathering = false;
  #stopWaking = () => {};

  /** Where a picture that stands still is to stand: at the newest turn of when it began. */
  #waitsFor: number;

  /** `turns` are those that were played already; `isStill`: from there on it waits until it is asked to move. */
  constructor(id: string, turns: number, isStill: boolean) {
    this.#waitsFor = isStill ? turns : -1;
    if (!isStill) this.playback = follow(AT_START);
    this.#feed = new Feed(browser(id, (run, ms) => this.#later(run, ms)), {
      event: (event) => this.#receive(event),
      connected: () => (this.isBroken = false),
      broken: () => (this.isBroken = true),
    });
  }

  start = () => {
    this.#feed.start();
    this.#stopWaking = onWake(() => this.#feed.renew());
  };

  stop() {
    this.#stopWaking();
    this.#feed.stop();
    this.#timers.forEach(clearTimeout);
  }

  tick(elapsedMs: number) {
    this.playback = advance(this.playback, elapsedMs, this.lastTurn, this.isOver);
  }

  /** Holds the picture, or goes on with the newest turn. */
  toggle = () => {
    this.#waitsFor = -1;
    this.playback = this.playback.isLive ? seek(this.playback, this.turn, this.lastTurn) : follow(this.playback);
  };

  #receive(event: FeedEvent) {
    if (event.kind === 'frame') this.recording.add(event.frame);
    else if (event.kind === 'error') this.failure = event.message;
    // What cannot be shown does not end by itself.
    if (event.kind !== 'frame') this.isOver = true;
    if (this.#isGathering) return;
    this.#isGathering = true;
    this.#later(this.#show, GATHER_MS);
  }

  #show = () => {
    this.#isGathering = false;
    this.lastTurn = this.recording.lastTurn;
    if (this.turn < this.#waitsFor) this.playback = seek(this.playback, this.#waitsFor, this.lastTurn);
  };

  #later(run: () => void, ms: number): () => void {
    const timer = setTimeout(() => (this.#timers.delete(timer), run()), ms);
    this.#timers.add(timer);
    return () => clearTimeout(timer);
  }
}
