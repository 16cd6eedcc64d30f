// Something that a person does to what the server has: once at a time, and with the server's words where it is refused. What was typed stays.
import { refusalText } from '../api/client.ts';
import type { Answer } from './resource.svelte.ts';

export class Action {
  isBusy = $state(false);
  refusal = $state('');

  /** The answer; null where the action was refused, is under way already, or did not arrive. */
  async run<T>(ask: () => Promise<Answer<T>>): Promise<Answer<T> | null> {
    if (this.isBusy) return null;
    this.isBusy = true;
    this.refusal = '';
    try {
      const answer = await ask();
      if (answer.response.ok) return answer;
      this.refusal = refusalText(answer.error, answer.response.status);
    } catch {
      this.refusal = 'The server cannot be reached. Nothing that you typed is lost: try again.';
    } finally {
      this.isBusy = false;
    }
    return null;
  }
}

/** A key under which a request may be sent again without doing twice what it does: the same for the same body, as the server wants it. */
export class IdempotencyKey {
  #body = '';
  #key = '';

  of(body: unknown): string {
    const text = JSON.stringify(body);
    if (text !== this.#body) {
      this.#body = text;
      this.#key = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
    }
    return this.#key;
  }
}
