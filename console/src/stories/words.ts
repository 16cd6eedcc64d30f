// What the pages of Stories say. English; pure. Names and sentences are texts of strangers: components show them as text.
import { number } from '../common/format.ts';
import type { Game, Listed, Mine, Seat, Standing, TableEvent, View } from './protocol.ts';

export const NAME = 'Stories';

/** What the game is, in three sentences; each has its picture. */
export const RULES: readonly { readonly card: number; readonly title: string; readonly text: string }[] = [
  { card: 1, title: 'Tell', text: 'One player tells a sentence about a card of their hand.' },
  { card: 19, title: 'Pick', text: 'The others each add a card that could be meant, and all are shuffled.' },
  { card: 20, title: 'Guess', text: 'Everyone guesses which card was the storyteller’s: be found by some, but not by all.' },
];

export const POINTS: readonly string[] = [
  'Some found the card, and some did not: the storyteller gets 10 points and 2 for each who did not; who found it gets 5, the others 1.',
  'All found it, or no one did: the sentence was too clear or too vague. The storyteller gets 5 points, and so does everyone who voted.',
  'Each vote that your own card drew brings you 2 more.',
];

export interface Headline {
  readonly title: string;
  /** What the viewer does now, or waits for. */
  readonly hint: string;
}

export function nameOf(view: View, player: string | null): string {
  const seat = view.game?.players.find((other) => other.player === player) ?? view.members.find((other) => other.player === player);
  return seat?.name ?? 'Somebody';
}

export function headline(view: View, me: string | null): Headline {
  const { game } = view;
  if (!game) return { title: 'A table without a game', hint: 'Somebody may begin one.' };
  const teller = nameOf(view, game.storyteller);
  const seat = game.players.find(({ player }) => player === me);
  switch (game.phase) {
    case 'create':
      if (view.role !== 'storyteller') return { title: `${teller} thinks of a story`, hint: view.role === 'player' ? 'You have a seat. It goes on by itself.' : 'Whoever sits down now plays.' };
      return game.has_winner_card ? { title: 'Tell a sentence about it', hint: 'Not too clear, not too vague: some should find it, not all.' } : { title: 'Choose a card', hint: 'You will tell a sentence about it.' };
    case 'invitation':
      if (view.role === 'storyteller') return { title: 'The others look for a card', hint: game.is_ready ? 'There are enough cards: begin the vote when you like.' : 'Share the link, so that friends can join.' };
      if (view.role === 'player') return seat?.has_picked ? { title: 'Your card is in', hint: 'You may change it until the vote begins.' } : { title: 'Which of your cards fits?', hint: `Pick one that could be ${possessive(teller)}.` };
      return { title: `${teller} has told a story`, hint: hasSeat(game) ? 'Sit down, and find a card that fits.' : 'All seats are taken: you may watch.' };
    case 'vote':
      if (view.role === 'storyteller') return { title: 'The others look for your card', hint: game.is_ready ? 'There are enough votes: count them when you like.' : 'Wait for their votes.' };
      if (view.role === 'player') return seat?.has_voted ? { title: 'Your vote is in', hint: 'You may change it until the votes are counted.' } : { title: `Which card is ${possessive(teller)}?`, hint: 'Vote for one; your own cannot be chosen.' };
      return { title: `Which card is ${possessive(teller)}?`, hint: 'The players vote. You may guess with them in silence.' };
    case 'complete':
      return { title: outcome(game), hint: foundText(game) };
    default:
      return { title: 'The game ended early', hint: becauseText(game.because) };
  }
}

const hasSeat = (game: Game) => game.players.length < game.players_max;

export const possessive = (name: string) => `${name}’s`;

/** Whose sentence it was worth to tell. */
export function outcome(game: Game): string {
  const [found, votes] = foundOf(game);
  if (votes === 0) return 'No one voted';
  if (found === votes) return 'Too clear: everyone found it';
  return found === 0 ? 'Too vague: no one found it' : 'A good story';
}

function foundText(game: Game): string {
  const [found, votes] = foundOf(game);
  return `${number(found)} of ${number(votes)} found the card.`;
}

function foundOf(game: Game): readonly [number, number] {
  const votes = game.players.filter(({ vote }) => vote !== null);
  return [votes.filter(({ vote }) => vote === game.winner_card).length, votes.length];
}

export function becauseText(because: string | null): string {
  switch (because) {
    case 'inactivity':
      return 'Nothing happened for too long.';
    case 'countdown':
      return 'Time was up, and too few had played.';
    case 'storyteller_left':
      return 'The storyteller left.';
    case 'storyteller_late':
      return 'The storyteller took too long.';
    case 'closed':
      return 'It was closed by the server’s operator, or nobody came.';
    default:
      return '';
  }
}

