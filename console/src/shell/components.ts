// The component of each page, loaded when it is opened.
import type { Component } from 'svelte';
import type { PageName, Route } from './routes.ts';

type Page = Component<{ route: Route }>;

export const PAGES: Readonly<Record<PageName, () => Promise<{ default: Page }>>> = {
  world: () => import('../pages/world/World.svelte'),
  match: () => import('../pages/match/Match.svelte'),
};
