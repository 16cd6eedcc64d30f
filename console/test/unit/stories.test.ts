// Stories without a page: the feed, the state of a table, words, drafts, the server's time.
import { describe, expect, test } from 'vitest';
import { ServerTime } from '../../src/common/server-time.ts';
import { guarded } from '../../src/common/storage.ts';
import { looksOf } from '../../src/common/words.ts';
import { CARDS, cardTitle } from '../../src/stories/cards.ts';
import { Drafts } from '../../src/stories/drafts.ts';
import { Feed, type Socket } from '../../src/stories/feed.ts';
import { charsOf, gameIn, gamePath, type Message, readMessage, type TableEvent, type Update, type View } from '../../src/stories/protocol.ts';
import { tableRequest, WITH_BOTS } from '../../src/stories/settings.ts';
import { acquainted, apply, hasFreeSeat, mayTellNext, newest, receive, replay, unread } from '../../src/stories/state.ts';
import { eventText, headline, isDone, leaveText, levelShare, listedTitle, outcome, seatText } from '../../src/stories/words.ts';
import { BOARD, eventsOf, GAME, listedGames, picture, PEOPLE, playerOf, SENTENCE, TABLE, VIEWERS, viewOf } from '../stories.ts';

const [ANN, BEN, CAM, DAN] = PEOPLE.map(playerOf) as [string, string, string, string];
const AT = '2026-11-26T12:00:00.000Z';

describe('protocol', () => {
  test.each([
    [null, null],
    ['3', 3],
    ['0', null],
    ['03', null],
    ['-1', null],
    ['1e3', null],
    ['12345678901', null],
  ])('game=%j', (query, want) => expect(gameIn(query)).toBe(want));

  test.each([
    ['{"type":"view","members":[]}', 'view'],
    ['{"type":"update","events":[]}', 'update'],
    ['{"type":"update"}', undefined],
    ['{"type":"other","events":[]}', undefined],
    ['null', undefined],
    ['{', undefined],
    [new ArrayBuffer(2), undefined],
  ])('a message %j', (data, want) => expect(readMessage(data)?.type).toBe(want));

  test('characters are counted as the server counts them', () => expect(['abc', '🦊', 'é'].map(charsOf)).toEqual([3, 1, 1]));
  test('a game has a link', () => expect(gamePath({ table: TABLE, id: GAME })).toBe(`/stories/${TABLE}?game=3`));
});

/** What stays as it is between a view that events made, and the server's own: what no event tells. */
function told({ role, members, next_storyteller, game }: View) {
  const seats = game?.players.map(({ player, name, has_picked, picked, has_voted, vote, hand, has_won, points, has_left }) => ({ player, name, has_picked, picked, has_voted, vote, hand, has_won, points, has_left }));
  const { phase, sentence, has_winner_card, winner_card, board, is_ready, own, storyteller, because } = game ?? {};
  return { role, people: members.map(({ player }) => player).slice(0, 3), next: next_storyteller?.player, phase, sentence, has_winner_card, winner_card, board, is_ready, own, storyteller, because, seats };
}

