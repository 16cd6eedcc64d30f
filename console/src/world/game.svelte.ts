// The one place where everything meets: frames change what is known, keys become steps, and each picture is drawn from
// both. Decides nothing itself: the modules beside it do.
import { heldStep } from './input.ts';
import { type Cell, keyOf, type Step, stepped } from './grid.ts';
import { Link, type Phase, type Surroundings } from './link.ts';
import { approach, follow, headFor, period, place, type Track } from './motion.ts';
import { allowed, AT_REST, isTime, type Pace, stepTaken, tooFast } from './pace.ts';
import { type Pop, popped } from './pops.ts';
import { helped, leftMs, type Power, reach } from './powers.ts';
import { ITEM_EMOJI, type ServerFrame, type ViewOptions } from './protocol.ts';
import { act, answered, begin, hunted, isHunt, itemsWithin, type Mover, moved, ownCell, resequenced, scored, seen, step, type World } from './state.ts';
import type { Stroll } from './stroll.svelte.ts';
import { Walk } from './walk.ts';
import { WALK_ENDS, walkingTo, TREE_THERE } from './words.ts';
import { lookOf } from '../common/words.ts';

const VIEWS_PER_S = 5;
const CAMERA_HALF_LIFE_MS = 60;

export class Game {
  phase = $state.raw<Phase>({ name: 'connecting', isAgain: false });
  world = $state.raw<World | null>(null);
  powers = $state.raw<readonly Power[]>([]);
  /** Of the player; empty for a player who has none. */
  name = $state.raw('');
  /** From a step to its answer, lately. */
  ownMoveMs = $state.raw<number | null>(null);
  /** The mean time between two views, lately. */
  periodMs = $state.raw(1_000 / VIEWS_PER_S);

  /** Chosen by the player; empty for a player who takes the one that goes with the name. */
  chosenLook = $state('');
  /** Steps that were taken: a player who has walked knows how. */
  steps = $state(0);
  /** The walk that goes on by itself. */
  walk = $state.raw<Walk | null>(null);
  /** What became of the last walk, in words. */
  walkNews = $state('');
  /** The cell that a keyboard chooses, while one does. */
  cursor = $state.raw<Cell | null>(null);

  readonly held = new Set<string>();
  /** A key that went down: it takes a step, also when it was let go before the world allows the next one. */
  #tapped: Step = 'stay';

  tracks: ReadonlyMap<number, Track> = new Map();
  looks: ReadonlyMap<number, Mover> = new Map();
  /** What was won just now. */
  pops: readonly Pop[] = [];
  camera: Cell = { x: 0, y: 0 };

  #view: ViewOptions = { radius_x: 13, radius_y: 13, per_s: VIEWS_PER_S };
  #own: Track | undefined;
  #pace: Pace = AT_REST;
  #viewedMs = 0;
  #drawnMs = 0;
  /** Steps that are not answered: when they were sent, and the cell that they lead to first. */
  #sent = new Map<number, { readonly ms: number; readonly to: Cell }>();
  #claimed = new Set<number>();
  /** How far this clock is ahead of the server's, and how long news take: the least that was seen. */
  #aheadMs = Number.POSITIVE_INFINITY;
  readonly #link: Link;

