// A heatmap as cells and as rows of a table. Pure.
import type { Span } from '../common/chart.ts';
import type { HeatmapData } from './document.ts';

export interface HeatCell {
  readonly column: number;
  readonly row: number;
  readonly count: number;
}

export interface HeatRow {
  readonly column: number;
  readonly count: number;
  /** Rows of the fastest, of most, and of the slowest. */
  readonly fastest: number;
  readonly usual: number;
  readonly slowest: number;
}

export function cellsOf({ columns }: HeatmapData): readonly HeatCell[] {
  return columns.flatMap((pairs, column) => {
    const cells: HeatCell[] = [];
    for (let at = 0; at + 1 < pairs.length; at += 2) cells.push({ column, row: pairs[at] ?? 0, count: pairs[at + 1] ?? 0 });
    return cells;
  });
}

/** Columns in which something was measured. */
export function rowsOf(heatmap: HeatmapData): readonly HeatRow[] {
  const columns = new Map<number, HeatCell[]>();
  for (const cell of cellsOf(heatmap)) columns.set(cell.column, [...(columns.get(cell.column) ?? []), cell]);
  return [...columns].map(([column, cells]) => ({
    column,
    count: cells.reduce((sum, { count }) => sum + count, 0),
    fastest: Math.min(...cells.map(({ row }) => row)),
    usual: cells.reduce((most, cell) => (cell.count > most.count ? cell : most)).row,
    slowest: Math.max(...cells.map(({ row }) => row)),
  }));
}

/** How strong a cell is drawn, from 0 to 1: a single answer is seen beside thousands. */
export function strength(count: number, most: number): number {
  return count <= 0 ? 0 : 0.18 + 0.82 * (most > 1 ? Math.log(count) / Math.log(most) : 1);
}

/** Where a moment stands between the ends of what is shown, from 0 to 1 if it is seen. */
export const shareOf = (second: number, { from, to }: Span) => (second - from) / (to - from);
