// A name to play under: a guest of the server, whose token stays in a cookie that no script reads.
import { api, refusalText } from '../api/client.ts';
import { session } from '../shell/session.svelte.ts';
import { guestName } from '../world/api.ts';
import { kept } from '../world/browser.ts';

const UNREACHABLE = 'The server cannot be reached. Try again.';

/** Makes the browser a guest of this name. Why it could not; empty when it is done. */
export async function becomeGuest(name: string): Promise<string> {
  try {
    const guest = await api.POST('/api/stories/guests', { body: { name } });
    if (!guest.data) return refusalText(guest.error, guest.response.status);
    const begun = await api.POST('/api/session', { headers: { authorization: `Bearer ${guest.data.token}` } });
    if (!begun.data) return refusalText(begun.error, begun.response.status);
    session.begin(begun.data);
    return '';
  } catch {
    return UNREACHABLE;
  }
}

/** Makes a visitor without a session a guest, of the name that this browser chose before. Why it could not; empty when the browser has a session.
 * While it is not known for whom it speaks, no visitor is made a guest: his cookie would take the place of an account's. */
export async function becomePlayer(): Promise<string> {
  if (!session.isKnown) await session.load();
  if (!session.isKnown) return session.refusal || UNREACHABLE;
  return session.view ? '' : becomeGuest(kept('name').recall() || guestName(Math.random));
}
