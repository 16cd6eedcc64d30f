// A policy of the limiter as it is typed, and what policies decided about a key. Pure.
import type { Schemas } from '../api/client.ts';
import { number } from '../common/format.ts';
import { duration } from './words.ts';

interface Decided {
  readonly remaining?: number | null;
  readonly retry_after_ms?: number | null;
  readonly code?: string;
}

export function resultText(isAllowed: boolean, { remaining, retry_after_ms, code }: Decided): string {
  if (isAllowed) return remaining == null ? 'Allowed: nothing limits it.' : `Allowed; ${number(remaining)} more could be taken now.`;
  if (code === 'cost_exceeds_limit') return 'Refused: it is more than a window ever holds (cost_exceeds_limit).';
  return `Refused${retry_after_ms == null ? '' : ` for ${duration(retry_after_ms)}`} (${code ?? 'denied'}).`;
}

/** What one policy says. */
export function wordsOf({ remaining, retry_after_ms, shadow }: Schemas['LimitPart']): string {
  if (remaining != null) return `allows it; ${number(remaining)} left`;
  const when = retry_after_ms == null ? 'never allows so much at once' : `allows it in ${duration(retry_after_ms)}`;
  return shadow ? `would refuse it: ${when}` : when;
}

export interface PolicyForm {
  name: string;
  class: string;
  key: string;
  algorithm: string;
  limit: number;
  windowS: number;
  shadow: boolean;
  whenFull: string;
}

export function formOf(of: Schemas['LimitPolicyView'] | null): PolicyForm {
  if (!of) return { name: '', class: '*', key: '*', algorithm: 'gcra', limit: 100, windowS: 60, shadow: true, whenFull: 'deny' };
  return { name: of.name, class: of.class ?? '*', key: of.key ?? '*', algorithm: of.algorithm ?? 'gcra', limit: of.limit, windowS: of.window_ms / 1_000, shadow: of.shadow ?? false, whenFull: of.when_full ?? 'deny' };
}

export const definitionOf = (form: PolicyForm): Schemas['LimitPolicyDefinition'] => ({
  class: form.class,
  key: form.key,
  algorithm: form.algorithm,
  limit: form.limit,
  window_ms: Math.round(form.windowS * 1_000),
  shadow: form.shadow,
  when_full: form.whenFull,
});

/** What saving it would do, beyond what holds now: for the operator who confirms it. */
export function changesText(before: PolicyForm | null, after: PolicyForm): readonly string[] {
  const what = `${after.name} lets each key of ${after.key} take ${number(after.limit)} units in ${duration(after.windowS * 1_000)}, in classes ${after.class}.`;
  const mode = after.shadow ? 'It is in shadow: it counts what it would refuse, and refuses nothing.' : before && !before.shadow ? '' : 'It refuses: whoever is beyond it now gets 429 from now on.';
  return [what, mode, before && before.algorithm !== after.algorithm ? 'The algorithm changes: what keys have used is forgotten.' : ''].filter(Boolean);
}
