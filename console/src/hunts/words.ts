// What the pages of hunts say, in English. Pure.
import { counted } from '../common/words.ts';

export const LOBBY = {
  title: 'Hunts',
  lead: 'Walk, dig chests, grab what helps. Whoever has the most points when the time is up wins the round.',
  always: 'Walk into the hunt that is always open',
  open: 'Open hunts',
  none: 'No hunt of players is open now. Begin one, or let yourself be found a game.',
} as const;

export const FIND = {
  title: 'Find me a game',
  lead: 'You are put together with others who wait: three rounds of two minutes, and only you and they can enter.',
  players: 'Players',
  party: 'I come',
  alone: 'alone',
  partyHelp: 'Somebody else is always among you. To be only with friends, begin a hunt of your own.',
  withOthers: (others: number) => `with ${counted(others, 'friend')}`,
  start: 'Find me a game',
  starting: 'Asking …',
  gathering: (joined: number, size: number) => `${joined} of ${size} of your party are here.`,
  gatheringHelp: 'Send your friends this link. Nobody is in your party before he has accepted.',
  waiting: (players: number) => `Looking for others: ${players} players in all.`,
  left: (time: string) => `Gives up in ${time}.`,
  matched: 'Found! Your hunt begins.',
  enter: 'Enter the hunt',
  timedOut: 'Not enough others were there in time. Try again, with fewer players perhaps, or walk into the hunt that is always open.',
  cancelled: 'The search was called off: by you, by one of your party, or because the server goes.',
  lost: 'The server that kept your search is gone, and the search with it. Nothing else is lost.',
  again: 'Search again',
  cancel: 'Stop searching',
  invited: 'You are invited to a party',
  invitedHelp: 'Whoever sent you this link wants to hunt with you. You join only if you accept; you can leave again at any time.',
  accept: 'Accept',
  decline: 'No, thanks',
  gone: 'That party is no longer waiting: ask for a new link.',
  link: 'Link for your friends',
} as const;

export const CREATE = {
  title: 'Begin a hunt of your own',
  name: 'Name',
  nameHelp: 'Small letters, digits and hyphens; without one, the server gives it a name.',
  size: 'Size',
  sizes: { 60: 'small: 60 × 60 cells', 120: 'usual: 120 × 120 cells', 240: 'large: 240 × 240 cells' },
  rounds: 'Rounds',
  minutes: 'Minutes a round',
  admission: 'Who may enter',
  admissions: { everybody: 'everybody', joined: 'those who join' },
  start: 'Begin',
  starting: 'Beginning …',
} as const;

export const HUNT = {
  what: 'this hunt',
  enter: 'Enter',
  look: 'Look',
  join: 'Join',
  leave: 'Leave',
  end: 'End it for all',
  endTitle: 'End this hunt?',
  endHelp: 'Everybody in it is sent out, and the round that runs is cut short. What was counted stays.',
  confirm: 'End it',
  isOver: 'It is over.',
  rounds: 'Rounds and winners',
  noRounds: 'No round has ended yet.',
  nobody: 'nobody found anything',
  joined: 'You have joined.',
  endsAlways: 'It is always open.',
} as const;

export const HUNTERS = {
  title: 'Best hunters',
  mine: 'My hunts',
  mineNone: 'Nothing is counted for you yet: dig a chest.',
  mineNobody: 'Play once, and your results stand here.',
  none: 'Nobody has found anything yet.',
  what: 'this hunter',
  late: 'Results are counted a moment after they happen.',
  all: (hunters: string, points: string, rounds: string) => `${hunters} hunters, ${points} points, ${rounds} rounds so far.`,
} as const;
