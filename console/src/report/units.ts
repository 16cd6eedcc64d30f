// How the figures of a report's charts are written, in the reader's locale. Pure but for the locale of the browser.
import { clock } from '../common/words.ts';
import type { Unit } from './document.ts';

const KIB = 1_024;
const BYTES: readonly (readonly [number, string])[] = [
  [KIB ** 3, 'GiB'],
  [KIB ** 2, 'MiB'],
  [KIB, 'KiB'],
];

/** How many bytes the unit has in which so many are written, and its name. */
export const bytesUnit = (bytes: number): readonly [number, string] => BYTES.find(([size]) => Math.abs(bytes) >= size) ?? [KIB, 'KiB'];

/** With as many digits as a reader needs, and never as zero what is none. */
export function figure(value: number): string {
  if (Math.abs(value) >= 1_000) return Math.round(value).toLocaleString();
  if (value !== 0 && Math.abs(value) < 0.000_5) return value.toExponential(1);
  return value.toLocaleString(undefined, { maximumSignificantDigits: 3 });
}

/** A moment of a run, in seconds since its plan began. */
export function moment(second: number): string {
  const hours = Math.floor(second / 3_600);
  const rest = clock(Math.round(second - hours * 3_600) * 1_000);
  return hours > 0 ? `${hours}:${rest.padStart(5, '0')}` : rest;
}

/** 100 becomes p99, 1,000 becomes p99.9. */
export function percentile(oneOf: number): string {
  const digits = Math.min(6, Math.max(2, Math.ceil(Math.log10(oneOf)))) - 2;
  return `p${(100 - 100 / oneOf).toFixed(digits)}`;
}

/** A figure with its unit. */
export function withUnit(unit: Unit, value: number): string {
  switch (unit.kind) {
    case 'number':
      return unit.of ? `${figure(value)} ${unit.of}` : figure(value);
    case 'count':
      return figure(value);
    case 'bytes': {
      const [size, name] = bytesUnit(value);
      return `${figure(value / size)} ${name}`;
    }
    case 'time':
      return moment(value);
    case 'percentile_rank':
      return percentile(value);
    case 'items':
      return unit.of[value - 1] ?? '';
  }
}

/** The same beside an axis, where the unit stands with the title. */
export const atAxis = (unit: Unit, value: number) => (unit.kind === 'number' ? figure(value) : withUnit(unit, value));

/** What an axis counts. */
export function unitName(unit: Unit): string {
  switch (unit.kind) {
    case 'number':
    case 'count':
      return unit.of;
    case 'bytes':
      return '';
    case 'time':
      return 'time';
    case 'percentile_rank':
      return 'percentile';
    case 'items':
      return 'step';
  }
}
