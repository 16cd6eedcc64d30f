// The template of report.html: one file with its script and its style inside, both allowed by their digest alone. The lab fills what is left of
// its slots with a run (crates/lab/src/report/html/).
import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'vite';

const TEMPLATE = join(import.meta.dirname, '..', 'src', 'report', 'template.html');

const digest = (text: string) => `sha256-${createHash('sha256').update(text).digest('base64')}`;

/** The template with what was built; a text may be anything, so that none is searched for slots. Pure. */
export function filled(template: string, texts: Readonly<Record<string, string>>): string {
  return template.replace(/\{\{([a-z ]+)\}\}/g, (slot, name: string) => texts[name] ?? slot);
}

/** Code that may stand in a `script` element: what would end the element, or begin a comment, only stands in texts and patterns. */
export const embeddable = (code: string) => code.replace(/<(?=\/script|!--)/gi, '\\x3C');

/** What an editor or a terminal would not show as it is, in code written as an escape. */
export const visible = (code: string) => code.replace(/[\t\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Of the files as they are written: until then other plugins change what is in them. */
export function report(): Plugin {
  return {
    name: 'report',
    writeBundle({ dir = '' }, bundle) {
      const read = (ending: string) => {
        const [name, ...others] = Object.keys(bundle).filter((name) => name.endsWith(ending));
        if (name === undefined || others.length > 0) return this.error(`a report is one file: it takes one file that ends with ${ending}`);
        return readFileSync(join(dir, name), 'utf8').trim();
      };
      const [script, style] = [visible(embeddable(read('.js'))), read('.css')];
      const texts = { script, style, 'script digest': digest(script), 'style digest': digest(style) };
      for (const name of Object.keys(bundle)) rmSync(join(dir, name));
      rmSync(join(dir, 'assets'), { recursive: true, force: true });
      writeFileSync(join(dir, 'report.html'), filled(readFileSync(TEMPLATE, 'utf8'), texts));
    },
  };
}
