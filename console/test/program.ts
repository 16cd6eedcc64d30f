// The real program in a folder of its own: a server with an admin's token, and sample bots, on free ports of this machine.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const PROGRAM = process.env['CONSOLE_SERVER_BIN'] ?? join(import.meta.dirname, '../../target/debug/gauntlet');

export class Program {
  readonly token = [...crypto.getRandomValues(new Uint8Array(24))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  readonly folder = mkdtempSync(join(tmpdir(), 'gauntlet-console-'));
  #children: ChildProcess[] = [];
  #server: ChildProcess | null = null;
  #port = '0';

  /** A server, also with other words than usual; its address, which stays the same when it is started again. */
  serve = async (more: readonly string[] = []) => {
    const words = ['serve', '--port', this.#port, '--data', join(this.folder, 'games.db'), '--log-level', 'warn', '--allow-private-bots', ...more];
    const started = this.#start(words);
    // Before anything is awaited: bots that start meanwhile are the last child then.
    this.#server = this.#children.at(-1) ?? null;
    const address = await started;
    this.#port = new URL(address).port;
    return address;
  };

  /** Ends the server: with SIGKILL, without a word. */
  end = (signal: 'SIGTERM' | 'SIGKILL') => ended(this.#server, signal);

  /** Sample bots; their address. */
  bots = () => this.#start(['bots', '--port', '0', '--think', '1ms']);

  /** A command, to its end. */
  async run(words: readonly string[]) {
    const child = spawn(PROGRAM, words, { cwd: this.folder, stdio: 'ignore' });
    this.#children.push(child);
    await once(child, 'exit');
  }

  async stop() {
    for (const child of this.#children) await ended(child, 'SIGTERM');
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #start(words: readonly string[]): Promise<string> {
    if (!existsSync(PROGRAM)) throw new Error(`There is no ${PROGRAM}: build it (cargo build -p gauntlet), or name the program in CONSOLE_SERVER_BIN.`);
    const env = { ...process.env, GAUNTLET_BOOTSTRAP_TOKEN: this.token };
    const child = spawn(PROGRAM, words, { cwd: this.folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
    this.#children.push(child);
    const ended = once(child, 'exit').then(() => Promise.reject(new Error(`gauntlet ${words[0]} did not start: see what it said`)));
    const lines = createInterface(child.stdout);
    const address = new Promise<string>((resolve) => lines.on('line', (line) => /http:\/\/[^ /]+/.test(line) && resolve(/http:\/\/[^ /]+/.exec(line)?.[0] ?? '')));
    const found = await Promise.race([address, ended]);
    ended.catch(() => {});
    return found;
  }
}

async function ended(child: ChildProcess | null, signal: NodeJS.Signals) {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, 'exit');
}

/** A request to the API as the admin. */
export async function call(server: string, token: string, method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const answer = await fetch(`${server}${path}`, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return answer.status === 204 ? {} : ((await answer.json()) as Record<string, unknown>);
}
