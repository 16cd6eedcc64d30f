// What a screen reader's user would stumble over, as axe finds it in the page as it is now.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

const SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Finding {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string }[];
}

export const expectAccessible = async (page: Page) => expect(await findingsOf(page)).toEqual([]);

/** A line for each. */
export async function findingsOf(page: Page): Promise<readonly string[]> {
  await page.evaluate(SOURCE);
  const findings = (await page.evaluate('axe.run().then(({ violations }) => violations)')) as readonly Finding[];
  return findings.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' ')}`);
}
