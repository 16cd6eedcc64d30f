// A table as its viewer sees it, brought on by the events of the feed. What an event does not tell (the hand that was dealt with a new
// game, levels, what a game has earned) makes the view stale: the whole view is asked for then, and replaces this one. Pure.
import type { ChatLine, Game, Mine, Seat, TableEvent, Update, View } from './protocol.ts';

export interface Received {
  readonly view: View;
  /** Something is not as the server has it: ask for the whole view. */
  readonly isStale: boolean;
}

/** Events after which only the server knows all that the viewer may see. */
const UNTOLD = new Set<TableEvent['type']>(['started', 'joined', 'left', 'voting_opened', 'completed', 'canceled']);

/** The view after these events. What it has already is left out. */
export function receive(view: View, update: Update, me: string | null): Received {
  const events = update.events.filter(({ seq }) => view.seq === null || seq > view.seq);
  const isWhole = events.every(({ seq }, at) => view.seq === null || seq === view.seq + at + 1);
  const next = events.reduce((before, event) => apply(before, event, me), { ...view, presence: update.presence });
  return { view: { ...next, seq: Math.max(view.seq ?? 0, update.seq) }, isStale: !isWhole || events.some(({ type }) => UNTOLD.has(type)) };
}

/** The newer of two views of one viewer. */
export function newest(known: View | null, answer: View): View {
  return known?.seq !== undefined && known.seq !== null && answer.seq !== null && known.seq > answer.seq ? known : answer;
}

/** What a table looks like before its first event: where a game is played again from its history. */
export function emptyView(table: string): View {
  const presence = { online: [] };
  return { table, seq: null, committed_at_us: null, game: null, role: 'visitor', members: [], next_storyteller: null, bots: false, chat: [], settings: null, presence };
}

/** The views of a game that is over, one for each thing that happened. */
export function replay(table: string, events: readonly TableEvent[], me: string | null): readonly View[] {
  let view = emptyView(table);
  return events.map((event) => (view = apply(view, event, me)));
}

export function apply(view: View, event: TableEvent, me: string | null): View {
  switch (event.type) {
    case 'started':
      return started(view, event, me);
    case 'joined': {
      const { player, name, is_bot, hand } = event;
      const member = { player, name, level: 1, is_bot };
      const members = view.members.some((other) => other.player === player) ? view.members : [...view.members, member];
      const seat: Seat = { ...NO_SEAT, player, name, is_bot, hand };
      const own = player === me && hand ? { hand, picked: null, vote: null } : (view.game?.own ?? null);
      const role = player === me ? 'player' : view.role;
      return { ...inGame(view, (game) => ({ ...game, own, invited: without(game.invited, player), players: [...game.players.filter((other) => other.player !== player), seat] })), members, role };
    }
    case 'left':
      return left(view, event, me);
    case 'card_chosen':
      return inGame(view, (game) => ({
        ...seated(game, game.storyteller, { has_picked: true, picked: event.card }),
        own: game.own && game.storyteller === me ? { ...game.own, picked: event.card } : game.own,
        has_winner_card: true,
        winner_card: event.card,
        // Before the vote, the storyteller alone sees the own card there.
        board: event.card === null ? game.board : [event.card],
      }));
    case 'story_told': {
      const told = inGame(view, (game) => ({ ...game, phase: 'invitation', sentence: event.sentence, tell_by: null, countdown_at: null, is_ready: false }));
      return said(told, event, 'story_told', view.game?.storyteller ?? '', event.sentence);
    }
    case 'invited':
      return inGame(view, (game) => ({ ...game, invited: game.invited && [...game.invited, ...event.players] }));
    case 'picked':
      return inGame(view, (game) => ({
        ...counting(seated(game, event.player, { has_picked: true, picked: event.card }), event.countdown_at),
        own: game.own && event.player === me ? { ...game.own, picked: event.card } : game.own,
      }));
    case 'voted':
      return inGame(view, (game) => ({
        ...counting(seated(game, event.player, { has_voted: true, vote: event.card }), event.countdown_at),
        own: game.own && event.player === me ? { ...game.own, vote: event.card } : game.own,
      }));
    case 'countdown_set':
      return inGame(view, (game) => ({ ...counting(game, event.countdown_at), countdown_ms: event.countdown_ms ?? view.settings?.countdown_ms ?? game.countdown_ms }));
    case 'voting_opened': {
      const isOut = me !== null && event.removed.includes(me);
      const opened = inGame(view, (game) => ({
        ...counting(game, null),
        phase: 'vote',
        board: event.board,
        invited: game.invited && [],
        own: isOut ? null : game.own,
        players: game.players.filter(({ player }) => !event.removed.includes(player)),
      }));
      return isOut ? { ...opened, role: 'member' } : opened;
    }
    case 'completed':
      return inGame(view, (game) => completed(game, event));
    case 'canceled': {
      const canceled = inGame(view, (game) => ({ ...counting(game, null), phase: 'canceled', invited: game.invited && [], canceled_in: game.phase, because: event.because, tell_by: null, ended_at: event.at }));
      // A storyteller who leaves ends the game: no other event tells it.
      return event.because === 'storyteller_left' ? risen(canceled, view.game?.storyteller ?? null, me) : canceled;
    }
    case 'said':
      return said(view, event, 'said', event.player, event.text);
    case 'bots_set':
      return { ...view, bots: event.are_on };
    case 'next_storyteller':
      return { ...view, next_storyteller: event.player === null ? null : { player: event.player, until: event.until } };
  }
}

