// The turns of a match that have arrived, in order and once each, and what follows from them: latencies, deaths, the end. Pure.
import type { Frame, Snake } from './frame.ts';

/** More turns than this are not kept: a page that stays open must not fill the memory. */
export const TURNS_MAX = 20_000;

export class Recording {
  readonly frames: Frame[] = [];
  /** By seat: the latencies of all turns so far, sorted. */
  readonly #latencies: number[][] = [];
  isFull = false;

  /** Keeps the next turn. A feed that begins again repeats turns: those are left out. Whether this one was new. */
  add(frame: Frame): boolean {
    if (frame.turn !== this.frames.length) return false;
    if (frame.turn >= TURNS_MAX) {
      this.isFull = true;
      return false;
    }
    this.frames.push(frame);
    // Before the first turn no snake was asked; the dead are asked no more.
    if (frame.turn > 0) frame.snakes.forEach((snake, seat) => this.#measure(snake, seat, frame.turn));
    return true;
  }

  /** The last turn that is known; -1 before the first. */
  get lastTurn(): number {
    return this.frames.length - 1;
  }

  at(turn: number): Frame | undefined {
    return this.frames[turn];
  }

  /** The latency that this share of a snake's answers did not exceed (nearest rank), in milliseconds; null before its first answer. */
  latencyMs(seat: number, share: number): number | null {
    const sorted = this.#latencies[seat];
    if (!sorted?.length) return null;
    return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? null;
  }

  /** The share of a snake's answers, from 0 to 1, that took no longer than this. */
  percentile(seat: number, latencyMs: number): number | null {
    const sorted = this.#latencies[seat];
    return sorted?.length ? above(sorted, latencyMs) / sorted.length : null;
  }

  /** The turns in which a snake died, for the marks on the time line. */
  deaths(): readonly { readonly turn: number; readonly snake: Snake }[] {
    const last = this.frames.at(-1);
    return (last?.snakes ?? []).flatMap((snake) => (snake.death ? [{ turn: snake.death.turn, snake }] : []));
  }

  #measure(snake: Snake, seat: number, turn: number) {
    if (snake.death && snake.death.turn < turn) return;
    const sorted = (this.#latencies[seat] ??= []);
    sorted.splice(above(sorted, snake.latencyMs), 0, snake.latencyMs);
  }
}

/** How many of these are not above the value. */
function above(sorted: readonly number[], value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}
