// What a chart draws, as uPlot takes it: scales, lines, bands, marks. Knows no page.
import type uPlot from 'uplot';

/** A line of a chart. */
export interface ChartLine {
  readonly label: string;
  /** One for each place of the axis: null where there is none, undefined where only other lines have one. */
  readonly values: readonly (number | null | undefined)[];
  /** A token of the design. */
  readonly color: '--own' | '--accent' | '--warn' | '--bad' | '--quiet' | '--hazard' | '--violet' | '--sky';
  /** Filled down to this line, by its place among the lines. */
  readonly fillTo?: number;
  readonly isDashed?: boolean;
  readonly isDotted?: boolean;
  readonly shape?: 'line' | 'points' | 'area' | 'bars';
  /** What readers are told instead of the values: of a part of a stack, its own height. */
  readonly shown?: readonly (number | null | undefined)[];
  /** Ends of what each value is the mean of. */
  readonly low?: readonly (number | null | undefined)[];
  readonly high?: readonly (number | null | undefined)[];
}

/** A part of an axis. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** What lies behind and before the lines. */
export interface Surroundings {
  readonly bands: readonly (Span & { readonly label: string })[];
  readonly marks: readonly { readonly x: number; readonly label: string; readonly isBad: boolean }[];
  readonly thresholds: readonly { readonly y: number; readonly label: string }[];
}

export interface ChartLook {
  readonly axis: string;
  readonly places: readonly number[];
  readonly lines: readonly ChartLine[];
  readonly placeText: (place: number) => string;
  /** CSS pixels that such a text needs. */
  readonly placeWidth: number;
  readonly valueText: (value: number) => string;
  readonly tickText: (value: number) => string;
  readonly height: number;
  readonly isFromZero: boolean;
  readonly isLogX: boolean;
  readonly isLogY: boolean;
  /** Places that the axis names; without it, those that fit. */
  readonly splits: readonly number[] | null;
  readonly around: Surroundings;
  /** Called with what was chosen on the axis, and with null for all of it; without it nothing can be chosen. */
  readonly onchoose: ((chosen: Span | null) => void) | null;
}

/** More bands than this would be stripes. */
const BANDS_MAX = 40;
const DASHES = [[], [8, 4], [2, 4], [12, 3, 2, 3]];
/** Fewer pixels than this are a click. */
const CHOICE_MIN = 6;

