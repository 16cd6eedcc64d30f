// What a screen reader's user would stumble over, as axe finds it in the page as it is now.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Finding {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** A line for each, by all of axe's rules or by these. Of what is well nothing is written down: that costs as much as finding out. */
export async function findingsOf(page: Page, rules: readonly string[] | null = null): Promise<readonly string[]> {
  if (!(await page.evaluate(`'axe' in window`))) await page.evaluate(SOURCE);
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: rules }) };
  const findings = (await page.evaluate(`axe.run(${JSON.stringify(options)}).then(({ violations }) => violations)`)) as readonly Finding[];
  return findings.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' ')}`);
}
