// The component of each page, loaded when it is opened.
import type { Component } from 'svelte';
import type { PageName, Route } from './routes.ts';

export type Page = Component<{ route: Route }>;
/** Pages of one address need no route, and take it without looking at it. */
type AnyPage = Page | Component<Record<string, never>>;

export const PAGES: Readonly<Record<PageName, () => Promise<{ default: AnyPage }>>> = {
  home: () => import('../pages/home/Home.svelte'),
  stories: () => import('../pages/stories/Stories.svelte'),
  table: () => import('../pages/stories/Table.svelte'),
  world: () => import('../pages/world/World.svelte'),
  hunts: () => import('../pages/hunts/Hunts.svelte'),
  hunt: () => import('../pages/hunts/Hunt.svelte'),
  hunter: () => import('../pages/hunts/Hunter.svelte'),
  matches: () => import('../pages/matches/Matches.svelte'),
  match: () => import('../pages/match/Match.svelte'),
  evidence: () => import('../pages/bots/Evidence.svelte'),
  bots: () => import('../pages/bots/Bots.svelte'),
  bot: () => import('../pages/bots/Bot.svelte'),
  ladders: () => import('../pages/ladders/Ladders.svelte'),
  ladder: () => import('../pages/ladders/Ladder.svelte'),
  tournaments: () => import('../pages/tournaments/Tournaments.svelte'),
  tournament: () => import('../pages/tournaments/Tournament.svelte'),
  duels: () => import('../pages/duels/Duels.svelte'),
  duel: () => import('../pages/duels/Duel.svelte'),
  account: () => import('../pages/accounts/Account.svelte'),
  join: () => import('../pages/accounts/Join.svelte'),
  signIn: () => import('../pages/accounts/SignIn.svelte'),
  trials: () => import('../pages/trials/Trials.svelte'),
  trial: () => import('../pages/trials/Trial.svelte'),
  operate: () => import('../pages/operate/Operate.svelte'),
  docs: () => import('../pages/docs/Documents.svelte'),
  api: () => import('../pages/docs/Reference.svelte'),
  document: () => import('../pages/docs/Document.svelte'),
};
