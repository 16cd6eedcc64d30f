// The server's metrics, as its text has them (Prometheus): what a page reads out of them. Pure.

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Samples by name. */
export type Metrics = ReadonlyMap<string, readonly Sample[]>;

const LINE = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;
const ESCAPES: Readonly<Record<string, string>> = { '\\n': '\n', '\\"': '"', '\\\\': '\\' };

/** Comments, and lines that are none of it, are passed over. */
export function readMetrics(text: string): Metrics {
  const metrics = new Map<string, Sample[]>();
  for (const line of text.split('\n')) {
    const [, name, written = '', figure] = LINE.exec(line) ?? [];
    const value = Number(figure);
    if (name === undefined || Number.isNaN(value)) continue;
    const labels = Object.fromEntries([...written.matchAll(LABEL)].map(([, label, text = '']) => [label, text.replace(/\\[n"\\]/g, (escape) => ESCAPES[escape] ?? escape)]));
    const samples = metrics.get(name);
    if (samples) samples.push({ labels, value });
    else metrics.set(name, [{ labels, value }]);
  }
  return metrics;
}

/** All samples of this name that have these labels, together; null where there is none. */
export function sumOf(metrics: Metrics | null, name: string, labels: Readonly<Record<string, string>> = {}): number | null {
  const wanted = Object.entries(labels);
  const found = metrics?.get(name)?.filter((sample) => wanted.every(([label, text]) => sample.labels[label] === text)) ?? [];
  return found.length === 0 ? null : found.reduce((sum, { value }) => sum + value, 0);
}

/** What a policy of the rate limiter decided since the process began. */
export interface Decisions {
  readonly allowed: number;
  /** Refused: used up, more than a window holds, or no room to count the key. */
  readonly refused: number;
  /** What it would have refused, were it not in shadow mode. */
  readonly shadow: number;
}

const REFUSALS = ['denied', 'cost_exceeds_limit', 'full'];

export function decisionsOf(metrics: Metrics | null, policy: string): Decisions {
  const of = (outcome: string) => sumOf(metrics, 'gauntlet_limiter_decisions_total', { policy, outcome }) ?? 0;
  return { allowed: of('allowed'), refused: REFUSALS.reduce((sum, outcome) => sum + of(outcome), 0), shadow: of('shadow') };
}
