// The texts of the pages of accounts. English; pure.
import { number } from '../common/format.ts';

const ROLES: Readonly<Record<string, readonly [title: string, may: string]>> = {
  guest: ['guest', 'play Stories and walk in worlds'],
  player: ['player', 'play everything, register bots, start matches, ladders and tournaments'],
  operator: ['operator', 'see what everybody does, end it, set limits and invite people'],
  admin: ['admin', 'do everything, also make accounts and tokens of others'],
};

export const ROLE_NAMES = ['guest', 'player', 'operator', 'admin'] as const;
export const roleTitle = (role: string) => ROLES[role]?.[0] ?? role;
/** `an operator`. */
export const aRole = (role: string) => `${/^[aeiou]/.test(roleTitle(role)) ? 'an' : 'a'} ${roleTitle(role)}`;
export const roleMay = (role: string) => ROLES[role]?.[1] ?? 'do what this role may';

/** What a token is made for. */
export const PURPOSES = { use: 'everyday use', load_test: 'load tests' } as const;

/** The roles that a person of this role may give: no more than their own. */
export function rolesUpTo(role: string): readonly string[] {
  const own = ROLE_NAMES.findIndex((name) => name === role);
  return ROLE_NAMES.slice(0, own + 1);
}

export const JOIN = {
  title: 'You are invited',
  lead: (by: string | null) => (by === null ? 'Somebody invites you to this server.' : `${by} invites you to this server.`),
  makes: (role: string) => `Joining makes an account for you. It may ${roleMay(role)}.`,
  name: 'Your name',
  nameHelp: 'Everybody sees it beside your bots and games. 100 characters at most.',
  does: 'Join',
  gone: 'This invitation is not open',
  goneWhy: 'It was used, withdrawn or has expired, or the link is not whole. An invitation works once: ask whoever sent it for another one.',
  lost: 'If your first try made the account, it has the name that you chose: ask whoever runs this server for a sign-in link to it.',
  none: 'An invitation opens here',
  noneWhy: 'The link that you were sent ends with a code. Open the whole link.',
  replaces: (who: string) => `This browser is signed in as ${who}. Joining makes another account, and signs in as that one.`,
};

export const SIGN_IN = {
  title: 'Sign in',
  lead: (account: string, role: string) => `This link signs you in as ${account}, who may ${roleMay(role)}.`,
  does: (account: string) => `Sign in as ${account}`,
  gone: 'This link is not open',
  goneWhy: 'It was used or has expired, or it is not whole. A link works once, for ten minutes if nothing else was said: make another one under Account, on a device that is signed in.',
  none: 'A sign-in link opens here',
  noneWhy: 'Make one under Account, on a device that is signed in, or ask whoever runs this server. Open the whole link: it ends with a code.',
  replaces: (who: string) => `This browser is signed in as ${who}, and then is not any more.`,
};

export const UNANSWERED = 'The last try got no answer, so it may have been done. Press again: that does nothing twice.';

export const ACCOUNT = {
  title: 'Account',
  signedOut: 'Nobody is signed in in this browser.',
  waysIn: [
    'To play Stories or walk in a world, a name is enough: both pages ask for one.',
    'For bots, ladders and tournaments you need an account. Whoever runs this server sends you an invitation: open its link.',
    'You have an account, on another device? Make a sign-in link there, under Account.',
  ],
  guest: 'A guest has a name and may play. Bots, ladders and tournaments take an account: whoever runs this server can send you an invitation.',
  id: 'Your account’s id',
  idHelp: 'Whoever invites you to a tournament asks for it.',
  device: 'Sign in on another device',
  deviceHelp: 'A link that signs in once, within ten minutes. Open it there; whoever has it is you, so send it to nobody.',
  tokens: 'Tokens',
  tokensHelp: 'What programs send as “Authorization: Bearer …”. Browsers that are signed in have one each.',
  secretOnce: 'Copy this secret now: it is shown this once.',
  linkOnce: 'Copy this link now: it is shown this once.',
  export: 'Everything that is yours',
  exportHelp: 'One file with your tokens and bots without their secrets, games, competitions and tables.',
  deletion: 'Delete this account',
  deletionHelp: 'For ever. Results stay in the games, rankings and tournaments of others, of a deleted account. Download first what you want to keep.',
  deletionAsks: 'Delete my account …',
  deletionTitle: (name: string) => `Delete ${name}?`,
  deletionStays: 'Your devices are signed out, and nobody can undo it.',
  deletionName: (name: string) => `To confirm, type the account’s name: ${name}`,
  deletionDoes: 'Delete it for ever',
  invite: 'Invite people',
  invitations: 'Invitations',
  invitationsHelp: 'A link makes one account. At most 1,000 are open at once.',
  forOthers: 'A sign-in link for somebody who has lost theirs',
  forOthersHelp: 'It opens a session of their account. Send it on a way that only they read.',
};

/** What is deleted and ended with an account. */
export function goesWith(found: Readonly<Record<'tokens' | 'snakes' | 'games_waiting' | 'duels' | 'tournaments' | 'leaderboards' | 'hunts', number>>): string {
  const counted: readonly (readonly [number, string, string])[] = [
    [found.snakes, 'bot', 'bots'],
    [found.tokens, 'token', 'tokens'],
    [found.games_waiting, 'match that waits', 'matches that wait'],
    [found.duels, 'duel', 'duels'],
    [found.tournaments, 'tournament', 'tournaments'],
    [found.leaderboards, 'ladder', 'ladders'],
    [found.hunts, 'hunt', 'hunts'],
  ];
  const parts = counted.filter(([count]) => count > 0).map(([count, one, more]) => `${number(count)} ${count === 1 ? one : more}`);
  return parts.length === 0 ? 'Nothing else goes with it.' : `With it go: ${parts.join(', ')}.`;
}

/** What a link for another person gives away, before it is made. */
export const linkGives = (account: string, role: string) => `Whoever opens it first is ${account || 'that account'}, and may ${roleMay(role)}.`;
export const inviteGives = (role: string) => `Whoever opens it first gets an account, and may ${roleMay(role)}.`;

export const DELETE_TOKEN_MEANS = ['Programs that use it are refused from now on, and their feeds end.', 'A browser that has it is signed out.', 'Sign-in links of this account that are open stop working.'];
export const WITHDRAW_MEANS = ['Its link stops working. Who has joined by it stays.'];

/** Days that an invitation may be open. */
export const INVITE_DAYS = [1, 7, 30] as const;
export const daysText = (days: number) => (days === 1 ? 'one day' : `${days} days`);

/** Seconds that a sign-in link for another person may be open. */
export const LINK_SPANS: readonly (readonly [seconds: number, text: string])[] = [
  [600, '10 minutes'],
  [3_600, 'one hour'],
  [86_400, 'one day'],
];