describe('state', () => {
  const STEPS = { create: 3, invitation: 5, vote: 8, complete: 12 } as const;
  const rows = (['player', 'visitor'] as const).flatMap((role) => Object.entries(STEPS).map(([phase, steps]) => [role, phase as keyof typeof STEPS, steps] as const));
  test.each(rows)('the events make what a %s sees in %s', (role, phase, steps) => {
    const me = VIEWERS[role];
    const view = replay(TABLE, eventsOf(me), me)[steps - 1] as View;
    expect(told(view)).toEqual(told(viewOf({ phase, role })));
  });

  const update = (events: readonly TableEvent[], seq = events.at(-1)?.seq ?? 0): Update => ({ events: [...events], seq, presence: { online: [CAM] }, committed_at_us: null, timed_out: false });
  const event = (seq: number, kind: object) => ({ seq, at: AT, game: GAME, ...kind }) as TableEvent;
  const view = viewOf({ phase: 'invitation', role: 'player' });

  test('what is known already is left out, and who is here is always new', () => {
    const { view: after, isStale } = receive(view, update([event(20, { type: 'said', player: CAM, text: 'old' }), event(21, { type: 'said', player: CAM, text: 'new' })]), BEN);
    expect([after.chat.map(({ text }) => text), after.seq, isStale, after.presence.online]).toEqual([['Hello <b>you</b>', 'new'], 21, false, [CAM]]);
  });

  test.each([
    ['a gap', [event(22, { type: 'said', player: CAM, text: 'late' })], true],
    ['a pick', [event(21, { type: 'picked', player: CAM, card: null, countdown_at: AT })], false],
    ['a new player, whose level is not told', [event(21, { type: 'joined', player: DAN, name: 'Dan', is_bot: false, hand: null })], true],
    ['the end, whose earnings are not told', [event(21, { type: 'completed', results: [], because: 'countdown' })], true],
    ['the start, whose hands are not told', [event(21, { type: 'started', storyteller: BEN, name: 'Ben', unseated: [] })], true],
    ['nothing', [], false],
  ])('after %s the whole view is asked for: %j', (_, events, want) => expect(receive(view, update(events), BEN).isStale).toBe(want));

  test.each([
    ['the countdown runs while there are enough picks', { type: 'picked', player: CAM, card: null, countdown_at: AT }, { is_ready: true, countdown_at: AT }],
    ['and no longer', { type: 'left', player: CAM, countdown_at: null }, { is_ready: false, countdown_at: null }],
    ['a countdown is set', { type: 'countdown_set', countdown_ms: 15_000, countdown_at: AT }, { countdown_ms: 15_000, countdown_at: AT }],
    ['the table has its own again', { type: 'countdown_set', countdown_ms: null, countdown_at: null }, { countdown_ms: 60_000 }],
    ['the game ends', { type: 'canceled', because: 'closed' }, { phase: 'canceled', canceled_in: 'invitation', because: 'closed', ended_at: AT }],
  ])('%s', (_, kind, want) => expect(apply(view, event(21, kind), BEN).game).toMatchObject(want));

  test('a seat becomes free before the vote, and what was played stays in it', () => {
    const left = event(21, { type: 'left', player: CAM, countdown_at: null });
    expect(apply(view, left, BEN).game?.players.map(({ name }) => name)).toEqual(['Ann', 'Ben']);
    const voting = apply(viewOf({ phase: 'vote', role: 'player' }), left, BEN);
    expect(voting.game?.players.map(({ name, has_left }) => [name, has_left])).toEqual([['Ann', false], ['Ben', false], ['Cam', true]]);
    expect(voting.members.map(({ name }) => name)).toEqual(['Ann', 'Ben', 'Dan']);
  });

  test('who leaves, or has not picked when the vote begins, has no cards any more', () => {
    const gone = apply(view, event(21, { type: 'left', player: BEN, countdown_at: null }), BEN);
    expect([gone.role, gone.game?.own, gone.chat]).toEqual(['visitor', null, []]);
    const out = apply(view, event(21, { type: 'voting_opened', board: BOARD, removed: [BEN], because: 'countdown' }), BEN);
    expect([out.role, out.game?.own, out.game?.players.map(({ name }) => name)]).toEqual(['member', null, ['Ann', 'Cam']]);
  });

  test('who sat out is a visitor of the next game', () => {
    const next = apply(viewOf({ phase: 'complete', role: 'member' }), event(21, { type: 'started', storyteller: BEN, name: 'Ben', unseated: [DAN] }), DAN);
    expect([next.role, next.chat, next.members.length, next.game?.storyteller, next.next_storyteller]).toEqual(['visitor', [], 3, BEN, null]);
  });

  test.each([
    [null, 4, 4],
    [5, 4, 5],
    [4, 5, 5],
    [5, 5, 5],
  ])('of views %j and %j the newer one is shown', (known, answer, want) => {
    expect(newest(known === null ? null : { ...view, seq: known }, { ...view, seq: answer }).seq).toBe(want);
  });

  test.each([
    ['create', true],
    ['invitation', true],
    ['vote', false],
    ['complete', false],
  ] as const)('a free seat in %s: %j', (phase, want) => expect(hasFreeSeat(viewOf({ phase, role: 'visitor' }))).toBe(want));

  test('only the next storyteller may tell, or anyone', () => {
    const over = viewOf({ phase: 'complete', role: 'player' });
    expect([mayTellNext(over, BEN), mayTellNext(over, CAM), mayTellNext({ ...over, next_storyteller: null }, CAM), mayTellNext(view, BEN)]).toEqual([true, false, true, false]);
  });

  test('lines of others that were not seen are counted', () => {
    const line = (player: string, at: string, kind = 'said') => ({ at, game: GAME, player, kind, text: '' });
    const chat = [line(CAM, '1'), line(CAM, '2'), line(BEN, '3'), line(ANN, '3', 'story_told'), line(CAM, '4')];
    expect(['', '1', '2', '4'].map((seen) => unread(chat, BEN, seen))).toEqual([3, 2, 1, 0]);
  });

  test('those who may be asked to play: members without a seat, and storytellers of games before, each once, no bots', () => {
    const [mine, bots] = listedGames(2, 'complete').map((game, at) => ({ ...game, storyteller: at ? '00000000-0000-0000-0000-00000b070001' : 'e', role: 'player', has_won: true })) as [never, never];
    const teller = viewOf({ phase: 'invitation', role: 'storyteller', change: (view) => ({ ...view, game: view.game && { ...view.game, invited: [DAN] } }) });
    expect(acquainted(teller, [mine, mine, bots], ANN)).toEqual([{ player: DAN, name: 'Dan', isInvited: true }, { player: 'e', name: 'Teller 0', isInvited: false }]);
  });
});

