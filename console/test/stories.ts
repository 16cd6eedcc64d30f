// A table of Stories for pages under test: one game that the test brings to any phase, seen by a storyteller, a player, a member or a
// visitor, with a feed that the test holds. Played into a page by Playwright's routes, so that no port is opened.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page, WebSocketRoute } from 'playwright-core';
import type { Game, Listed, Phase, Role, Seat, TableEvent, View } from '../src/stories/protocol.ts';
import { apply } from '../src/stories/state.ts';
import { FakeApi } from './api.ts';

export const TABLE = '01a218ac-2214-766e-97a4-ec982899ca6f';
export const GAME = `${TABLE}-3`;
export const PEOPLE = ['Ann', 'Ben', 'Cam', 'Dan'] as const;
export const playerOf = (name: string) => `01a218ac-20b8-7b40-a707-0000000000${(10 + PEOPLE.indexOf(name as 'Ann')).toString()}`;
const [ANN, BEN, CAM, DAN] = PEOPLE.map(playerOf) as [string, string, string, string];
/** Who looks, by role: Dan sits out, Eve is a stranger. */
export const VIEWERS: Readonly<Record<Role, string | null>> = { storyteller: ANN, player: BEN, member: DAN, visitor: null };

const HANDS: Readonly<Record<string, readonly number[]>> = { [ANN]: [7, 12, 20, 28, 33, 36], [BEN]: [1, 5, 9, 16, 22, 30], [CAM]: [2, 4, 11, 18, 25, 31] };
const PICKS: Readonly<Record<string, number>> = { [ANN]: 20, [BEN]: 9, [CAM]: 25 };
const VOTES: Readonly<Record<string, number>> = { [BEN]: 20, [CAM]: 9 };
const POINTS: Readonly<Record<string, number>> = { [ANN]: 12, [BEN]: 7, [CAM]: 1 };
export const SENTENCE = 'Not all that shines wants to be free';
export const BOARD = [9, 25, 20];
const AT = '2026-11-26T12:00:00.000Z';
const ORDER: readonly Phase[] = ['create', 'invitation', 'vote', 'complete'];

interface Shown {
  readonly phase: Phase;
  readonly role: Role;
  /** Whether the others have picked, or voted, in this phase. */
  readonly isDone?: boolean;
  readonly change?: (view: View) => View;
}

