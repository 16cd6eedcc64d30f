// What the home page says. English; pure.
import type { FeaturedGame, Summary } from '../api/client.ts';
import { decimal, number } from '../common/format.ts';
import { COUNT_MAX, moversIn } from './summary.ts';

export const TITLE = 'Games for people and for programs';
export const LEAD = 'Tell stories over drawn cards, walk a world that others walk too, send a bot of your own into matches, and find out how much a service can take.';

/** The first way, where it stands alone. */
export const PLAY = 'Play a story with bots';

export interface Way {
  readonly id: 'stories' | 'world' | 'ladders' | 'trials';
  readonly path: string;
  readonly title: string;
  readonly text: string;
  readonly action: string;
}

export const WAYS: readonly Way[] = [
  { id: 'stories', path: '/stories', title: 'Stories', text: 'One tells, the others lay a card, and everybody guesses which one was meant. Bots tell and guess too, so that a game begins at once.', action: 'Play with bots' },
  { id: 'world', path: '/world', title: 'The plaza', text: 'A thousand cells on each side, trees, and whoever else is there now. No account: you are in it by opening it.', action: 'Walk the plaza' },
  { id: 'ladders', path: '/ladders', title: 'Ladders', text: 'Bots that play day and night for a rating. Enter your own by its URL, and see every turn that it lost.', action: 'See the ladders' },
  { id: 'trials', path: '/docs/scenario', title: 'Trials', text: 'Put a service under the load that you describe in a file: what broke first, at which level, and why.', action: 'Try a service' },
];

/** As many as were counted. */
export const count = (value: number) => (value >= COUNT_MAX ? `${number(COUNT_MAX)}+` : number(value));
const of = (value: number, one: string, many: string) => `${count(value)} ${value === 1 ? one : many}`;

/** What goes on behind a way, in a few words; nothing where nothing does. */
export function wayText(id: Way['id'], summary: Summary): string {
  const { stories, leaderboards } = summary;
  switch (id) {
    case 'stories':
      if (stories.open > 0) return `${of(stories.open, 'table', 'tables')} with a free seat`;
      return stories.live > 0 ? of(stories.live, 'story being told', 'stories being told') : '';
    case 'world': {
      const movers = moversIn(summary, 'world');
      return movers > 0 ? `${of(movers, 'walks', 'walk')} there now` : '';
    }
    case 'ladders':
      if (leaderboards.rated_last_minute > 0) return `${of(leaderboards.rated_last_minute, 'match', 'matches')} rated in the last minute`;
      return leaderboards.active > 0 ? `${of(leaderboards.active, 'ladder is', 'ladders are')} open` : '';
    case 'trials':
      return '';
  }
}

export interface Figure {
  readonly name: string;
  readonly value: string;
  /** What else is known of it. */
  readonly more: string;
}

export function figures(summary: Summary): readonly Figure[] {
  const { games, stories, leaderboards, hunts } = summary;
  return [
    { name: 'Matches being played', value: count(games.running), more: `${count(games.waiting)} wait, ${count(games.ended_last_minute)} ended in the last minute` },
    { name: 'Stories being told', value: count(stories.live), more: stories.open > 0 ? `${of(stories.players_waiting, 'player waits', 'players wait')}, ${of(stories.seats_open, 'seat is', 'seats are')} free` : 'no table waits for players' },
    { name: 'Walking in worlds', value: count(moversIn(summary, 'world')), more: elsewhereText(summary) },
    { name: 'Hunting treasure', value: count(moversIn(summary, 'hunt')), more: `${of(hunts.open, 'hunt', 'hunts')} to join${hunts.players > 0 ? `, ${count(hunts.players)} joined` : ''}` },
    { name: 'Rated in the last minute', value: count(leaderboards.rated_last_minute), more: of(leaderboards.active, 'ladder open', 'ladders open') },
  ];
}

function elsewhereText({ worlds }: Summary): string {
  const here = worlds.filter(({ kind, movers }) => kind === 'world' && movers !== null);
  const elsewhere = worlds.filter(({ movers }) => movers === null).length;
  const names = here.map(({ name, movers }) => `${name} ${count(movers ?? 0)}`).join(', ');
  const others = elsewhere > 0 ? `${of(elsewhere, 'world', 'worlds')} on other servers` : '';
  return [here.length > 1 ? names : '', others].filter(Boolean).join('; ') || 'plaza and other open worlds';
}

export function healthText({ health }: Summary): string {
  switch (health) {
    case 'ok':
      return 'All is well';
    case 'busy':
      return 'Busy: new matches wait outside for a moment';
    case 'draining':
      return 'This server is about to restart';
    case 'degraded':
      return 'The server cannot reach its store: these numbers are from before';
  }
}

/** Who plays in the match that is shown, and why this one. */
export function whyText({ leaderboard, snakes }: FeaturedGame): string {
  return leaderboard ? `The highest rated pair on ${leaderboard.name} now` : snakes.length === 1 ? 'A snake on its own' : `${number(snakes.length)} snakes, the fullest board now`;
}

export const ratingText = (rating: number) => decimal(rating, 1);

/** How long ago, for numbers that no longer come. */
export const oldText = (ago: string) => `These numbers are from ${ago}. The page asks for new ones by itself.`;
