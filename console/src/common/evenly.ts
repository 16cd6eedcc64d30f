/** At most so many of a list's places, evenly, always with the first and the last. Pure. */
export function evenly(length: number, max: number): readonly number[] {
  if (length <= max) return Array.from({ length }, (_, at) => at);
  return Array.from({ length: max }, (_, at) => Math.round((at * (length - 1)) / (max - 1)));
}
