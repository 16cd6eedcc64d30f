// What an operator can end: of each kind where it is listed, how one is found by its id, and what ends it.
import { api, type Schemas } from '../api/client.ts';
import { dateTime } from '../common/format.ts';
import type { Answer } from '../common/resource.svelte.ts';
import { count } from '../competitions/words.ts';
import { phaseText } from '../stories/words.ts';
import { competitionText, END, inspectionFacts, type KindName, snakesText, storyTitle } from './words.ts';

/** One thing that may be ended. */
export interface Target {
  readonly id: string;
  readonly name: string;
  /** Its page; empty where it has none. */
  readonly href: string;
  readonly facts: readonly string[];
  readonly state: string;
  readonly at: string;
  /** Why it cannot be ended; empty where it can. */
  readonly endRefusal: string;
  /** Whom an operator may want to ban for it. */
  readonly people?: readonly { readonly player: string; readonly name: string }[];
  /** A match that failed can be played on. */
  readonly canRequeue?: boolean;
}

export interface Kind {
  readonly name: KindName;
  readonly list: (after: string | undefined) => Promise<Answer<readonly Target[]>>;
  readonly find: (id: string) => Promise<Answer<Target>>;
  readonly end: (id: string) => Promise<Answer<unknown>>;
}

const BUILT_IN = ['plaza', 'hunt'];
const OVER = 'It is over.';

/** An answer whose value is read as something else; a refusal stays what it is. */
async function read<A, B>(request: Promise<Answer<A>>, as: (value: A) => B): Promise<Answer<B>> {
  const { data, error, response } = await request;
  return data === undefined ? { error, response } : { data: as(data), response };
}
const readAll = <A>(request: Promise<Answer<readonly A[]>>, as: (value: A) => Target) => read(request, (rows) => rows.map(as));
const page = (after: string | undefined) => ({ query: { limit: 100, ...(after ? { after } : {}) } });

export const tableOf = (row: Schemas['StoryListed']): Target => ({
  id: row.table,
  name: storyTitle(row.sentence, row.storyteller_name),
  href: `/stories/${row.table}`,
  facts: [count(row.players, 'seat taken', 'seats taken')],
  state: phaseText(row.phase),
  at: row.created_at,
  endRefusal: '',
});

export function tableOfState({ table, game, members }: Schemas['StoryState']): Target {
  const isLive = game !== null && !['complete', 'canceled'].includes(game.phase);
  const names = members.map(({ name }) => name).join(', ');
  return {
    id: table,
    name: storyTitle(game?.sentence ?? null, members.find(({ player }) => player === game?.storyteller)?.name ?? null),
    href: `/stories/${table}`,
    facts: names ? [names] : [],
    state: game ? phaseText(game.phase) : 'no game',
    at: '',
    endRefusal: isLive ? '' : 'No game is played there now.',
    people: members.flatMap(({ is_bot, name, player }) => (is_bot ? [] : [{ player, name }])),
  };
}

export const gameOf = (row: Schemas['GameSummary']): Target => ({
  id: row.id,
  name: snakesText(row.snakes.map(({ name }) => name)),
  href: `/games/${row.id}`,
  facts: [row.game_type, row.board.replace('x', '×'), ...competitionText(row.competition?.kind)],
  state: row.status,
  at: row.created_at,
  endRefusal: ['waiting', 'running'].includes(row.status) ? '' : OVER,
  canRequeue: row.status === 'failed',
});

export const inspected = (row: Schemas['Inspection']): Target => ({
  id: row.id,
  name: `Match ${row.id}`,
  href: `/games/${row.id}`,
  facts: inspectionFacts(row),
  state: row.status,
  at: row.created_at,
  endRefusal: ['waiting', 'running'].includes(row.status) ? '' : OVER,
  people: [{ player: row.account_id, name: END.itsAccount }],
  canRequeue: row.status === 'failed',
});

const builtIn = (name: string) => (BUILT_IN.includes(name) ? 'The server makes it itself.' : '');

export const huntOf = (row: Schemas['HuntView']): Target => ({
  id: row.name,
  name: row.name,
  href: `/hunts/${row.name}`,
  facts: [`${row.width}×${row.height}`, row.admission, count(row.players, 'player'), ...(row.address ? [`on ${row.address}`] : [])],
  state: row.ends_at ? `until ${dateTime(row.ends_at)}` : 'stays',
  at: row.created_at,
  endRefusal: builtIn(row.name),
});

