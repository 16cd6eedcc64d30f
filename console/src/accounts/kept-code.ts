// The code of a link that was opened. It is taken out of the URL at once and kept in this tab until it is redeemed or is worth nothing, so that neither
// a reload nor a lost answer loses it; another tab does not have it.
import type { Store } from '../common/storage.ts';

/** What a request was sent with: the same again gives the same answer, once it was done. */
interface Sent {
  readonly body: string;
  readonly key: string;
}

interface Kept {
  readonly code: string;
  readonly draft: string;
  readonly sent: Sent | null;
}

const EMPTY: Kept = { code: '', draft: '', sent: null };
const KEY_BYTES = 16;

export class KeptCode {
  #kept: Kept;
  readonly #storage: Store;
  readonly #name: string;

  constructor(kind: 'join' | 'sign-in', storage: Store) {
    this.#storage = storage;
    this.#name = `gauntlet.code.${kind}`;
    this.#kept = read(storage.getItem(this.#name));
  }

  get code(): string {
    return this.#kept.code;
  }

  /** The name that was typed. */
  get draft(): string {
    return this.#kept.draft;
  }

  set draft(draft: string) {
    this.#save({ ...this.#kept, draft });
  }

  /** A request was sent, and no answer to it is known. */
  get isUnanswered(): boolean {
    return this.#kept.sent !== null;
  }

  /** A link was opened: what is kept of another one goes. */
  open(code: string) {
    if (code !== this.code) this.#save({ ...EMPTY, code });
  }

  /** The key to send this body with: the same for the same body, also after a reload. */
  keyFor(body: unknown): string {
    const text = JSON.stringify(body);
    if (this.#kept.sent?.body !== text) this.#save({ ...this.#kept, sent: { body: text, key: newKey() } });
    return this.#kept.sent?.key ?? '';
  }

  /** The server has refused what was sent: nothing was done. */
  answered() {
    this.#save({ ...this.#kept, sent: null });
  }

  forget() {
    this.#kept = EMPTY;
    this.#storage.removeItem(this.#name);
  }

  #save(kept: Kept) {
    this.#kept = kept;
    this.#storage.setItem(this.#name, JSON.stringify(kept));
  }
}

/** What a page of another version, or a person, may have left there is no reason to fail. */
function read(text: string | null): Kept {
  try {
    const { code, draft, sent } = JSON.parse(text ?? '') as Partial<Kept>;
    if (typeof code !== 'string' || typeof draft !== 'string') return EMPTY;
    const isSent = typeof sent?.body === 'string' && typeof sent.key === 'string';
    return { code, draft, sent: isSent ? sent : null };
  } catch {
    return EMPTY;
  }
}

function newKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(KEY_BYTES))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
