// Where the next page of a list begins, by the `Link` header of this one (RFC 8288). Pure.

/** The cursor of the next page; null after the last one. */
export function nextCursor(link: string | null): string | null {
  const next = /<([^>]*)>\s*;\s*rel="?next"?/.exec(link ?? '')?.[1];
  return next === undefined ? null : new URL(next, 'http://list/').searchParams.get('after');
}
