// The steps of a call in time, one after the other. Pure.
import type { CheckCall } from '../api/client.ts';

export interface Step {
  readonly name: 'dns' | 'connect' | 'tls' | 'wait' | 'rest';
  readonly text: string;
  /** Milliseconds. */
  readonly duration: number;
}

/** Those that were finished; what is left of the time is the rest of the answer, or the wait for what did not come. */
export function steps({ dns, connect, tls, first_byte, total }: CheckCall['times_ms']): readonly Step[] {
  const known: readonly (readonly [Step['name'], string, number | null | undefined])[] = [
    ['dns', 'Name', dns],
    ['connect', 'Connection', connect],
    ['tls', 'TLS', tls],
    ['wait', 'First byte', first_byte],
  ];
  const done = known.flatMap(([name, text, duration]) => (duration == null ? [] : [{ name, text, duration }]));
  const rest = total - done.reduce((sum, { duration }) => sum + duration, 0);
  return rest > 0.05 ? [...done, { name: 'rest', text: first_byte == null ? 'In vain' : 'Rest of the answer', duration: rest }] : done;
}
