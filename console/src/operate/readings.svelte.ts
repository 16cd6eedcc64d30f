// What the page reads of the server every five seconds while an operator looks, and keeps for its charts.
import { api } from '../api/client.ts';
import type { Schemas } from '../api/client.ts';
import { type Answer, Resource } from '../common/resource.svelte.ts';
import { EVERY_MS, type Reading, withReading } from './history.ts';
import { type Metrics, readMetrics } from './metrics.ts';

export class Readings {
  readonly latest = new Resource<Reading>(() => this.#read(), EVERY_MS);
  history = $state.raw<readonly Reading[]>([]);

  async #read(): Promise<Answer<Reading>> {
    const [{ data: stats, error, response }, metrics, readiness] = await Promise.all([api.GET('/api/admin/stats'), metricsNow(), readinessNow()]);
    if (!stats) return { error, response };
    const reading: Reading = { atMs: Date.now(), stats, metrics, readiness };
    this.history = withReading(this.history, reading);
    return { data: reading, response };
  }
}

/** Null where they are not served here. */
async function metricsNow(): Promise<Metrics | null> {
  const { data, response } = await api.GET('/metrics', { parseAs: 'text' });
  return response.ok && typeof data === 'string' ? readMetrics(data) : null;
}

/** A server that is not ready says so with 503, and why. */
async function readinessNow(): Promise<Schemas['Readiness'] | null> {
  const { data, error } = await api.GET('/readyz');
  const body = (data ?? error) as Partial<Schemas['Readiness']> | undefined;
  return body?.checks ? (body as Schemas['Readiness']) : null;
}
