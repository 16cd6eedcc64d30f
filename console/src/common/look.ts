// Tells when what is drawn on a canvas must be drawn again: another theme, forced colours, paper.

const QUERIES = ['(prefers-color-scheme: dark)', '(forced-colors: active)', 'print'];

/** Calls `changed` until the returned function is called. */
export function watchLook(changed: () => void): () => void {
  const watched = QUERIES.map((query) => matchMedia(query));
  watched.forEach((query) => query.addEventListener('change', changed));
  return () => watched.forEach((query) => query.removeEventListener('change', changed));
}