/** What a player at the table does now. */
export function seatText(game: Game, seat: Seat): string {
  if (seat.has_left) return 'has left';
  const isTeller = seat.player === game.storyteller;
  switch (game.phase) {
    case 'create':
      return isTeller ? (game.has_winner_card ? 'writes' : 'chooses a card') : 'waits';
    case 'invitation':
      return isTeller ? 'has told' : seat.has_picked ? 'has picked' : 'looks for a card';
    case 'vote':
      return isTeller ? 'has told' : seat.has_voted ? 'has voted' : 'guesses';
    case 'complete':
      return seat.points === null ? 'did not vote' : pointsText(seat.points);
    default:
      return isTeller ? 'storyteller' : 'player';
  }
}

/** Whether what the phase asks of a seat is done. */
export function isDone(game: Game, seat: Seat): boolean {
  if (game.phase === 'invitation') return seat.has_picked;
  return game.phase === 'vote' ? seat.has_voted || seat.player === game.storyteller : false;
}

export const pointsText = (points: number) => `${number(points)} ${points === 1 ? 'point' : 'points'}`;

export function standingText({ level, score, score_left }: Standing): string {
  return `${pointsText(score)}, ${number(score_left)} to level ${number(level + 1)}`;
}

export const NEW_CARDS = 'New in your deck: it may be dealt to you from now on.';

export const earnedText = (cards: number) => `${number(cards)} earned ${cards === 1 ? 'card' : 'cards'} in your deck`;

/** How far the step to the next level is done, from 0 to 1. */
export const levelShare = ({ score_next, score_left }: Standing) => (score_next > 0 ? Math.min(1, Math.max(0, (score_next - score_left) / score_next)) : 0);

/** Names in a row: `Ann, Ben and Cam`. */
export function listed(names: readonly string[]): string {
  return new Intl.ListFormat('en').format(names);
}

/** What happened, of an event of a game. */
export function eventText(view: View, event: TableEvent): string {
  switch (event.type) {
    case 'started':
      return `${event.name} begins game ${number(view.game?.number ?? 1)}.`;
    case 'joined':
      return `${event.name} sits down.`;
    case 'left':
      return `${nameOf(view, event.player)} leaves.`;
    case 'card_chosen':
      return `${nameOf(view, view.game?.storyteller ?? null)} chooses a card.`;
    case 'story_told':
      return `${nameOf(view, view.game?.storyteller ?? null)} tells: “${event.sentence}”`;
    case 'invited':
      return `${number(event.players.length)} invited.`;
    case 'picked':
      return `${nameOf(view, event.player)} picks a card.`;
    case 'countdown_set':
      return 'The countdown is set.';
    case 'voting_opened':
      return `The cards lie open${event.because === 'storyteller' ? '' : ': time was up'}.`;
    case 'voted':
      return `${nameOf(view, event.player)} votes.`;
    case 'completed':
      return 'The votes are counted.';
    case 'canceled':
      return `The game ends without a result. ${becauseText(event.because)}`;
    case 'said':
      return `${nameOf(view, event.player)}: ${event.text}`;
    case 'bots_set':
      return event.are_on ? 'Bots may sit down.' : 'No more bots sit down.';
    case 'next_storyteller':
      return event.player === null ? 'Anyone may tell the next story.' : `${nameOf(view, event.player)} is to tell the next story.`;
  }
}

/** A game in a list: what stands for it. */
export function listedTitle({ sentence, storyteller_name, phase }: Listed): string {
  if (sentence !== null) return `“${sentence}”`;
  const teller = storyteller_name ?? 'Somebody';
  return phase === 'canceled' ? `${teller} told no story` : `${teller} thinks of a story`;
}

const PHASES: Readonly<Record<string, string>> = {
  create: 'before the story',
  invitation: 'cards are picked',
  vote: 'being voted on',
  complete: 'over',
  canceled: 'ended early',
};

export const phaseText = (phase: string) => PHASES[phase] ?? phase;

export function mineText({ role, has_won, phase }: Mine): string {
  const what = role === 'storyteller' ? 'You told' : role === 'invited' ? 'You are invited' : 'You played';
  if (phase === 'complete') return has_won ? `${what} and won` : what;
  return phase === 'canceled' || role === 'invited' ? what : role === 'storyteller' ? 'You tell' : 'You play';
}

/** What leaving does now, before it is done. */
export function leaveText(view: View): string {
  const phase = view.game?.phase;
  const isEarly = phase === 'create' || phase === 'invitation';
  if (view.role === 'storyteller' && isEarly) return 'The game ends for everyone when its storyteller leaves.';
  if (view.role === 'player' && isEarly) return 'Your seat becomes free. If you come back before the vote, you get the same hand.';
  if (phase === 'vote' && view.role !== 'member') return 'Your card and your vote count, and you cannot come back to this game.';
  return 'You leave the table and its chat.';
}

/** Lengths of a countdown that are offered, in seconds. */
export const COUNTDOWNS_S: readonly number[] = [15, 30, 60, 120, 300];

export const missedText = (lines: number) => (lines === 1 ? 'Chat: 1 new line' : `Chat: ${number(lines)} new lines`);
