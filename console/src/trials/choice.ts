// Which two runs are chosen for a comparison: `?compare=A,B` in the URL. Pure.

/** The runs that the query names, at most two. */
export const chosenRuns = (query: string | null): readonly string[] => [...new Set((query ?? '').split(',').filter((name) => name !== ''))].slice(0, 2);

/** With this run, or without it; the older choice makes room for a third. */
export function toggled(chosen: readonly string[], name: string): readonly string[] {
  return chosen.includes(name) ? chosen.filter((other) => other !== name) : [...chosen.slice(-1), name];
}

/** The part of a run that `?from=&to=` names, in seconds; null for the whole. */
export function timeOf(from: string | null, to: string | null): { readonly from: number; readonly to: number } | null {
  const [start, end] = [Number(from ?? 'NaN'), Number(to ?? 'NaN')];
  return Number.isFinite(start) && Number.isFinite(end) && start >= 0 && end > start ? { from: start, to: end } : null;
}
