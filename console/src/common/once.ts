/** Each thing once, by its key: a list that is asked for again in between may bring one twice. Pure. */
export function once<T>(rows: readonly T[], keyOf: (row: T) => string | number): readonly T[] {
  const seen = new Set<string | number>();
  return rows.filter((row) => {
    const key = keyOf(row);
    return seen.has(key) ? false : seen.add(key);
  });
}