describe('feed', () => {
  class Pipe implements Socket {
    onmessage: Socket['onmessage'] = null;
    onclose: Socket['onclose'] = null;
    onopen: Socket['onopen'] = null;
    isClosed = false;
    constructor(readonly after: number | null) {}
    close() {
      this.isClosed = true;
    }
  }
  function setup() {
    const [pipes, waits, log, messages] = [[] as Pipe[], [] as { run: () => void; ms: number }[], [] as string[], [] as Message[]];
    let cursor: number | null = null;
    const environment = {
      open: (after: number | null) => pipes[pipes.push(new Pipe(after)) - 1] as Pipe,
      later: (run: () => void, ms: number) => (waits.push({ run, ms }), () => {}),
      chance: () => 1,
    };
    const listener = { message: (message: Message) => messages.push(message), connected: () => log.push('connected'), broken: () => log.push('broken'), revoked: () => log.push('revoked'), cursor: () => cursor };
    return { feed: new Feed(environment, listener), pipes, waits, log, messages, at: (seq: number | null) => (cursor = seq) };
  }
  const last = <T>(all: readonly T[]) => all.at(-1) as T;

  test('opens after what is known, and later each time it breaks', () => {
    const { feed, pipes, waits, log, at } = setup();
    feed.start();
    feed.start();
    for (let round = 0; round < 3; round += 1) {
      at(10 + round);
      last(pipes).onclose?.({ code: 1006, reason: '' });
      last(waits).run();
    }
    expect([pipes.map(({ after }) => after), waits.map(({ ms }) => ms), log]).toEqual([[null, 10, 11, 12], [400, 800, 1_600], ['broken', 'broken', 'broken']]);
    last(pipes).onopen?.();
    last(pipes).onclose?.({ code: 1012, reason: 'restart' });
    expect(last(waits).ms).toBe(400);
  });

  test('hands on messages, and drops what is none', () => {
    const { feed, pipes, messages } = setup();
    feed.start();
    for (const data of ['{', '{"type":"update","events":[]}']) last(pipes).onmessage?.({ data });
    expect(messages.length).toBe(1);
  });

  test.each([
    [1008, 'token_expired', ['revoked', 'broken']],
    [1008, 'token_unknown', ['revoked', 'broken']],
    [1008, 'too_fast', ['broken']],
    [1011, '', ['broken']],
  ])('a close with %i %s', (code, reason, want) => {
    const { feed, pipes, waits, log } = setup();
    feed.start();
    last(pipes).onclose?.({ code, reason });
    expect([log, waits.length]).toEqual([want, 1]);
  });

  test('a device that slept opens it anew, and hears nothing of the old one', () => {
    const { feed, pipes, log } = setup();
    feed.start();
    const [old] = pipes as [Pipe];
    const hangUp = old.onclose;
    feed.renew();
    expect([old.isClosed, old.onclose, pipes.length]).toEqual([true, null, 2]);
    expect(hangUp).not.toBeNull();
    feed.stop();
    feed.renew();
    feed.start();
    expect([last(pipes).isClosed, pipes.length, log]).toEqual([true, 2, []]);
  });
});

