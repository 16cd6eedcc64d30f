// The API of this server, typed by its OpenAPI document: schema.d.ts is generated from docs/openapi.json before each build and check.
import createClient from 'openapi-fetch';
import type { components, paths } from './schema.d.ts';

export type Schemas = components['schemas'];
export type SessionView = Schemas['SessionView'];
export type Game = Schemas['Game'];
export type Problem = Schemas['Problem'];
export type RegisteredSnake = Schemas['RegisteredSnake'];
export type Leaderboard = Schemas['Leaderboard'];
export type LeaderboardDetails = Schemas['LeaderboardDetails'];
export type LeaderboardEntry = Schemas['LeaderboardEntry'];
export type RankingEntry = Schemas['RankingEntry'];
export type EntryDetails = Schemas['EntryDetails'];
export type RatedGame = Schemas['RatedGameView'];
export type Opponent = Schemas['OpponentView'];
export type TournamentSummary = Schemas['TournamentSummary'];
export type TournamentDetails = Schemas['TournamentDetails'];
export type TournamentFormat = Schemas['TournamentFormatChoice'];
export type TournamentPairing = Schemas['TournamentPairing'];
export type TournamentGame = Schemas['TournamentGame'];
export type TournamentEvent = Schemas['TournamentEvent'];
export type TournamentFeed = Schemas['TournamentFeed'];
export type TournamentStanding = Schemas['TournamentStanding'];
export type CreateTournament = Schemas['CreateTournament'];
export type DuelSummary = Schemas['DuelSummary'];
export type DuelDetails = Schemas['DuelDetails'];
export type DuelBotChoice = Schemas['DuelBotChoice'];
export type DuelGame = Schemas['DuelGame'];
export type CreateDuel = Schemas['CreateDuel'];
export type HuntView = Schemas['HuntView'];
export type HunterView = Schemas['HunterView'];
export type TicketView = Schemas['TicketView'];
export type Summary = Schemas['Summary'];
export type FeaturedGame = Schemas['FeaturedGame'];
export type GameSummary = Schemas['GameSummary'];
export type BotFace = Schemas['BotFace'];
export type PublicSnake = Schemas['PublicSnake'];
export type SnakeProfile = Schemas['SnakeProfile'];
export type SnakeCheck = Schemas['SnakeCheck'];
export type CheckCall = Schemas['CheckCall'];
export type SnakeHealth = Schemas['SnakeHealth'];
export type SnakeLatency = Schemas['SnakeLatency'];
export type SnakeTurn = Schemas['SnakeTurn'];
export type SnakeTurns = Schemas['SnakeTurns'];
export type CallEvidence = Schemas['CallEvidence'];
export type TrialRun = Schemas['TrialRun'];
export type Trials = Schemas['Trials'];
export type SigningSecret = Schemas['SigningSecret'];
export type InviteOffer = Schemas['InviteOffer'];
export type InviteView = Schemas['InviteView'];
export type InviteCreated = Schemas['InviteCreated'];
export type SignInOffer = Schemas['SignInOffer'];
export type SignInLinkCreated = Schemas['SignInLinkCreated'];
export type AccountDeletion = Schemas['AccountDeletion'];
export type TokenView = Schemas['TokenView'];
export type TokenCreated = Schemas['TokenCreated'];

/** The server takes a change for the cookie's account only with what no form of another site can send: this header, or a body of JSON. */
export const api = createClient<paths>({ headers: { accept: 'application/json', 'x-requested-with': 'fetch' } });

/** What a person is told of a refusal, with the code to quote. */
export function refusalText(problem: unknown, status: number): string {
  const { detail, code } = (typeof problem === 'object' && problem !== null ? problem : {}) as Partial<Problem>;
  if (typeof detail !== 'string' || typeof code !== 'string') return `The server answered ${status}.`;
  return `${detail.charAt(0).toUpperCase()}${detail.slice(1)} (${code})`;
}
