// As much of a browser as the state of pages needs, imported before it: a document that a person looks at or not, the network's own events.
import { vi } from 'vitest';

const window = new EventTarget();
const page = Object.assign(new EventTarget(), { hidden: false });

vi.stubGlobal('document', page);
vi.stubGlobal('navigator', { onLine: true });
vi.stubGlobal('addEventListener', window.addEventListener.bind(window));
vi.stubGlobal('removeEventListener', window.removeEventListener.bind(window));

/** A person looks at the page, or looks away. */
export function look(isLooking: boolean) {
  page.hidden = !isLooking;
  page.dispatchEvent(new Event('visibilitychange'));
}

/** The window notices this: `online`, `offline`. */
export const notice = (event: string) => window.dispatchEvent(new Event(event));

/** Lets everything run that waits for nothing but its turn. */
export const settled = () => vi.advanceTimersByTimeAsync(0);

export const answer = <T>(data: T, headers: Record<string, string> = {}) => ({ data, response: new Response(null, { headers }) });
export const refused = (status: number, code: string) => ({ error: { code, detail: 'come back later' }, response: new Response(null, { status }) });
