// One clock for all texts that say how long ago something was.
import { createSubscriber } from 'svelte/reactivity';

const EVERY_MS = 15_000;
const ticks = createSubscriber((update) => {
  const timer = setInterval(update, EVERY_MS);
  return () => clearInterval(timer);
});

/** Now; what was made of it is made anew while it is shown. */
export function nowMs(): number {
  ticks();
  return Date.now();
}
