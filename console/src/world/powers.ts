// The power-ups of a hunt: what each is good for, and which help now. Pure; the clock is the server's.

export interface Power {
  readonly item: string;
  readonly untilMs: number;
}

/** Cells that a magnet reaches beyond the own one. */
const MAGNET_CELLS = 2;

export const POWER_UPS = [
  { item: 'double_step', emoji: '👟', use: 'Two cells a step' },
  { item: 'farsight', emoji: '🔭', use: 'Sees further' },
  { item: 'magnet', emoji: '🧲', use: 'Takes from two cells away' },
] as const;

/** One more of a kind helps longer, not twice. */
export function helped(powers: readonly Power[], item: string, untilMs: number, nowMs: number): readonly Power[] {
  const before = powers.find((power) => power.item === item)?.untilMs ?? 0;
  const others = powers.filter((power) => power.item !== item && power.untilMs > nowMs);
  return [...others, { item, untilMs: Math.max(before, untilMs) }];
}

/** For how long it still helps. */
export function leftMs(powers: readonly Power[], item: string, nowMs: number): number {
  return Math.max(0, (powers.find((power) => power.item === item)?.untilMs ?? 0) - nowMs);
}

/** Cells around the own one whose items can be taken. */
export function reach(powers: readonly Power[], nowMs: number): number {
  return leftMs(powers, 'magnet', nowMs) > 0 ? MAGNET_CELLS : 0;
}
