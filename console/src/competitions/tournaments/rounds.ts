// A tournament by rounds: which there are, and what is played now. Pure.
import type { TournamentDetails, TournamentGame, TournamentPairing } from '../../api/client.ts';
import { roundTitle } from './words.ts';

export interface Round {
  /** Names it in the URL. */
  readonly key: string;
  readonly title: string;
  readonly pairings: readonly TournamentPairing[];
  readonly decided: number;
}

/** In the order in which they come up; what no entrant came to is left out. */
export function roundsOf(pairings: readonly TournamentPairing[]): readonly Round[] {
  const isDouble = pairings.some(({ stage }) => stage === 'grand_final');
  const byKey = new Map<string, TournamentPairing[]>();
  for (const pairing of pairings) {
    if (pairing.decision === 'empty' || pairing.decision === 'not_needed') continue;
    const key = `${pairing.stage}-${pairing.round}`;
    byKey.set(key, [...(byKey.get(key) ?? []), pairing]);
  }
  const lastOf = (stage: string) => Math.max(...pairings.filter((pairing) => pairing.stage === stage).map(({ round }) => round));
  return [...byKey].map(([key, pairings]) => {
    const [first] = pairings;
    const decided = pairings.filter(({ status }) => status === 'decided').length;
    return { key, title: first ? roundTitle(first, lastOf(first.stage), isDouble) : '', pairings, decided };
  });
}

/** The round that is played: the first with something to decide, or the last of all. */
export const currentRound = (rounds: readonly Round[]): Round | undefined => rounds.find(({ pairings, decided }) => decided < pairings.length) ?? rounds.at(-1);

export interface OpenGame {
  readonly pairing: TournamentPairing;
  readonly game: TournamentGame;
}

/** Whether a game waits or is played. */
export const isOpen = ({ status }: Pick<TournamentGame, 'status'>): boolean => status === 'queued' || status === 'running';

/** Games that wait or are played, the oldest first. */
export function openGames({ pairings }: Pick<TournamentDetails, 'pairings'>): readonly OpenGame[] {
  const open = pairings.flatMap((pairing) => pairing.games.filter(isOpen).map((game) => ({ pairing, game })));
  return open.sort((one, other) => one.game.created_at.localeCompare(other.game.created_at));
}
