// Addresses of pages of one thing, in one place. Pure.

export const matchPath = (id: string) => `/games/${id}`;
export const matchTurnPath = (id: string, turn: number) => `/games/${id}?turn=${turn}`;
export const botPath = (id: string) => `/bots/${id}`;
/** What a seat's bot was sent in a turn, and what it answered: for its owner. */
export const evidencePath = (game: string, seat: number, turn: number | null) => `/games/${game}/bots/${seat}${turn === null ? '' : `?turn=${turn}`}`;
export const ladderPath = (id: string) => `/ladders/${id}`;
/** Where an operator finds a thing to end it, and whom it is of. */
export const endPath = (kind: 'tables' | 'games', id: string) => `/operate?tab=end${kind === 'tables' ? '' : `&kind=${kind}`}&id=${id}`;
/** The form of a ban, with this player in it. */
export const banPath = (player: string) => `/operate?tab=bans&player=${encodeURIComponent(player)}`;
