// The one place where everything meets: frames change what is known, keys become steps, and each picture is drawn from
// both. Decides nothing itself: the modules beside it do.
import { heldStep } from './input.ts';
import type { Cell, Step } from './grid.ts';
import { Link, type Phase, type Surroundings } from './link.ts';
import { approach, follow, headFor, period, place, type Track } from './motion.ts';
import { allowed, AT_REST, isTime, type Pace, stepTaken, tooFast } from './pace.ts';
import { ITEM_EMOJI, type ServerFrame } from './protocol.ts';
import { act, answered, begin, hunted, itemBelow, type Mover, moved, ownCell, resequenced, scored, seen, step, type World } from './state.ts';

const VIEW = { radius_x: 13, radius_y: 13, per_s: 5 };
const CAMERA_HALF_LIFE_MS = 60;
const OWN_EMOJI = '😁';

export interface Power {
  readonly emoji: string;
  readonly untilMs: number;
}

export class Game {
  phase = $state.raw<Phase>({ name: 'connecting', isAgain: false });
  world = $state.raw<World | null>(null);
  powers = $state.raw<readonly Power[]>([]);
  /** From a step to its answer, lately. */
  ownMoveMs = $state.raw<number | null>(null);
  /** The mean time between two views, lately. */
  periodMs = $state.raw(200);

  /** Whoever has walked knows how. */
  hasWalked = $state(false);

  readonly held = new Set<string>();
  /** Where a finger points, if one does. */
  pointed: Step = 'stay';

  tracks: ReadonlyMap<number, Track> = new Map();
  looks: ReadonlyMap<number, Mover> = new Map();
  camera: Cell = { x: 0, y: 0 };

  #own: Track | undefined;
  #pace: Pace = AT_REST;
  #viewedMs = 0;
  #drawnMs = 0;
  #sentMs = new Map<number, number>();
  #claimed: Cell | null = null;
  readonly #link: Link;

  /** A newcomer begins at this cell, or anywhere. */
  constructor(
    private readonly around: Surroundings,
    at: Cell | null,
  ) {
    const listener = { phase: (phase: Phase) => this.#enter(phase), frame: (frame: ServerFrame) => this.#heed(frame) };
    this.#link = new Link(around, listener, { view: VIEW, ...(at ? { at } : {}) });
  }

  start = () => this.#link.connect();
  hurry = () => this.#link.hurry();
  interrupt = (why: string) => this.#link.interrupt(why);
  leave = () => this.#link.leave();

  /** A key went down: the first step does not wait for the next picture. */
  press(key: string) {
    this.held.add(key);
    this.#walk(this.around.nowMs());
  }

  release(key: string) {
    this.held.delete(key);
  }

  point(step: Step) {
    this.pointed = step;
    this.#walk(this.around.nowMs());
  }

  dig = () => this.#claim('dig');

  /** Goes on to this moment, and says where the own mover is drawn. */
  advance(nowMs: number): { own: Cell; ownLook: string } | null {
    if (!this.world) return null;
    this.#walk(nowMs);
    const stepMs = Math.max(90, this.#pace.everyMs);
    this.#own = headFor(this.#own, ownCell(this.world), nowMs, stepMs);
    const own = place(this.#own, nowMs, stepMs);
    this.camera = approach(this.camera, own, nowMs - this.#drawnMs, CAMERA_HALF_LIFE_MS);
    this.#drawnMs = nowMs;
    return { own, ownLook: OWN_EMOJI };
  }

  #enter(phase: Phase) {
    this.phase = phase;
    if (phase.name !== 'playing') this.#sentMs.clear();
  }

  #heed(frame: ServerFrame) {
    if (frame.kind === 'registered') return this.#arrive(frame);
    const world = this.world;
    if (!world) return;
    switch (frame.kind) {
      case 'view':
        return this.#look(seen(world, frame.view));
      case 'moved':
        this.#time(frame.seq);
        this.world = moved(world, frame.seq, frame.cell);
        return this.#claimBelow();
      case 'dug':
        this.world = scored(answered(world, frame.seq), frame.score);
        return;
      case 'grabbed':
        this.world = answered(world, frame.seq);
        this.powers = [...this.powers, { emoji: ITEM_EMOJI[frame.item] ?? '✨', untilMs: frame.untilMs }];
        return;
      case 'refused':
        if (frame.code === 'too_fast') this.#pace = tooFast(this.#pace);
        this.world = frame.code === 'out_of_order' ? resequenced(world, frame.expectedSeq) : answered(world, frame.seq);
        return;
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
    this.#claimed = null;
    if (!frame.isResumed) {
      [this.#own, this.tracks, this.looks] = [undefined, new Map(), new Map()];
      this.camera = frame.cell;
    }
  }

  #look(world: World) {
    const nowMs = this.around.nowMs();
    this.periodMs = period(this.periodMs, nowMs - this.#viewedMs);
    this.#viewedMs = nowMs;
    this.world = world;
    const others = [...world.movers.values()];
    this.tracks = follow(this.tracks, others, nowMs, this.periodMs);
    // Whoever fades still needs a face.
    const faces = [...this.looks].filter(([id]) => this.tracks.has(id));
    this.looks = new Map([...faces, ...others.map((mover) => [mover.id, mover] as const)]);
  }

  #walk(nowMs: number) {
    const held = heldStep(this.held);
    const way = held === 'stay' ? this.pointed : held;
    if (way === 'stay' || this.phase.name !== 'playing' || !this.world || !isTime(this.#pace, nowMs)) return;
    const taken = step(this.world, way);
    if (!taken) return;
    this.#pace = stepTaken(this.#pace, nowMs);
    this.hasWalked = true;
    this.world = taken.world;
    this.#sentMs.set(taken.seq, nowMs);
    this.#link.send({ move: { seq: taken.seq, step: way } });
    this.#link.expectAnswer();
  }

  /** What one walks onto is taken, once a visit: should it be refused, standing there must not ask again for ever. */
  #claimBelow() {
    const world = this.world;
    const item = world && itemBelow(world);
    if (!item) {
      this.#claimed = null;
    } else if (this.#claimed?.x !== item.at.x || this.#claimed.y !== item.at.y) {
      this.#claimed = item.at;
      this.#claim(item.kind === 'chest' ? 'dig' : 'grab');
    }
  }

  #claim(how: 'dig' | 'grab') {
    if (!this.world || this.phase.name !== 'playing') return;
    const { world, seq } = act(this.world);
    this.world = world;
    this.#link.send(how === 'dig' ? { dig: { seq } } : { grab: { seq } });
    this.#link.expectAnswer();
  }

  #time(seq: number) {
    const sentMs = this.#sentMs.get(seq);
    this.#sentMs.delete(seq);
    if (sentMs === undefined) return;
    const tookMs = this.around.nowMs() - sentMs;
    this.ownMoveMs = this.ownMoveMs === null ? tookMs : this.ownMoveMs + (tookMs - this.ownMoveMs) * 0.2;
  }
}
