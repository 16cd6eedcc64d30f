// Bans, as the page for operators reads and makes them. Pure.
import type { Schemas } from '../api/client.ts';
import { dateTime, number } from '../common/format.ts';
import { BANS } from './words.ts';

export type BanView = Schemas['BanView'];

/** Which bans are shown, by the name in the URL. */
export const BAN_KINDS = [
  { name: '', text: 'All' },
  { name: 'account', text: 'Accounts' },
  { name: 'guest', text: 'Guests' },
  { name: 'address', text: 'Addresses' },
  { name: 'disabled', text: 'Disabled accounts' },
] as const;

export function kindOf({ address, guest, is_disabled }: BanView): 'account' | 'guest' | 'address' | 'disabled' {
  if (is_disabled) return 'disabled';
  return address !== null ? 'address' : guest !== null ? 'guest' : 'account';
}

/** Whom it is of, as one calls it. */
export const bannedName = ({ account, account_name, address, guest }: BanView): string => address ?? account_name ?? account ?? guest ?? '';

/** The id or address that it is of. */
export const bannedId = ({ account, address, guest }: BanView): string => address ?? account ?? guest ?? '';

export const makerName = ({ made_by, made_by_name }: BanView): string => (made_by === null ? BANS.commandLine : (made_by_name ?? made_by));

/** Whether a ban is of this kind and has these letters somewhere. */
export function isWanted(ban: BanView, kind: string, letters: string): boolean {
  if (kind !== '' && kindOf(ban) !== kind) return false;
  const texts = [bannedName(ban), bannedId(ban), ban.reason, makerName(ban), ban.made_by ?? '', ban.id];
  return texts.some((text) => text.toLowerCase().includes(letters.trim().toLowerCase()));
}

/** How long bans last, in seconds; null until they are lifted, and `''` until a time that is typed. */
export const ENDS: readonly (readonly [name: string, text: string, seconds: number | null])[] = [
  ['hour', 'In an hour', 3_600],
  ['day', 'In a day', 86_400],
  ['week', 'In a week', 7 * 86_400],
  ['month', 'In 30 days', 30 * 86_400],
  ['year', 'In a year', 365 * 86_400],
  ['time', 'At a time …', 0],
  ['never', 'When it is lifted', null],
];
const LONGEST_S = 315_360_000;

/** In how many seconds a ban ends, or why that cannot be. `time` is as `datetime-local` has it. */
export function endOf(name: string, time: string, nowMs: number): { readonly seconds: number | null } | { readonly error: string } {
  const [, , length] = ENDS.find(([one]) => one === name) ?? ['', '', null];
  if (name !== 'time') return { seconds: length };
  const seconds = Math.ceil((Date.parse(time) - nowMs) / 1_000);
  if (!(seconds >= 1)) return { error: BANS.endPast };
  return seconds <= LONGEST_S ? { seconds } : { error: BANS.endFar };
}

/** When a ban ends that is made now. */
export const endText = (seconds: number | null, nowMs: number) => (seconds === null ? BANS.endless : BANS.endsAt(dateTime(new Date(nowMs + seconds * 1_000).toISOString())));

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const PLAYER = new RegExp(`^(?:.*/hunters/)?(${UUID})(?:[?#].*)?$`, 'i');

/** The id of a player that the operator typed, or the one in a link of a hunter's page. Ids of tables and matches look the same: other links are none. */
export const playerIn = (text: string): string | null => PLAYER.exec(text.trim())?.[1]?.toLowerCase() ?? null;

/** How many addresses a network holds, where that can be read: `256 addresses`. */
export function addressesText(address: string): string {
  const [, network = '', bits] = /^([0-9a-f:.]+)(?:\/(\d{1,3}))?$/i.exec(address.trim()) ?? [];
  const isV4 = /^\d+(\.\d+){3}$/.test(network);
  const whole = isV4 ? 32 : 128;
  const free = whole - Number(bits ?? whole);
  if (!network || free < 0) return '';
  if (free === 0) return '1 address';
  return isV4 ? `${number(2 ** free)} addresses` : `all addresses whose first ${number(whole - free)} bits are the same`;
}

/** Bans of this account, guest or address. */
export const bansOfPath = (id: string) => `/operate?tab=bans&q=${encodeURIComponent(id)}`;
