// When a connection that looks open may be dead: a device that slept, or changed its network, may hold one.

/** A page that was not looked at for so long may have slept. */
const SLEPT_MS = 20_000;

/** Calls `renew` at such moments, until the function that comes back is called. */
export function onWake(renew: () => void): () => void {
  let hiddenAtMs = Date.now();
  const look = () => {
    if (document.hidden) hiddenAtMs = Date.now();
    else if (Date.now() - hiddenAtMs > SLEPT_MS) renew();
  };
  document.addEventListener('visibilitychange', look);
  addEventListener('online', renew);
  return () => {
    document.removeEventListener('visibilitychange', look);
    removeEventListener('online', renew);
  };
}