/** The table as the server would show it to this viewer, and no more. */
export function viewOf({ phase, role, isDone = false, change = (view) => view }: Shown): View {
  const me = VIEWERS[role];
  const at = phase === 'canceled' ? 1 : ORDER.indexOf(phase);
  const [hasPicks, hasVotes] = [at > 1 || (at === 1 && isDone), at > 2 || (at === 2 && isDone)];
  const sees = (player: string) => at === 3 || role === 'storyteller' || player === me;
  const seat = (name: string): Seat => {
    const player = playerOf(name);
    const [isTeller, hasPicked] = [player === ANN, player === ANN ? at > 0 : hasPicks];
    const hasVoted = !isTeller && hasVotes;
    return {
      player,
      name,
      level: 1 + PEOPLE.indexOf(name as 'Ann'),
      is_bot: false,
      has_left: false,
      has_picked: hasPicked,
      picked: hasPicked && sees(player) ? (PICKS[player] ?? null) : null,
      has_voted: hasVoted,
      vote: hasVoted && sees(player) ? (VOTES[player] ?? null) : null,
      hand: role === 'storyteller' || player === me ? [...(HANDS[player] ?? [])] : null,
      has_won: at === 3 ? player !== CAM : null,
      points: at === 3 ? (POINTS[player] ?? null) : null,
      standing: player === me ? { score: 19, level: 3, score_next: 21, score_left: 14, score_prev: 12, level_prev: 2, earned_cards: [38, 41], earned_cards_last: at === 3 ? [41] : [] } : null,
    };
  };
  const mine = me === null || role === 'member' ? null : { hand: [...(HANDS[me] ?? [])], picked: me === ANN ? (at > 0 ? 20 : null) : hasPicks ? (PICKS[me] ?? null) : null, vote: me !== ANN && hasVotes ? (VOTES[me] ?? null) : null };
  const soon = new Date(Date.now() + 45_000).toISOString();
  const game: Game = {
    id: GAME,
    number: 3,
    phase,
    canceled_in: phase === 'canceled' ? 'invitation' : null,
    because: phase === 'canceled' ? 'inactivity' : phase === 'complete' ? 'storyteller' : null,
    storyteller: ANN,
    sentence: at > 0 ? SENTENCE : null,
    has_winner_card: at > 0,
    winner_card: at > 0 && sees(ANN) ? 20 : null,
    board: at > 1 ? [...BOARD] : role === 'storyteller' ? [] : null,
    dealt: null,
    invited: role === 'storyteller' ? [] : null,
    is_ready: isDone && at < 3,
    countdown_at: isDone && at > 0 && at < 3 ? soon : null,
    countdown_ms: 60_000,
    inactive_at: null,
    tell_by: at === 0 ? soon : null,
    players_max: 4,
    own: mine,
    players: ['Ann', 'Ben', 'Cam'].map(seat),
    created_at: AT,
    ended_at: at === 3 || phase === 'canceled' ? AT : null,
  };
  const isOver = phase === 'complete' || phase === 'canceled';
  return change({
    table: TABLE,
    seq: 20,
    committed_at_us: null,
    game,
    role,
    members: PEOPLE.map((name) => ({ player: playerOf(name), name, level: 1, is_bot: false })),
    next_storyteller: isOver ? { player: BEN, until: soon } : null,
    bots: false,
    chat: role === 'visitor' ? [] : [{ at: AT, game: GAME, player: CAM, kind: 'said', text: 'Hello <b>you</b>' }],
    settings: { players_max: 4, hand: 6, deck: 36, picked_min: 3, voted_min: 2, countdown_ms: 60_000, game_timeout_ms: 86_400_000, next_storyteller_timeout_ms: 60_000 },
    presence: { online: [ANN, BEN] },
  });
}

type Kind<T> = T extends unknown ? Omit<T, 'seq' | 'at' | 'game'> : never;

/** The events of a game from its start, as this viewer may know them. */
export function eventsOf(me: string | null): TableEvent[] {
  const card = (player: string, number: number) => (player === me || me === ANN ? number : null);
  const hand = (player: string) => (player === me || me === ANN ? [...(HANDS[player] ?? [])] : null);
  const kinds: Kind<TableEvent>[] = [
    { type: 'started', storyteller: ANN, name: 'Ann', unseated: [] },
    { type: 'joined', player: BEN, name: 'Ben', is_bot: false, hand: hand(BEN) },
    { type: 'joined', player: CAM, name: 'Cam', is_bot: false, hand: hand(CAM) },
    { type: 'card_chosen', card: card(ANN, 20) },
    { type: 'story_told', sentence: SENTENCE },
    { type: 'picked', player: BEN, card: card(BEN, 9), countdown_at: null },
    { type: 'picked', player: CAM, card: card(CAM, 25), countdown_at: AT },
    { type: 'voting_opened', board: [...BOARD], removed: [], because: 'countdown' },
    { type: 'voted', player: BEN, card: card(BEN, 20), countdown_at: null },
    { type: 'voted', player: CAM, card: card(CAM, 9), countdown_at: AT },
    { type: 'completed', because: 'storyteller', results: [ANN, BEN, CAM].map((player) => ({ player, picked: PICKS[player] ?? null, vote: VOTES[player] ?? null, points: POINTS[player] ?? null, has_won: player !== CAM })) },
    { type: 'next_storyteller', player: BEN, until: AT },
  ];
  return kinds.map((kind, at) => ({ ...kind, seq: at + 1, at: AT, game: GAME }) as TableEvent);
}

