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

/** A line for each, by all of axe's rules or by these. */
export async function findingsOf(page: Page, rules: readonly string[] | null = null): Promise<readonly string[]> {
  await page.evaluate(`if (!('axe' in window)) { ${SOURCE} }`);
  const options = rules ? { runOnly: rules } : {};
  const findings = (await page.evaluate(`axe.run(${JSON.stringify(options)}).then(({ violations }) => violations)`)) as readonly Finding[];
  return findings.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' ')}`);
}