const NO_SEAT: Seat = {
  player: '',
  name: '',
  level: 1,
  is_bot: false,
  has_left: false,
  has_picked: false,
  picked: null,
  has_voted: false,
  vote: null,
  hand: null,
  has_won: null,
  points: null,
  standing: null,
};

function started(view: View, event: Extract<TableEvent, { type: 'started' }>, me: string | null): View {
  const { storyteller, name, unseated } = event;
  const stay = view.members.filter(({ player }) => !unseated.includes(player));
  const members = stay.some(({ player }) => player === storyteller) ? stay : [...stay, { player: storyteller, name, level: 1, is_bot: false }];
  const known = members.find(({ player }) => player === storyteller);
  const id = event.game ?? '';
  const game: Game = {
    id,
    number: Number(id.slice(id.lastIndexOf('-') + 1)),
    phase: 'create',
    canceled_in: null,
    because: null,
    storyteller,
    sentence: null,
    has_winner_card: false,
    winner_card: null,
    // The storyteller alone sees the board before the vote, and who is invited.
    board: storyteller === me ? [] : null,
    dealt: null,
    invited: storyteller === me ? [] : null,
    is_ready: false,
    countdown_at: null,
    countdown_ms: view.settings?.countdown_ms ?? 0,
    inactive_at: null,
    tell_by: null,
    players_max: view.settings?.players_max ?? 0,
    own: null,
    players: [{ ...NO_SEAT, player: storyteller, name, level: known?.level ?? 1, is_bot: known?.is_bot ?? false }],
    created_at: event.at,
    ended_at: null,
  };
  const isMember = members.some(({ player }) => player === me);
  const role = storyteller === me ? 'storyteller' : isMember ? 'member' : 'visitor';
  return { ...view, game, role, members, next_storyteller: null, chat: isMember ? view.chat : [] };
}

/** Before the vote a seat becomes free; in it and after, what was played stays. */
function left(view: View, { player, countdown_at }: Extract<TableEvent, { type: 'left' }>, me: string | null): View {
  const after = inGame(view, (game) => {
    const isEarly = game.phase === 'create' || game.phase === 'invitation';
    const players = isEarly ? game.players.filter((seat) => seat.player !== player) : game.players;
    const stays = game.phase === 'vote' ? seated(game, player, { has_left: true }) : { ...game, players };
    return { ...(game.ended_at === null ? counting(stays, countdown_at) : stays), own: player === me ? null : game.own };
  });
  return risen(after, player, me);
}

