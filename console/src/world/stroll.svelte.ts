// A day's lanterns and meetings as the page shows them: what lanterns.ts decides, kept in this browser.
import type { Memory } from './elsewhere.ts';
import { type Cell, keyOf } from './grid.ts';
import { beside, drawLantern, type Evening, evening, isFound, LANTERNS, meet, readEvening } from './lanterns.ts';
import type { World } from './state.ts';
import { met } from './words.ts';

interface Event {
  readonly text: string;
  readonly at: Cell;
}

export class Stroll {
  evening = $state.raw<Evening>(evening(''));
  /** Where the next lantern stands; null before it is drawn, and when all burn. */
  lantern = $state.raw<Cell | null>(null);
  /** Whom one met just now, in words. */
  news = $state('');
  /** Those who stand beside the own mover: a meeting begins once. */
  #near: ReadonlySet<string> = new Set();

  constructor(
    private readonly memory: Memory,
    private readonly chance: () => number,
  ) {}

  /** Somewhere else, where the last lantern is too far. */
  arrive() {
    this.lantern = null;
    this.#near = new Set();
  }

  /** Looks around: what happened to be told where. */
  look(world: World, wallMs: number): readonly Event[] {
    const day = new Date(wallMs).toDateString();
    if (this.evening.day !== day) this.evening = readEvening(this.memory.recall(), day);
    return [...this.#lantern(world), ...this.#people(world)];
  }

  #lantern(world: World): readonly Event[] {
    if (this.evening.lit >= LANTERNS) return [];
    if (!this.lantern || world.trees.has(keyOf(this.lantern))) this.lantern = drawLantern(world, this.evening.lit, this.chance);
    const at = this.lantern;
    if (!isFound(world.confirmed, at)) return [];
    this.#keep({ ...this.evening, lit: this.evening.lit + 1 });
    this.lantern = this.evening.lit < LANTERNS ? drawLantern(world, this.evening.lit, this.chance) : null;
    return [{ text: '🏮', at }];
  }

  /** Another lantern instead of this one, for a player who cannot reach it. */
  another(world: World) {
    if (this.evening.lit < LANTERNS) this.lantern = drawLantern(world, this.evening.lit, this.chance);
  }

  #people(world: World): readonly Event[] {
    const near = beside(world);
    const fresh = near.filter(({ name }) => !this.#near.has(name));
    this.#near = new Set(near.map(({ name }) => name));
    if (fresh.length === 0) return [];
    for (const { name } of fresh) this.#keep(meet(this.evening, name));
    this.news = met(fresh.map(({ name }) => name));
    return fresh.map(({ at }) => ({ text: '👋', at }));
  }

  #keep(evening: Evening) {
    if (evening === this.evening) return;
    this.evening = evening;
    this.memory.remember(JSON.stringify(evening));
  }
}
