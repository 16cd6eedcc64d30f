// What time it is at the server, for countdowns. A device's clock may be wrong: its difference is kept between what the server's answers
// allow, and is taken for none while they allow that. Pure.

export class ServerTime {
  #lowMs = Number.NEGATIVE_INFINITY;
  #highMs = Number.POSITIVE_INFINITY;

  /** An answer came: its `Date` is whole seconds, and was read between the two moments of this device. */
  answered(date: string | null, sentMs: number, receivedMs: number) {
    const ms = Date.parse(date ?? '');
    if (!Number.isNaN(ms)) this.#narrow(ms - receivedMs, ms + 1_000 - sentMs);
  }

  /** What the server saved at its `savedMs` is here at this device's `receivedMs`. */
  heard(savedMs: number, receivedMs: number) {
    this.#narrow(savedMs - receivedMs, Number.POSITIVE_INFINITY);
  }

  /** The server's clock when this device's shows this. */
  at(localMs: number): number {
    return localMs + Math.min(Math.max(0, this.#lowMs), this.#highMs);
  }

  #narrow(lowMs: number, highMs: number) {
    [this.#lowMs, this.#highMs] = [Math.max(this.#lowMs, lowMs), Math.min(this.#highMs, highMs)];
    // One of the clocks was set: what was known before does not hold.
    if (this.#lowMs > this.#highMs) [this.#lowMs, this.#highMs] = [lowMs, highMs];
  }
}