/** Rows of a list, newest first. */
export function listedGames(count: number, phase: Phase): Listed[] {
  return Array.from({ length: count }, (_, at) => {
    const table = `01a218ac-2214-766e-97a4-${at.toString(16).padStart(12, '0')}`;
    const ended_at = phase === 'complete' ? AT : null;
    return { id: `${table}-1`, table, phase, storyteller: ANN, storyteller_name: `Teller ${at}`, sentence: phase === 'create' ? null : `Sentence number ${at}`, players: 3, players_max: 6, created_at: AT, ended_at };
  });
}

export class FakeTable extends FakeApi {
  view: View;
  /** Cursors of the feeds that were opened. */
  readonly cursors: (string | null)[] = [];
  /** Sockets are refused. */
  isSilent = false;
  #sockets = new Set<WebSocketRoute>();

  constructor(readonly shown: Shown) {
    super();
    this.view = viewOf(shown);
    const me = VIEWERS[shown.role];
    this.session = me === null ? null : { player: me, role: 'guest', name: PEOPLE.find((name) => playerOf(name) === me), is_guest: true, expires_at: AT };
    this.on('GET /api/stories/cards/{card}.svg', ({ params }) => ({ body: picture(Number(params[0])), headers: { 'content-type': 'image/svg+xml' } }));
    this.on('GET /api/stories/tables/{table}', ({ params }) => (params[0] === TABLE ? { json: this.view } : { status: 404, json: { code: 'no_such_table', detail: 'there is no such table' } }));
    this.on('GET /api/stories/games/{game}/history', { json: { game: GAME, events: eventsOf(me) } });
    for (const list of ['lobby', 'history', 'my-games']) this.on(`GET /api/stories/${list}`, { json: [] });
    this.on('GET /api/stories/players/{player}', ({ params }) => ({ json: { player: params[0], name: 'Ann', level: 3, standing: { score: 19, level: 3, score_next: 21, score_left: 14, score_prev: 12, level_prev: 2, earned_cards: [38, 41], earned_cards_last: [41] } } }));
  }

  /** Answers an action with the view as it is after this. */
  does(action: string, change: (view: View) => View) {
    return this.on(`POST /api/stories/games/{game}/${action}`, () => {
      this.view = { ...change(this.view), seq: (this.view.seq ?? 0) + 1 };
      return { json: this.view };
    });
  }

  override async playInto(page: Page) {
    await super.playInto(page);
    await page.routeWebSocket(/\/socket/, (socket) => {
      this.cursors.push(new URL(socket.url()).searchParams.get('after'));
      if (this.isSilent || this.isDown) return void socket.close({ code: 1011 });
      this.#sockets.add(socket);
      socket.onClose(() => this.#sockets.delete(socket));
      if (!new URL(socket.url()).searchParams.has('after')) socket.send(JSON.stringify({ type: 'view', ...this.view }));
    });
  }

  get readers() {
    return this.#sockets.size;
  }

  /** Something happened, and the view that is asked for has it already: this one, or what the event makes of the one before. */
  happened(kind: Kind<TableEvent>, view?: View) {
    const seq = (this.view.seq ?? 0) + 1;
    const event = { ...kind, seq, at: new Date().toISOString(), game: this.view.game?.id ?? null } as TableEvent;
    this.view = { ...(view ?? apply(this.view, event, VIEWERS[this.shown.role])), seq };
    this.send({ type: 'update', seq, events: [event], presence: this.view.presence, committed_at_us: Date.now() * 1_000, timed_out: false });
  }

  send(message: object) {
    for (const socket of this.#sockets) socket.send(JSON.stringify(message));
  }

  hangUp(code = 1012, reason = '') {
    for (const socket of this.#sockets) void socket.close({ code, reason });
    this.#sockets.clear();
  }
}

const PICTURES = join(import.meta.dirname, '../../crates/cards/pictures');
export const picture = (card: number) => readFileSync(join(PICTURES, `${`${card}`.padStart(2, '0')}.svg`), 'utf8');
