// What the pages of duels say in words. English; pure.
import type { DuelBotChoice, DuelDetails, DuelGame, DuelSummary } from '../../api/client.ts';
import { decimal, percent } from '../../common/format.ts';
import { count, type Standing } from '../words.ts';

export function standingOf({ status }: Pick<DuelSummary, 'status'>): Standing {
  switch (status) {
    case 'scheduled':
      return { kind: 'open', text: 'Begins' };
    case 'running':
      return { kind: 'live', text: 'Playing' };
    default:
      return { kind: 'over', text: status === 'cancelled' ? 'Called off' : 'Decided' };
  }
}

/** Elo with its sign; a number without bound is said to be one. */
export function elo(value: number | null, unbounded = 'unbounded'): string {
  if (value === null) return unbounded;
  const rounded = Math.round(value);
  return `${rounded > 0 ? '+' : ''}${rounded.toLocaleString().replace('-', '−')}`;
}

export const llr = (value: number) => decimal(value, 2).replace('-', '−');

/** How much is known so far: what a duel that is played says instead of a verdict. */
export function progressText(duel: DuelDetails): string {
  const [pairing] = duel.pairings;
  const { test } = duel;
  if (!pairing || !test) return `${count(duel.games_ended, 'game')} of ${count(duel.games_max * duel.pairings.length, 'game')} played.`;
  const value = pairing.llr ?? 0;
  const share = value >= 0 ? value / test.llr_upper : value / test.llr_lower;
  const side = value >= 0 ? 'better' : 'not better';
  const candidate = duel.bots[pairing.second]?.name ?? 'The candidate';
  if (pairing.pairs.every((pairs) => pairs === 0)) return 'No pair of games has ended yet.';
  return `It is not known yet. The games so far have gone ${percent(Math.max(0, Math.min(1, share)))} of the way to “${candidate} is ${side}”.`;
}

/** Which error rates the test holds. */
export function testText({ elo0, elo1, alpha, beta }: NonNullable<DuelDetails['test']>): string {
  return `H0: ${elo(elo0)} Elo; H1: ${elo(elo1)} Elo. Of candidates for which H0 is true, ${percent(alpha)} at most get the verdict of H1; of those for which H1 is true, ${percent(beta)} at most get that of H0. Between the two either may come.`;
}

export const PAIR_POINTS = ['0', '½', '1', '1½', '2'] as const;

/** The same duel on the command line. */
export function commandOf(bots: readonly DuelBotChoice[], server: string, options: Readonly<Record<string, string | number | null>> = {}): string {
  const named = bots.map(({ snake_id, url, name }) => quoted(url ? (name ? `${name}=${url}` : url) : (snake_id ?? '')));
  const given = Object.entries(options).flatMap(([option, value]) => (value === null || value === '' ? [] : [`--${option} ${quoted(`${value}`)}`]));
  return ['gauntlet duel', ...named, ...given, `--server ${quoted(server)}`].join(' ');
}

/** As one word of a shell. */
function quoted(text: string): string {
  return /^[\w@%+=:,./[\]-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A bot as it is typed or chosen: a URL, or the id of a registered one. */
export function choiceOf(text: string, name = ''): DuelBotChoice {
  const trimmed = text.trim();
  if (!/^https?:/i.test(trimmed)) return { snake_id: trimmed };
  return name.trim() ? { url: trimmed, name: name.trim() } : { url: trimmed };
}

/** How a game of a duel stands, or who won it. */
export function gameText({ status, winner, snakes }: DuelGame['game']): string {
  switch (status) {
    case 'waiting':
      return 'Waits in the queue';
    case 'running':
      return 'Being played';
    case 'finished':
      return winner === null ? 'Drawn' : `${snakes.find(({ id }) => id === winner)?.name ?? 'A bot'} won`;
    default:
      return status === 'cancelled' ? 'Called off' : 'Failed';
  }
}