export const worldOf = (row: Schemas['WorldView']): Target => ({
  id: row.name,
  name: row.name,
  href: `/world?world=${row.name}`,
  facts: [row.kind, `${row.width}×${row.height}`, ...(row.address ? [`on ${row.address}`] : [])],
  state: row.ends_at ? `until ${dateTime(row.ends_at)}` : 'stays',
  at: row.created_at,
  endRefusal: builtIn(row.name),
});

export const tournamentOf = (row: Schemas['TournamentSummary'] | Schemas['TournamentDetails']): Target => ({
  id: row.id,
  name: row.name,
  href: `/tournaments/${row.id}`,
  facts: [count(row.games_created, 'game'), row.is_public ? 'public' : 'private'],
  state: row.status,
  at: row.created_at,
  endRefusal: ['scheduled', 'running'].includes(row.status) ? '' : OVER,
});

export const ladderOf = (row: Schemas['Leaderboard'] | Schemas['LeaderboardDetails']): Target => ({
  id: row.id,
  name: row.name,
  href: `/ladders/${row.id}`,
  facts: [row.game_type, row.board.replace('x', '×'), row.is_public ? 'public' : 'private', ...('entries_active' in row ? [count(Number(row.entries_active), 'bot')] : [])],
  state: row.active ? 'running' : 'ended',
  at: row.created_at,
  endRefusal: row.active ? '' : OVER,
});

export const KINDS: readonly Kind[] = [
  {
    name: 'tables',
    list: (after) => readAll(api.GET('/api/stories/lobby', { params: page(after) }), tableOf),
    find: (table) => read(api.GET('/api/stories/tables/{table}', { params: { path: { table } } }), tableOfState),
    end: (table) => api.DELETE('/api/stories/tables/{table}', { params: { path: { table } } }),
  },
  {
    name: 'games',
    list: (after) => readAll(api.GET('/api/games', { params: page(after) }), gameOf),
    find: (id) => read(api.GET('/api/admin/games/{id}', { params: { path: { id } } }), inspected),
    end: (id) => api.POST('/api/admin/games/{id}/cancel', { params: { path: { id } } }),
  },
  {
    name: 'hunts',
    list: (after) => readAll(api.GET('/api/hunts', { params: page(after) }), huntOf),
    find: (name) => read(api.GET('/api/hunts/{name}', { params: { path: { name } } }), huntOf),
    end: (name) => api.DELETE('/api/hunts/{name}', { params: { path: { name } } }),
  },
  {
    name: 'worlds',
    list: (after) => readAll(api.GET('/api/worlds', { params: page(after) }), worldOf),
    find: (world) => read(api.GET('/api/worlds/{world}', { params: { path: { world } } }), worldOf),
    end: (world) => api.DELETE('/api/worlds/{world}', { params: { path: { world } } }),
  },
  {
    name: 'tournaments',
    list: (after) => readAll(api.GET('/api/tournaments', { params: page(after) }), tournamentOf),
    find: (id) => read(api.GET('/api/tournaments/{id}', { params: { path: { id } } }), tournamentOf),
    end: (id) => api.POST('/api/tournaments/{id}/cancel', { params: { path: { id } } }),
  },
  {
    name: 'ladders',
    list: (after) => readAll(api.GET('/api/leaderboards', { params: page(after) }), ladderOf),
    find: (id) => read(api.GET('/api/leaderboards/{id}', { params: { path: { id } } }), ladderOf),
    end: (id) => api.DELETE('/api/leaderboards/{id}', { params: { path: { id } } }),
  },
];

export const requeue = (id: string) => api.POST('/api/admin/games/{id}/requeue', { params: { path: { id } } });

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i;
const NAME = /^[a-z0-9][a-z0-9-]{0,63}$/;

/** The id that the operator typed, or the one in the link that they copied: a UUID, and of hunts and worlds a name. Null where there is none. */
export function idIn(text: string, kind: KindName): string | null {
  const typed = text.trim();
  if (kind !== 'hunts' && kind !== 'worlds') return UUID.exec(typed)?.[0].toLowerCase() ?? null;
  const name = /[?&]world=([^&#]+)/.exec(typed)?.[1] ?? typed.split(/[?#]/)[0]?.split('/').filter(Boolean).at(-1) ?? '';
  return NAME.test(name) ? name : null;
}
