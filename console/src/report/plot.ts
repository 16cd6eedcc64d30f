// A chart of the document as lines over one axis: layers have places of their own, a drawing has one list of them. Pure.
import type { ChartLine } from '../common/chart.ts';
import type { ChartData, Layer } from './document.ts';
import { bytesUnit } from './units.ts';

/** By the number of a layer's colour. */
const COLORS: readonly ChartLine['color'][] = ['--own', '--bad', '--accent', '--violet', '--sky', '--hazard'];

export interface Plot {
  readonly places: readonly number[];
  readonly lines: readonly ChartLine[];
}

/** Bytes as so many of the unit that the largest of them has: an axis has round numbers of one unit. */
export function inOneUnit(chart: ChartData): ChartData {
  if (chart.y.unit.kind !== 'bytes') return chart;
  const most = Math.max(0, ...chart.layers.flatMap(({ y, high }) => [...y, ...high].map((value) => value ?? 0)), ...chart.thresholds.map(({ y }) => y));
  const [size, of] = bytesUnit(most);
  const scaled = (values: readonly (number | null)[]) => values.map((value) => (value === null ? null : value / size));
  return {
    ...chart,
    y: { ...chart.y, unit: { kind: 'number', of } },
    layers: chart.layers.map((layer) => ({ ...layer, y: scaled(layer.y), low: scaled(layer.low), high: scaled(layer.high) })),
    thresholds: chart.thresholds.map((threshold) => ({ ...threshold, y: threshold.y / size })),
  };
}

/** Places of all layers, each once, and the value of each layer in each: null in a gap, undefined where only others have one. */
export function plotOf(chart: ChartData): Plot {
  const places = [...new Set(chart.layers.flatMap(({ x }) => x))].sort((a, b) => a - b);
  const lines = chart.layers.map((layer) => lineOf(layer, places, chart.y.log));
  // What stands on others is drawn first: each covers the ones below it.
  return { places, lines: chart.layers.some(isStacked) ? lines.reverse() : lines };
}

const isStacked = ({ style }: Layer) => style === 'area' || style === 'bars';

function lineOf(layer: Layer, places: readonly number[], isLog: boolean): ChartLine {
  const at = new Map(layer.x.map((x, place) => [x, place]));
  const least = Math.min(...layer.y.filter((y): y is number => y !== null && y > 0));
  // Nothing and less has no place on a logarithmic axis: it stands with the lowest.
  const drawn = (value: number | null | undefined) => (isLog && typeof value === 'number' && value <= 0 ? (Number.isFinite(least) ? least : null) : value);
  const column = (of: readonly (number | null)[]) =>
    places.map((place) => {
      const found = at.get(place);
      return found === undefined ? undefined : drawn(of[found]);
    });
  const shape = layer.style === 'dashed' || layer.style === 'fitted' ? 'line' : layer.style;
  const line = { label: layer.name, color: COLORS[layer.colour % COLORS.length] ?? '--own', shape, isDashed: layer.style === 'dashed', isDotted: layer.style === 'fitted' } as const;
  if (isStacked(layer)) {
    const own = layer.y.map((y, place) => (y === null ? null : (layer.high[place] ?? y) - (layer.low[place] ?? 0)));
    return { ...line, values: column(layer.high.length > 0 ? layer.high : layer.y), shown: column(own) };
  }
  return { ...line, values: column(layer.y), ...(layer.high.length > 0 && { low: column(layer.low), high: column(layer.high) }) };
}
