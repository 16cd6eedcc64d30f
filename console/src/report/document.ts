// The document of a report, as the lab writes it (crates/lab/src/report/document.rs): inside report.html, and by the API.

export type Verdict = 'passed' | 'failed' | 'void' | 'interrupted';
export type Tone = 'plain' | 'good' | 'bad' | 'doubtful';

export interface ReportDocument {
  readonly format: number;
  readonly kind: 'run';
  readonly id: string;
  readonly title: string;
  readonly summary: string;
  readonly verdict: Verdict;
  /** There is no verdict yet, and the figures are those so far. */
  readonly is_running: boolean;
  readonly target: string;
  /** UTC. */
  readonly started_at: string;
  readonly duration_s: number;
  readonly program: string;
  readonly headline: { readonly amount: HeadlineRow; readonly timing: HeadlineRow; readonly total: string | null; readonly gate_status: string };
  /** Gates that do not hold, in words. */
  readonly failing: readonly string[];
  readonly findings_title: string;
  readonly findings: readonly string[];
  readonly sections: readonly Section[];
}

/** Runs of one scenario under several settings (crates/lab/src/sweep/view.rs). */
export interface SweepDocument {
  readonly format: number;
  readonly kind: 'sweep';
  readonly id: string;
  /** The scenario's name. */
  readonly title: string;
  readonly summary: string;
  /** Whether gates hold in some combination; null while it goes on. */
  readonly verdict: SweepVerdict | null;
  readonly is_running: boolean;
  /** Null where every run starts a server of its own. */
  readonly target: string | null;
  /** UTC. */
  readonly started_at: string;
  readonly duration_s: number;
  readonly program: string;
  /** The best combination first. */
  readonly sentences: readonly string[];
  /** How many of its runs are made. */
  readonly progress: string;
  readonly sections: readonly Section[];
}

export type SweepVerdict = Exclude<Verdict, 'void'>;

/** Two runs side by side (crates/lab/src/compare/view/document.rs). */
export interface ComparisonDocument {
  readonly format: number;
  readonly title: string;
  readonly verdicts: readonly string[];
  readonly warnings: readonly string[];
  readonly sections: readonly Section[];
}

export interface HeadlineRow {
  readonly sentence: string;
  readonly value: string;
  readonly label: string;
}

export interface Section {
  readonly id: string;
  readonly title: string;
  readonly blocks: readonly Block[];
}

export type Block =
  | { readonly kind: 'heading'; readonly content: string }
  | { readonly kind: 'text'; readonly content: string }
  | { readonly kind: 'list'; readonly content: readonly { readonly text: string; readonly quoted: string | null }[] }
  | { readonly kind: 'table'; readonly content: Table }
  | { readonly kind: 'chart'; readonly content: ChartData }
  | { readonly kind: 'heatmap'; readonly content: HeatmapData };

export interface Table {
  /** This many columns from the left hold text, the others numbers. */
  readonly text_columns: number;
  /** The column that names the row. */
  readonly name_column: number;
  readonly heading: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  readonly notes: readonly string[];
}

export interface Cell {
  readonly text: string;
  readonly tone: Tone;
  /** The length of a bar in per cent, instead of the text. */
  readonly bar: number | null;
  /** The run that the text names. */
  readonly run?: string;
}

export type Unit =
  | { readonly kind: 'number' | 'count'; readonly of: string }
  | { readonly kind: 'bytes' | 'time' | 'percentile_rank' }
  | { readonly kind: 'items'; readonly of: readonly string[] };

export interface Axis {
  readonly unit: Unit;
  readonly log: boolean;
  readonly reaches_at_least: number;
}

export interface ChartData {
  readonly title: string;
  readonly caption: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly layers: readonly Layer[];
  /** Load steps. */
  readonly bands: readonly Band[];
  /** Moments, and levels that are something. */
  readonly marks: readonly { readonly x: number; readonly label: string; readonly is_fault: boolean }[];
  /** What gates allow. */
  readonly thresholds: readonly { readonly y: number; readonly label: string }[];
  /** What the findings say that rest on a figure of this chart. */
  readonly findings: readonly string[];
}

export interface Band {
  readonly from: number;
  readonly to: number;
  readonly label: string;
}

/** A point in each place of its columns; one without figures is a gap. */
export interface Layer {
  readonly name: string;
  readonly colour: number;
  readonly style: 'line' | 'dashed' | 'area' | 'bars' | 'points' | 'fitted';
  readonly x: readonly number[];
  readonly y: readonly (number | null)[];
  /** The lowest and highest of what each figure is the mean of, or the ends of a part of a stack; or none. */
  readonly low: readonly (number | null)[];
  readonly high: readonly (number | null)[];
}

export interface HeatmapData {
  readonly title: string;
  /** Seconds of a column. */
  readonly step_s: number;
  /** The lower ends of the rows from the fastest, and the upper end of the last. */
  readonly bounds_ms: readonly number[];
  /** The rows in which a column has something, each followed by how many. */
  readonly columns: readonly (readonly number[])[];
}

/** The newest form that this page knows. */
export const FORMAT = 1;