/** Without this member, who left the table. */
function risen(view: View, player: string | null, me: string | null): View {
  const members = view.members.filter((member) => member.player !== player);
  return player === me ? { ...view, members, role: 'visitor', chat: [] } : { ...view, members };
}

function completed(game: Game, event: Extract<TableEvent, { type: 'completed' }>): Game {
  const players = game.players.map((seat) => {
    const result = event.results.find(({ player }) => player === seat.player);
    if (!result) return seat;
    const { picked, vote, points, has_won } = result;
    return { ...seat, picked, vote, points, has_won, has_picked: picked !== null, has_voted: vote !== null };
  });
  const winner = event.results.find(({ player }) => player === game.storyteller)?.picked ?? game.winner_card;
  return { ...counting(game, null), phase: 'complete', players, winner_card: winner, because: event.because, ended_at: event.at };
}

function inGame(view: View, change: (game: Game) => Game): View {
  return view.game ? { ...view, game: change(view.game) } : view;
}

/** Who is invited and has not joined yet. */
function without(invited: Game['invited'], player: string | null): Game['invited'] {
  return invited?.filter((other) => other !== player) ?? null;
}

function seated(game: Game, player: string | null, change: Partial<Seat>): Game {
  return { ...game, players: game.players.map((seat) => (seat.player === player ? { ...seat, ...change } : seat)) };
}

/** A countdown runs exactly while there are enough picks or votes. */
function counting(game: Game, countdown_at: string | null): Game {
  return { ...game, countdown_at, is_ready: countdown_at !== null };
}

function said(view: View, event: TableEvent, kind: ChatLine['kind'], player: string, text: string): View {
  if (view.role === 'visitor') return view;
  return { ...view, chat: [...view.chat, { at: event.at, game: event.game ?? '', player, kind, text }].slice(-CHAT_LINES_MAX) };
}

/** As many as the server remembers. */
const CHAT_LINES_MAX = 50;

/** Lines of others after the last one that was seen. */
export function unread(chat: readonly ChatLine[], me: string | null, seenAt: string): number {
  return chat.filter(({ at, kind, player }) => kind === 'said' && player !== me && at > seenAt).length;
}

/** Whether another person may sit down. */
export function hasFreeSeat({ game }: View): boolean {
  return game !== null && (game.phase === 'create' || game.phase === 'invitation') && game.players.length < game.players_max;
}

export const isOver = (game: Game | null) => game === null || game.phase === 'complete' || game.phase === 'canceled';

/** Whether this viewer may open the table's next game now. */
export function mayTellNext(view: View, me: string | null): boolean {
  return isOver(view.game) && (view.next_storyteller === null || view.next_storyteller.player === me);
}

export interface Friend {
  readonly player: string;
  readonly name: string;
  readonly isInvited: boolean;
}

/** Whom the viewer may ask to play by name: those who sit out here, and storytellers of games they played. */
export function acquainted(view: View, played: readonly Mine[], me: string | null): readonly Friend[] {
  const seated = new Set(view.game?.players.map(({ player }) => player));
  const invited = new Set(view.game?.invited);
  const names = new Map<string, string>();
  for (const { player, name, is_bot } of view.members) if (!is_bot) names.set(player, name);
  for (const { storyteller, storyteller_name } of played) if (storyteller_name !== null && !names.has(storyteller)) names.set(storyteller, storyteller_name);
  const friends = [...names].filter(([player]) => player !== me && !seated.has(player) && !player.startsWith(BOT_PREFIX));
  return friends.map(([player, name]) => ({ player, name, isInvited: invited.has(player) }));
}

/** Ids of built-in bots carry no time. */
const BOT_PREFIX = '00000000-0000-';
