// What the server says of a table, and how a message of its feed is read. The shapes are those of the API's document; a message of another
// shape is dropped here, so that nothing behind needs to ask.
import type { components } from '../api/schema.d.ts';

type Schemas = components['schemas'];
export type View = Schemas['StoryState'];
export type Game = Schemas['StoryGame'];
export type Seat = Schemas['StorySeat'];
export type ChatLine = Schemas['StoryChatMessage'];
export type Standing = Schemas['StoryStanding'];
export type TableEvent = Schemas['StoryEvent'];
export type Update = Schemas['StoryFeed'];
export type Listed = Schemas['StoryListed'];
export type Mine = Schemas['StoryMine'];
export type History = Schemas['StoryHistory'];
export type Message = Schemas['StoryMessage'];

export type Phase = 'create' | 'invitation' | 'vote' | 'complete' | 'canceled';
export type Role = 'storyteller' | 'player' | 'member' | 'visitor';

/** What the server takes: characters of a sentence, of a line of chat, of a guest's name. */
export const SENTENCE_CHARS_MAX = 80;
export const CHAT_CHARS_MAX = 500;
export const NAME_CHARS_MAX = 32;

/** As the server counts: a letter outside of the first plane is one. */
export const charsOf = (text: string) => [...text].length;

export const imageOf = (card: number) => `/api/stories/cards/${card}.svg`;
export const tablePath = (table: string) => `/stories/${table}`;
export const gamePath = ({ table, id }: { readonly table: string; readonly id: string }) => `${tablePath(table)}?game=${numberOf(id)}`;

/** Which of its table's games it is: the id of a game is its table's, a hyphen and this. */
export const numberOf = (game: string) => Number(game.slice(game.lastIndexOf('-') + 1));

/** The game that a URL names; null where it names none. */
export function gameIn(query: string | null): number | null {
  return query !== null && /^[1-9]\d{0,8}$/.test(query) ? Number(query) : null;
}

export function readMessage(data: unknown): Message | null {
  if (typeof data !== 'string') return null;
  try {
    const message = JSON.parse(data) as Partial<Record<string, unknown>> | null;
    if (message?.['type'] === 'view' && Array.isArray(message['members'])) return message as unknown as Message;
    if (message?.['type'] === 'update' && Array.isArray(message['events'])) return message as unknown as Message;
  } catch {
    // Not JSON: no message.
  }
  return null;
}
