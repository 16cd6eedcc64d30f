// Numbers and times in the reader's own locale. Pure but for the locale of the browser.

const whole = new Intl.NumberFormat();
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const second = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** With the reader's separators: `12,345`. */
export const number = (value: number) => whole.format(value);

/** With so many digits after the point. */
export const decimal = (value: number, digits: number) => value.toLocaleString(undefined, { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** A share from 0 to 1 as per cent. */
export const percent = (share: number) => share.toLocaleString(undefined, { style: 'percent', maximumFractionDigits: 1 });

/** Date and time. */
export const dateTime = (time: string) => moment.format(new Date(time));

/** Date and time, to the second. */
export const exactTime = (time: string) => second.format(new Date(time));

const STEPS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
];

/** How long ago, or in how long: `3 minutes ago`. */
export function ago(time: string, nowMs: number): string {
  const seconds = (Date.parse(time) - nowMs) / 1_000;
  const [unit, length] = STEPS.find(([, length]) => Math.abs(seconds) >= length) ?? ['second', 1];
  return relative.format(Math.trunc(seconds / length), unit);
}