/** The options of a drawing in an element, whose colours and letters it takes. */
export function optionsFor(library: typeof uPlot, element: HTMLElement, look: ChartLook): uPlot.Options {
  const isForced = matchMedia('(forced-colors: active)').matches;
  const style = getComputedStyle(element);
  const token = (name: string) => style.getPropertyValue(name).trim();
  const paint: Paint = {
    color: (name) => (isForced ? 'CanvasText' : token(name)),
    mixed: (name, percent) => (isForced ? 'Canvas' : `color-mix(in srgb, ${token(name)} ${percent}%, ${token('--panel')})`),
    faint: (name, percent) => (isForced ? 'transparent' : `color-mix(in srgb, ${token(name)} ${percent}%, transparent)`),
    family: style.fontFamily,
  };
  const [ink, grid] = isForced ? ['CanvasText', 'GrayText'] : [token('--quiet'), token('--line')];
  const axes = { stroke: ink, font: `12px ${paint.family}`, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
  const { lines, isLogX, isLogY, splits, onchoose } = look;
  return {
    width: element.clientWidth,
    height: look.height,
    legend: { show: true, live: true },
    cursor: {
      drag: { x: onchoose !== null, y: false, setScale: false },
      y: false,
      points: { size: 7 },
      bind: { dblclick: (_plot, _target, handler) => (onchoose ? () => (onchoose(null), null) : handler) },
    },
    scales: { x: { time: false, distr: isLogX ? 3 : 1 }, y: { distr: isLogY ? 3 : 1, range: (plot, low, high) => rangeOf(look, plot, low, high) } },
    axes: [
      { ...axes, space: look.placeWidth, ...(splits ? { splits: () => [...splits], filter: (_plot: uPlot, splits: number[]) => splits } : isLogX && logTicks), values: (_, at) => at.map((place) => (place !== null && (isLogX || Number.isInteger(place)) ? look.placeText(place) : '')) },
      { ...axes, size: 64, ...(isLogY && logTicks), values: (_, at) => at.map((value) => (value === null ? '' : look.tickText(value))) },
    ],
    series: [
      { label: look.axis, value: (_, place) => (place === null ? '–' : look.placeText(place)) },
      ...lines.map((line, at): uPlot.Series => {
        const { label, color, shape = 'line', isDashed, isDotted, shown } = line;
        const isFilled = shape === 'area' || shape === 'bars';
        const told = (value: number | null | undefined) => (value === null || value === undefined ? '–' : look.valueText(value));
        return {
          label,
          stroke: paint.color(color),
          width: isDashed || isDotted ? 1 : 2,
          dash: isForced ? (DASHES[at % DASHES.length] ?? []) : isDotted ? [1, 4] : isDashed ? [4, 4] : [],
          points: { show: ({ data }) => shape === 'points' || (shape === 'line' && !isDotted && data[0].length <= 48), size: shape === 'points' ? 8 : 5, ...(shape === 'points' && { fill: paint.color(color) }) },
          ...(isFilled && { fill: paint.mixed(color, 70) }),
          ...(shape === 'points' && { paths: () => null }),
          ...(shape === 'bars' && library.paths.bars && { paths: library.paths.bars({ size: [0.7, 36] }) }),
          value: (_, value, __, place) => told(shown && place !== null ? shown[place] : value),
        };
      }),
    ],
    bands: lines.flatMap(({ fillTo, color }, at) => (fillTo === undefined || isForced ? [] : [{ series: [at + 1, fillTo + 1] as [number, number], fill: paint.faint(color, 14) }])),
    hooks: {
      drawAxes: [(plot) => drawBehind(plot, look, paint)],
      draw: [(plot) => drawBefore(plot, look, paint)],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (onchoose && width >= CHOICE_MIN) onchoose({ from: plot.posToVal(left, 'x'), to: plot.posToVal(left + width, 'x') });
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
    },
  };
}

/** Round parts of each power of ten: as many as stand far enough apart. */
export function logSplits(min: number, max: number): number[] {
  const decades = Math.log10(max / min);
  const steps = decades > 4 ? [1] : decades > 1.2 ? [1, 2, 5] : [1, 1.5, 2, 3, 5, 7];
  const powers = Array.from({ length: Math.ceil(decades) + 2 }, (_, at) => 10 ** (Math.floor(Math.log10(min)) + at));
  return powers.flatMap((power) => steps.map((step) => step * power)).filter((split) => split >= min && split <= max);
}

const logTicks: uPlot.Axis = { splits: (_plot, _axis, min, max) => logSplits(min, max), filter: (_plot, splits) => splits };

interface Paint {
  readonly color: (token: string) => string;
  readonly mixed: (token: string, percent: number) => string;
  readonly faint: (token: string, percent: number) => string;
  readonly family: string;
}

/** Room for what is drawn: the lines that are seen, the ends of what they are means of, thresholds. */
function rangeOf({ lines, places, around, isFromZero, isLogY }: ChartLook, plot: uPlot, low: number | null, high: number | null): uPlot.Range.MinMax {
  const { min = -Infinity, max = Infinity } = plot.scales['x'] ?? {};
  let [least, most] = [low ?? Infinity, high ?? -Infinity];
  const take = (value: number | null | undefined) => {
    if (typeof value !== 'number' || (isLogY && value <= 0)) return;
    [least, most] = [Math.min(least, value), Math.max(most, value)];
  };
  for (const { low = [], high = [] } of lines) {
    for (const [at, place] of places.entries()) {
      if (place < (min ?? -Infinity) || place > (max ?? Infinity)) continue;
      take(low[at]);
      take(high[at]);
    }
  }
  around.thresholds.forEach(({ y }) => take(y));
  if (!(least <= most)) [least, most] = isLogY ? [1, 10] : [0, 1];
  if (isLogY) return [least / 1.3, most * 1.3];
  // Nothing but zeros: the axis goes to one.
  if (isFromZero && least === 0 && most === 0) most = 1;
  const room = (most - Math.min(least, isFromZero ? 0 : least) || 1) * 0.08;
  return [isFromZero ? Math.min(0, least) : least - room, most + room];
}

/** Load steps, shaded in turn, and the ends of means. */
function drawBehind(plot: uPlot, { lines, places, around }: ChartLook, paint: Paint) {
  const { ctx } = plot;
  within(plot, () => {
    const { left, top, width, height } = plot.bbox;
    const bands = around.bands.length <= BANDS_MAX ? around.bands : [];
    bands.forEach(({ from, to, label }, at) => {
      const [start, end] = [Math.max(left, plot.valToPos(from, 'x', true)), Math.min(left + width, plot.valToPos(to, 'x', true))];
      if (end <= start) return;
      ctx.fillStyle = paint.faint('--quiet', at % 2 === 0 ? 7 : 14);
      ctx.fillRect(start, top, end - start, height);
      letters(plot, paint, '--quiet');
      if (ctx.measureText(label).width + 8 < end - start) ctx.fillText(label, start + 4, top + 4);
    });
    for (const { low, high, color } of lines) {
      if (!low || !high) continue;
      ctx.fillStyle = paint.faint(color, 22);
      for (const run of runsOf(low, high)) {
        ctx.beginPath();
        run.forEach((at) => ctx.lineTo(plot.valToPos(places[at] ?? 0, 'x', true), plot.valToPos(high[at] ?? 0, 'y', true)));
        run.toReversed().forEach((at) => ctx.lineTo(plot.valToPos(places[at] ?? 0, 'x', true), plot.valToPos(low[at] ?? 0, 'y', true)));
        ctx.fill();
      }
    }
  });
}

/** Moments and what gates allow. */
function drawBefore(plot: uPlot, { around }: ChartLook, paint: Paint) {
  const { ctx } = plot;
  const { left, top, width, height } = plot.bbox;
  within(plot, () => {
    around.thresholds.forEach(({ y, label }) => {
      const at = plot.valToPos(y, 'y', true);
      stroke(plot, paint.color('--text'), [3, 3], [left, at, left + width, at]);
      letters(plot, paint, '--text');
      ctx.fillText(label, Math.max(left, left + width - ctx.measureText(label).width - 4), at - 15 * devicePixelRatio);
    });
    around.marks.forEach(({ x, label, isBad }, row) => {
      const at = plot.valToPos(x, 'x', true);
      if (at < left || at > left + width) return;
      stroke(plot, paint.color(isBad ? '--bad' : '--quiet'), [5, 2], [at, top, at, top + height]);
      letters(plot, paint, '--text');
      const size = ctx.measureText(label).width;
      ctx.fillText(label, at + size + 6 < left + width ? at + 4 : at - size - 4, top + (20 + (row % 3) * 14) * devicePixelRatio);
    });
  });
}

/** Draws only in the field of the lines. */
function within({ ctx, bbox }: uPlot, draw: () => void) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  draw();
  ctx.restore();
}

function letters({ ctx }: uPlot, paint: Paint, token: string) {
  ctx.fillStyle = paint.color(token);
  ctx.font = `${11 * devicePixelRatio}px ${paint.family}`;
  [ctx.textBaseline, ctx.textAlign] = ['top', 'left'];
}

function stroke({ ctx }: uPlot, color: string, dash: readonly number[], [x1, y1, x2, y2]: readonly [number, number, number, number]) {
  ctx.strokeStyle = color;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash(dash.map((length) => length * devicePixelRatio));
  ctx.beginPath();
  ctx.moveTo(x1, y1);
  ctx.lineTo(x2, y2);
  ctx.stroke();
}

/** The places of unbroken parts: null breaks one, undefined does not. Pure. */
export function runsOf(low: readonly (number | null | undefined)[], high: readonly (number | null | undefined)[]): readonly (readonly number[])[] {
  const runs: number[][] = [[]];
  high.forEach((value, at) => {
    if (value === null) runs.push([]);
    else if (value !== undefined && typeof low[at] === 'number') runs.at(-1)?.push(at);
  });
  return runs.filter((run) => run.length > 1);
}
