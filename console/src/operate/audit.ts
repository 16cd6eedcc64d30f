// The audit log, as the page for operators reads it. Pure.
import type { Schemas } from '../api/client.ts';
import { kindOf, type BanView } from './bans.ts';
import { AUDIT } from './words.ts';

export type AuditEntry = Schemas['AuditEntryView'];

/** Operations that leave an entry, by what they are about: `operationId`, and what its caller did. */
export const OPERATIONS: readonly (readonly [about: string, operations: readonly (readonly [name: string, did: string])[]])[] = [
  ['Bans and accounts', [
    ['create_ban', 'made a ban'],
    ['lift_ban', 'lifted a ban'],
    ['disable_account', 'disabled an account'],
    ['enable_account', 'enabled an account'],
    ['delete_account', 'deleted an account'],
    ['delete_own_account', 'deleted the own account'],
    ['create_account', 'made an account'],
    ['create_token_for', 'made a token for an account'],
    ['create_token', 'made a token'],
    ['delete_account_token', 'deleted a token of an account'],
    ['delete_token', 'deleted an own token'],
    ['create_invite', 'invited somebody'],
    ['delete_invite', 'withdrew an invitation'],
    ['create_sign_in_link', 'made a sign-in link'],
  ]],
  ['Games', [
    ['close_table', 'ended a game of Stories'],
    ['cancel_any_game', 'cancelled a match'],
    ['requeue_game', 'put a match back into the queue'],
    ['end_hunt', 'ended a hunt'],
    ['cancel_ticket', 'cancelled a search for a hunt'],
    ['end_world', 'ended a world'],
    ['set_actors', 'set the actors of a world'],
  ]],
  ['Competitions', [
    ['end_leaderboard', 'ended a ladder'],
    ['recompute_ratings', 'rated a ladder anew'],
    ['delete_entry', 'took a bot out of a ladder'],
    ['delete_invitation', 'withdrew an invitation to a ladder'],
    ['cancel_tournament', 'cancelled a tournament'],
    ['start_tournament', 'started a tournament'],
    ['set_seeds', 'set the seeds of a tournament'],
    ['withdraw', 'took a bot out of a tournament'],
    ['invite_account', 'invited an account to a tournament'],
  ]],
  ['Server', [
    ['put_policy', 'set a policy of the limiter'],
    ['delete_policy', 'deleted a policy of the limiter'],
    ['put_override', 'set a key’s own quota'],
    ['delete_override', 'deleted a key’s own quota'],
    ['set_aggregator', 'paused or resumed the counting of hunts'],
    ['drain', 'drained a node'],
    ['start_run', 'started a trial'],
    ['stop_run', 'stopped a trial'],
  ]],
];
const DID = new Map(OPERATIONS.flatMap(([, operations]) => operations));

/** What was done, in words; of an operation that this page does not know, its name. */
export const actionText = (action: string): string => DID.get(action) ?? action;

/** Who did it. */
export const whoText = ({ account, account_name }: AuditEntry): string => account_name ?? account ?? AUDIT.commandLine;

/** Which outcomes are shown, by the name in the URL. */
export const OUTCOMES = [
  { name: '', text: 'Any' },
  { name: 'done', text: 'Done' },
  { name: 'refused', text: 'Refused' },
] as const;

export const isOutcome = ({ outcome }: AuditEntry, wanted: string) => wanted === '' || (outcome === 'done') === (wanted === 'done');

/** What the URL asks for. */
export interface AuditFilter {
  readonly account: string;
  readonly action: string;
  readonly target: string;
  /** RFC 3339, as in the API. */
  readonly from: string;
  readonly until: string;
  readonly outcome: string;
}
export const FILTERS = ['account', 'action', 'target', 'from', 'until', 'outcome'] as const;

export const filterIn = (query: (name: string) => string | null) => Object.fromEntries(FILTERS.map((name) => [name, query(name) ?? ''])) as unknown as AuditFilter;

/** The log, with what is asked for. */
export function auditPath(filter: Partial<AuditFilter> & { readonly entry?: string }): string {
  const query = new URLSearchParams({ tab: 'audit' });
  for (const [name, value] of Object.entries(filter)) if (value) query.set(name, value);
  return `/operate?${query}`;
}

/** What of it the server filters; it does not filter by outcome. */
export function serverFilter({ outcome: _, ...filter }: AuditFilter): Partial<Record<'account' | 'action' | 'target' | 'from' | 'until', string>> {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== ''));
}

/** The time that an input `datetime-local` has, here; empty where it has none. */
export function timeTyped(local: string): string {
  const ms = Date.parse(local);
  return Number.isNaN(ms) ? '' : new Date(ms).toISOString();
}

/** The same the other way. */
export function timeShown(time: string): string {
  const ms = Date.parse(time);
  if (Number.isNaN(ms)) return '';
  const offsetMs = new Date(ms).getTimezoneOffset() * 60_000;
  return new Date(ms - offsetMs).toISOString().slice(0, 19);
}

const MARGIN_MS = 60_000;

/** The entry of a ban: what was done to its target within a minute of it. */
export function entryOfBan(ban: BanView): string {
  const kind = kindOf(ban);
  const madeMs = Date.parse(ban.created_at);
  const target = ban.address !== null ? `address:${ban.address}` : ban.guest !== null ? `guest:${ban.guest}` : `account:${ban.account}`;
  const at = (ms: number) => new Date(ms).toISOString();
  return auditPath({ action: kind === 'disabled' ? 'disable_account' : 'create_ban', target, from: at(madeMs - MARGIN_MS), until: at(madeMs + MARGIN_MS) });
}

/** The cursor behind which an entry stands first: entries are listed from the newest id on. */
export function cursorBefore(id: string): string {
  const next = (BigInt(`0x${id.replaceAll('-', '')}`) + 1n).toString(16).padStart(32, '0').slice(-32);
  return [next.slice(0, 8), next.slice(8, 12), next.slice(12, 16), next.slice(16, 20), next.slice(20)].join('-');
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
export const isId = (text: string) => UUID.test(text);

const PAGES: Readonly<Record<string, (id: string) => string>> = {
  game: (id) => `/games/${id}`,
  table: (id) => `/stories/${id}`,
  hunt: (name) => `/hunts/${name}`,
  world: (name) => `/world?world=${name}`,
  tournament: (id) => `/tournaments/${id}`,
  leaderboard: (id) => `/ladders/${id}`,
  run: (name) => `/trials/${name}`,
};

/** What `kind:ID` names, where the kind is known: its page, if it has one, and whether it can be banned. */
export function targetParts(target: string): { readonly kind: string; readonly id: string; readonly href: string; readonly isBannable: boolean } {
  const at = target.indexOf(':');
  const [kind, id] = at < 0 ? ['', target] : [target.slice(0, at), target.slice(at + 1)];
  return { kind, id, href: PAGES[kind]?.(encodeURIComponent(id)) ?? '', isBannable: ['account', 'guest', 'address', 'disabled'].includes(kind) };
}