describe('the server’s time', () => {
  const DATE = 'Thu, 26 Nov 2026 12:00:00 GMT';
  const MS = Date.parse(DATE);
  test.each([
    ['a right clock is believed', [MS + 300, MS + 400], 0],
    ['a clock an hour early', [MS - 3_600_000, MS - 3_599_900], 3_599_900],
    ['a clock an hour late', [MS + 3_600_000, MS + 3_600_100], -3_599_000],
  ] as const)('%s', (_, [sent, received], want) => {
    const time = new ServerTime();
    time.answered(DATE, sent, received);
    expect(time.at(5_000_000)).toBe(5_000_000 + want);
  });
  test('what is heard makes it exact, what is no date changes nothing', () => {
    const time = new ServerTime();
    time.answered(null, 0, 0);
    time.answered('yesterday', 0, 0);
    time.heard(10_000, 9_000);
    time.heard(20_000, 19_500);
    expect(time.at(0)).toBe(1_000);
  });
  test('a clock that was set is measured anew', () => {
    const time = new ServerTime();
    time.answered(DATE, MS - 60_000, MS - 60_000);
    time.answered(DATE, MS + 90_000, MS + 90_000);
    expect(time.at(0)).toBe(-89_000);
  });
});

describe('drafts', () => {
  test('what is typed is kept until it is empty', () => {
    const kept = new Map<string, string>();
    const drafts = new Drafts({ getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => void kept.set(key, value), removeItem: (key) => void kept.delete(key) });
    drafts.write('chat.1', 'Hel');
    expect([drafts.read('chat.1'), drafts.read('chat.2')]).toEqual(['Hel', '']);
    drafts.write('chat.1', '');
    expect([drafts.read('chat.1'), kept.size]).toEqual(['', 0]);
  });
  test('a browser that keeps nothing breaks nothing', () => {
    const drafts = new Drafts(
      guarded(() => {
        throw new Error('forbidden');
      }),
    );
    drafts.write('a', 'b');
    expect(drafts.read('a')).toBe('');
  });
});

