// A name to play under: a guest of the server, whose token stays in a cookie that no script reads.
import { api, refusalText } from '../../api/client.ts';
import { session } from '../../shell/session.svelte.ts';

/** Makes the browser a guest of this name. Why it could not; empty when it is done. */
export async function becomeGuest(name: string): Promise<string> {
  try {
    const guest = await api.POST('/api/stories/guests', { body: { name } });
    if (!guest.data) return refusalText(guest.error, guest.response.status);
    const kept = await api.POST('/api/session', { headers: { authorization: `Bearer ${guest.data.token}` } });
    if (!kept.data) return refusalText(kept.error, kept.response.status);
    session.view = kept.data;
    session.isKnown = true;
    return '';
  } catch {
    return 'The server cannot be reached. Your name is kept: try again.';
  }
}
