// What a server remembers of its last day, as charts. Pure.
import type { Schemas } from '../api/client.ts';
import type { ChartLine } from '../common/chart.ts';
import { number, percent } from '../common/format.ts';
import { aSecond, bytes, duration } from './words.ts';

/** How far back charts show, by the name in the URL. */
export const SPANS = [
  { name: '', text: '10 minutes', stepS: 1, everyMs: 5_000 },
  { name: 'hours', text: '2 hours', stepS: 10, everyMs: 10_000 },
  { name: 'day', text: 'A day', stepS: 60, everyMs: 60_000 },
] as const;

type Line = readonly [label: string, series: string, color: ChartLine['color']];
interface Drawn {
  readonly title: string;
  readonly valueText: (value: number) => string;
  readonly lines: readonly Line[];
}

const CHARTS: readonly Drawn[] = [
  { title: 'Turns played', valueText: aSecond, lines: [['Turns', 'turns', '--own'], ['Late moves', 'late_moves', '--bad']] },
  { title: 'Requests answered', valueText: aSecond, lines: [['Fine', 'requests_ok', '--own'], ['Refused (4xx)', 'requests_refused', '--accent'], ['Failed (5xx)', 'requests_failed', '--bad']] },
  { title: 'Queue and store', valueText: number, lines: [['Matches waiting', 'matches_waiting', '--accent'], ['Matches running', 'matches_running', '--own'], ['Commands waiting', 'commands_waiting', '--hazard']] },
  {
    title: 'Times: 99 of 100 took no longer',
    valueText: duration,
    lines: [['Bots', 'bot_call_p99_ms', '--own'], ['Saving', 'commit_p99_ms', '--accent'], ['Reading', 'query_p99_ms', '--hazard'], ['Processor', 'scheduler_delay_p99_ms', '--bad']],
  },
  { title: 'Memory', valueText: bytes, lines: [['In use', 'memory_bytes', '--own'], ['Held by the program', 'allocated_bytes', '--accent']] },
  { title: 'Processor: of one core', valueText: percent, lines: [['In use', 'processor', '--own']] },
  { title: 'Sockets', valueText: number, lines: [['Clients', 'connections', '--own'], ['All files and sockets', 'open_files', '--accent']] },
  { title: 'People', valueText: number, lines: [['At tables', 'table_players', '--own'], ['In worlds', 'world_people', '--accent'], ['Watching matches', 'spectators', '--hazard']] },
];

/** All that the charts need, for one request. */
export const SERIES = [...new Set(CHARTS.flatMap(({ lines }) => lines.map(([, series]) => series)))].join(',');

/** The charts, over the seconds of the clock at which their points begin. A chart of which nothing is known is left out. */
export function chartsOf(view: Schemas['HistoryView']) {
  const values = new Map(view.series.map((series) => [series.name, series.values]));
  const beganS = Math.round(Date.parse(view.from) / 1_000);
  const count = view.series[0]?.values.length ?? 0;
  const places = Array.from({ length: count }, (_, at) => beganS + at * view.step_s);
  const charts = CHARTS.map(({ title, valueText, lines }) => ({
    title,
    valueText,
    lines: lines.map(([label, series, color]): ChartLine => ({ label, values: values.get(series) ?? [], color })).filter((line) => line.values.some((value) => value !== null)),
  }));
  return { places, charts: charts.filter(({ lines }) => lines.length > 0) };
}