  /** A newcomer begins at this cell, or anywhere. */
  constructor(
    private readonly around: Surroundings,
    at: Cell | null,
    readonly stroll: Stroll,
  ) {
    const listener = { phase: (phase: Phase) => this.#enter(phase), frame: (frame: ServerFrame) => this.#heed(frame) };
    this.#link = new Link(around, listener, { view: this.#view, look: this.look, ...(at ? { at } : {}) });
  }

  /** A player of this name plays. */
  start = (name: string) => {
    this.name = name;
    this.#link.look = this.look;
    this.#link.connect();
  };
  /** Comes in anew where one stands: with another name, or looking otherwise. */
  renew = (name: string) => {
    this.name = name;
    this.#link.look = this.look;
    this.#link.renew(this.world && ownCell(this.world));
  };
  hurry = () => this.#link.hurry();
  interrupt = (why: string) => this.#link.interrupt(why);

  get look(): string {
    return this.chosenLook || lookOf(this.name);
  }

  /** The stage shows so much now. */
  fit(radius: Cell) {
    if (radius.x === this.#view.radius_x && radius.y === this.#view.radius_y) return;
    this.#view = { ...this.#view, radius_x: radius.x, radius_y: radius.y };
    this.#link.watch(this.#view);
  }

  /** Looks again: a connection that died while the player looked away is found out. */
  wake = () => this.#link.watch(this.#view);

  /** The time by the server's clock. */
  serverMs = (): number => this.around.wallMs() - (Number.isFinite(this.#aheadMs) ? this.#aheadMs : 0);

  /** A key went down: the first step does not wait for the next picture. */
  press(key: string) {
    this.stop();
    this.held.add(key);
    this.#tapped = heldStep(this.held);
    this.#step(this.around.nowMs());
  }

  release(key: string) {
    this.held.delete(key);
  }

  /** Walks to this cell, however far it is; to the own one: stays. */
  goTo(target: Cell) {
    if (!this.world) return;
    if (this.walk && keyOf(this.walk.target) === keyOf(target)) return;
    this.stop();
    if (this.world.trees.has(keyOf(target))) return void (this.walkNews = TREE_THERE);
    if (keyOf(ownCell(this.world)) === keyOf(target)) return;
    this.#tapped = 'stay';
    this.walk = new Walk(target);
    this.walkNews = walkingTo(target);
    this.#step(this.around.nowMs());
  }

  /** Ends the walk that goes on by itself. */
  stop() {
    this.walk = null;
    this.walkNews = '';
  }

  /** The player holds nothing any more. */
  rest = () => {
    this.held.clear();
    this.#tapped = 'stay';
  };

  /** Goes on to this moment, and says where the own mover is drawn. */
  advance(nowMs: number): { own: Cell; ownLook: string } | null {
    if (!this.world) return null;
    this.#step(nowMs);
    const stepMs = Math.max(90, this.#pace.everyMs);
    this.#own = headFor(this.#own, ownCell(this.world), nowMs, stepMs);
    const own = place(this.#own, nowMs, stepMs);
    this.camera = approach(this.camera, own, nowMs - this.#drawnMs, CAMERA_HALF_LIFE_MS);
    this.#drawnMs = nowMs;
    return { own, ownLook: this.look };
  }

  #enter(phase: Phase) {
    this.phase = phase;
    if (phase.name !== 'playing') this.#sent.clear();
  }

  #heed(frame: ServerFrame) {
    if (frame.kind === 'registered') return this.#arrive(frame);
    const world = this.world;
    if (!world) return;
    switch (frame.kind) {
      case 'view':
        this.#look(seen(world, frame.view));
        if (frame.view.oldestMs > 0) this.#aheadMs = Math.min(this.#aheadMs, this.around.wallMs() - frame.view.oldestMs);
        this.#stroll();
        return this.#claimNear();
      case 'moved':
        this.#time(frame.seq);
        this.world = moved(world, frame.seq, frame.cell);
        this.#stroll();
        return this.#claimNear();
      case 'dug':
        this.world = scored(answered(world, frame.seq), frame.score);
        return this.#pop(`+${frame.points}`);
      case 'grabbed':
        this.world = answered(world, frame.seq);
        this.powers = helped(this.powers, frame.item, frame.untilMs, this.serverMs());
        return this.#pop(ITEM_EMOJI[frame.item] ?? '✨');
      case 'refused':
        return this.#refused(world, frame);
      case 'round':
        this.world = hunted(world, frame.round);
        return;
      default:
        return;
    }
  }

  #arrive(frame: Extract<ServerFrame, { kind: 'registered' }>) {
    this.world = begin({ ...frame, id: frame.resume.id });
    this.#pace = allowed(frame.moveMinMs);
    this.#claimed.clear();
    if (!frame.isResumed) {
      [this.#own, this.tracks, this.looks, this.powers] = [undefined, new Map(), new Map(), []];
      this.camera = frame.cell;
      this.stop();
      this.cursor = null;
      this.stroll.arrive();
    }
  }

  #look(world: World) {
    const nowMs = this.around.nowMs();
    this.periodMs = period(this.periodMs, nowMs - this.#viewedMs);
    this.#viewedMs = nowMs;
    this.world = world;
    const others = [...world.movers.values()];
    this.tracks = follow(this.tracks, others, nowMs, this.periodMs);
    // A mover that fades still needs a face.
    const faces = [...this.looks].filter(([id]) => this.tracks.has(id));
    this.looks = new Map([...faces, ...others.map((mover) => [mover.id, mover] as const)]);
  }

  #step(nowMs: number) {
    if (this.phase.name !== 'playing' || !this.world || !isTime(this.#pace, nowMs)) return;
    const cells = leftMs(this.powers, 'double_step', this.serverMs()) > 0 ? 2 : 1;
    const held = heldStep(this.held);
    const way = this.walk ? this.#onward(this.walk, this.world, cells) : held === 'stay' ? this.#tapped : held;
    this.#tapped = 'stay';
    if (way === 'stay') return;
    const taken = step(this.world, way, cells);
    if (!taken) return;
    this.#pace = stepTaken(this.#pace, nowMs);
    this.steps += 1;
    this.#sent.set(taken.seq, { ms: nowMs, to: stepped(ownCell(this.world), way) });
    this.world = taken.world;
    this.#link.send({ move: { seq: taken.seq, step: way } });
    this.#link.expectAnswer();
  }

  /** The next step of a walk; none where it is over, or waits. */
  #onward(walk: Walk, world: World, cells: number): Step {
    const next = walk.next(world, cells) ?? 'stay';
    if (typeof next === 'string') return next;
    this.walk = null;
    this.walkNews = WALK_ENDS[next.end];
    return 'stay';
  }

  #refused(world: World, { code, seq, expectedSeq }: Extract<ServerFrame, { kind: 'refused' }>) {
    if (code === 'too_fast') this.#pace = tooFast(this.#pace);
    const sent = this.#sent.get(seq);
    this.#sent.delete(seq);
    if (sent && (code === 'blocked' || code === 'occupied')) this.walk?.refuse(sent.to);
    // What was not heard at all may be said again, with the same number.
    const expected = code === 'busy' ? seq : code === 'out_of_order' ? expectedSeq : null;
    if (expected !== null) this.#claimed.clear();
    this.world = expected === null ? answered(world, seq) : resequenced(world, expected);
  }

  /** What is within reach is taken, once a visit: should it be refused, standing there must not ask again for ever. */
  #claimNear() {
    if (!this.world || this.phase.name !== 'playing') return;
    const near = itemsWithin(this.world, reach(this.powers, this.serverMs()));
    const fresh = near.filter((item) => !this.#claimed.has(keyOf(item.at)));
    this.#claimed = new Set(near.map((item) => keyOf(item.at)));
    for (const item of fresh) this.#claim(item.kind === 'chest' ? 'dig' : 'grab');
  }

  #claim(how: 'dig' | 'grab') {
    if (!this.world) return;
    const { world, seq } = act(this.world);
    this.world = world;
    this.#link.send(how === 'dig' ? { dig: { seq } } : { grab: { seq } });
    this.#link.expectAnswer();
  }

  #pop(text: string, at = this.world?.confirmed) {
    if (at) this.pops = popped(this.pops, text, at, this.around.nowMs());
  }

  #stroll() {
    if (!this.world || isHunt(this.world)) return;
    for (const { text, at } of this.stroll.look(this.world, this.around.wallMs())) this.#pop(text, at);
  }

  #time(seq: number) {
    const sent = this.#sent.get(seq);
    this.#sent.delete(seq);
    if (sent === undefined) return;
    const tookMs = this.around.nowMs() - sent.ms;
    this.ownMoveMs = this.ownMoveMs === null ? tookMs : this.ownMoveMs + (tookMs - this.ownMoveMs) * 0.2;
  }
}