describe('words', () => {
  test('every card has the title of its picture', () => {
    const titles = Array.from({ length: CARDS }, (_, at) => /<title[^>]*>([^<]*)</.exec(picture(at + 1))?.[1]);
    expect(titles).toEqual(Array.from({ length: CARDS }, (_, at) => cardTitle(at + 1)));
    expect(() => picture(CARDS + 1)).toThrow();
  });

  const ROLES = ['storyteller', 'player', 'member', 'visitor'] as const;
  test.each(['create', 'invitation', 'vote', 'complete', 'canceled'] as const)('each role has its own headline in %s where it has something to do', (phase) => {
    const titles = ROLES.map((role) => headline(viewOf({ phase, role }), VIEWERS[role]).title);
    const isActing = phase === 'create' || phase === 'invitation';
    expect(new Set(titles).size > 1).toBe(isActing || phase === 'vote');
    expect(titles.every(Boolean)).toBe(true);
  });

  test.each([
    [[20, 9], 'A good story'],
    [[20, 20], 'Too clear: everyone found it'],
    [[25, 9], 'Too vague: no one found it'],
    [[null, null], 'No one voted'],
  ])('votes %j: %s', (votes, want) => {
    const game = viewOf({ phase: 'complete', role: 'player' }).game as NonNullable<View['game']>;
    expect(outcome({ ...game, players: game.players.map((seat, at) => ({ ...seat, vote: at > 0 ? (votes[at - 1] ?? null) : null })) })).toBe(want);
  });

  test('what each seat does', () => {
    const texts = (phase: 'create' | 'invitation' | 'vote' | 'complete', isDone: boolean) => {
      const game = viewOf({ phase, role: 'visitor', isDone }).game as NonNullable<View['game']>;
      return game.players.slice(0, 2).map((seat) => seatText(game, seat));
    };
    expect([texts('create', false), texts('invitation', false), texts('invitation', true), texts('vote', false), texts('vote', true), texts('complete', true)]).toEqual([
      ['chooses a card', 'waits'],
      ['has told', 'looks for a card'],
      ['has told', 'has picked'],
      ['has told', 'guesses'],
      ['has told', 'has voted'],
      ['12 points', '7 points'],
    ]);
    const game = viewOf({ phase: 'invitation', role: 'visitor' }).game as NonNullable<View['game']>;
    expect(game.players.map((seat) => isDone(game, seat))).toEqual([true, false, false]);
  });

  test('every event of a game has its sentence', () => {
    const events = eventsOf(BEN);
    const views = replay(TABLE, events, BEN);
    const texts = events.map((event, at) => eventText(views[at] as View, event));
    expect(texts.slice(0, 5)).toEqual(['Ann begins game 3.', 'Ben sits down.', 'Cam sits down.', 'Ann chooses a card.', `Ann tells: “${SENTENCE}”`]);
    expect(new Set(texts).size).toBe(texts.length);
  });

  test('leaving says what it does', () => {
    const texts = (['create', 'vote', 'complete'] as const).flatMap((phase) => (['storyteller', 'player'] as const).map((role) => leaveText(viewOf({ phase, role }))));
    expect(new Set(texts).size).toBe(4);
  });

  test('lists name a game by its sentence, or by who tells it', () => {
    const [told, waiting] = [listedGames(1, 'complete')[0], listedGames(1, 'create')[0]] as [never, never];
    expect([listedTitle(told), listedTitle(waiting)]).toEqual(['“Sentence number 0”', 'Teller 0 thinks of a story']);
  });

  test('the way to the next level', () => {
    const standing = { score: 0, level: 1, score_prev: 0, level_prev: 1, earned_cards: [], earned_cards_last: [] };
    expect([levelShare({ ...standing, score_next: 20, score_left: 5 }), levelShare({ ...standing, score_next: 0, score_left: 0 })]).toEqual([0.75, 0]);
  });

  test('players of one table look different', () => {
    const looks = looksOf(['Ann', 'Ann', 'Ben', 'Cam', 'Ann']);
    expect(new Set(looks).size).toBe(5);
    expect(looksOf(['Ann'])[0]).toBe(looks[0]);
    expect(looksOf(Array.from({ length: 20 }, () => 'Ann')).length).toBe(20);
  });
});

test('hands fit the deck for any number of seats', () => {
  for (let seats = 3; seats <= 12; seats += 1) {
    const { settings } = tableRequest({ ...WITH_BOTS, seats });
    expect([(settings?.hand ?? 0) * seats <= 36, (settings?.hand ?? 0) >= 3]).toEqual([true, true]);
  }
  expect(tableRequest(WITH_BOTS)).toEqual({ bots: true, settings: { players_max: 4, hand: 6, countdown_ms: 30_000 } });
});
