// Whoever wants to play and is nobody yet becomes a guest, with the name that this browser chose before.
import { comeIn } from '../world/api.ts';
import { kept } from '../world/browser.ts';
import { session } from '../shell/session.svelte.ts';

/** Whether the browser speaks for somebody now. */
export async function becomePlayer(): Promise<boolean> {
  if (session.view) return true;
  await comeIn(kept('name').recall() ?? '');
  await session.load();
  return session.view !== null;
}
