// Ratings as ranges: three standard deviations to either side of the mean, drawn on one scale for all rows. Pure.

export interface Rating {
  readonly mu: number;
  readonly sigma: number;
}

export interface Scale {
  readonly from: number;
  readonly to: number;
}

const DEVIATIONS = 3;

export const rangeOf = ({ mu, sigma }: Rating): Scale => ({ from: mu - DEVIATIONS * sigma, to: mu + DEVIATIONS * sigma });

/** From the least to the most that any of them may be. */
export function scaleOf(ratings: readonly Rating[]): Scale {
  const ranges = ratings.map(rangeOf);
  const from = Math.min(...ranges.map(({ from }) => from));
  const to = Math.max(...ranges.map(({ to }) => to));
  return ranges.length > 0 && to > from ? { from, to } : { from: 0, to: 1 };
}

/** Where a value lies on the scale, from 0 to 1: what lies beyond an end is at it. */
export const shareOf = (value: number, { from, to }: Scale) => Math.min(1, Math.max(0, (value - from) / (to - from)));
