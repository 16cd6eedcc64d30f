// The files of docs/ as pages: Markdown becomes HTML while the console is built, so that no browser loads a parser. A document is a module of its
// own, loaded when it is opened. Links between documents lead to their pages; those to other files of the repository, which no server has, stay text.
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, posix } from 'node:path';
import { Marked, type Token, type Tokens } from 'marked';
import type { Plugin } from 'vite';

const DOCS = join(import.meta.dirname, '..', '..', 'docs');

/** What the list of documents says of one. */
export interface DocumentEntry {
  /** The last part of its address: `/docs/NAME`. */
  readonly name: string;
  readonly title: string;
  /** Its first paragraph, as text. */
  readonly lead: string;
}

export interface Rendered extends DocumentEntry {
  readonly html: string;
  /** Addresses that it leads to within the console: `/docs/games#a-page-of-another-site`. */
  readonly links: readonly string[];
  /** Its pictures, as paths from docs/. */
  readonly pictures: readonly string[];
  readonly anchors: readonly string[];
}

/** The name of a document by its path from docs/; null for what is no document. */
export function nameOf(path: string): string | null {
  const decision = /^decisions\/(\d{4})-[a-z0-9-]+\.md$/.exec(path)?.[1];
  if (decision) return `decision-${decision}`;
  if (path === 'decisions/README.md') return 'decisions';
  const lifecycle = /^lifecycles\/([a-z]+)\.md$/.exec(path)?.[1];
  if (lifecycle) return `lifecycle-${lifecycle}`;
  if (path === 'openapi.json') return 'api';
  return /^([a-z-]+)\.md$/.exec(path)?.[1] ?? null;
}

/** Paths from docs/ of all documents. */
export function documentPaths(): string[] {
  return ['', 'decisions', 'lifecycles'].flatMap((folder) =>
    readdirSync(join(DOCS, folder))
      .map((file) => posix.join(folder, file))
      .filter((path) => path.endsWith('.md') && nameOf(path)));
}

/** The anchor of a heading, as the hosts of repositories make it: small letters, digits, hyphens. */
export function anchorOf(heading: string): string {
  return heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/\s/g, '-');
}

/** Where a picture stands in the HTML until the bundler knows its address. */
export const pictureMark = (path: string) => `@@picture:${path}@@`;

export function render(path: string, markdown: string): Rendered {
  const links: string[] = [];
  const pictures: string[] = [];
  const anchors: string[] = [];
  let [title, lead] = ['', ''];
  const marked = new Marked({
    walkTokens: (token) => {
      if (token.type === 'paragraph' && !lead) lead = plain(token as Tokens.Paragraph);
    },
    renderer: {
      heading({ tokens, depth }) {
        const text = plain({ tokens });
        const anchor = anchors.includes(anchorOf(text)) ? `${anchorOf(text)}-${anchors.length}` : anchorOf(text);
        anchors.push(anchor);
        if (depth === 1) title = text;
        return `<h${depth} id="${anchor}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const inside = this.parser.parseInline(tokens);
        if (/^https?:/.test(href)) return `<a href="${escape(href)}" rel="noreferrer">${inside}</a>`;
        const to = addressOf(path, href);
        if (to === null) return inside;
        links.push(to);
        return `<a href="${escape(to)}">${inside}</a>`;
      },
      image({ href, text }) {
        const picture = posix.join(posix.dirname(path), href);
        pictures.push(picture);
        return `<img src="${pictureMark(picture)}" alt="${escape(text)}" loading="lazy">`;
      },
      table(token) {
        const rows = [token.header, ...token.rows].map((cells, row) => {
          const kind = row === 0 ? 'th' : 'td';
          return `<tr>${cells.map((cell) => `<${kind}${cell.align === 'right' ? ' class="figure"' : ''}>${this.parser.parseInline(cell.tokens)}</${kind}>`).join('')}</tr>`;
        });
        const isNamed = token.header.some(({ text }) => text !== '');
        const head = isNamed ? `<thead>${rows[0]}</thead>` : '';
        return `<div class="wide" role="group" tabindex="0" aria-label="A table, which scrolls"><table>${head}<tbody>${rows.slice(1).join('\n')}</tbody></table></div>\n`;
      },
      code({ text }) {
        return `<pre tabindex="0"><code>${escape(text)}</code></pre>\n`;
      },
    },
  });
  const html = marked.parse(markdown, { async: false });
  return { name: nameOf(path) ?? basename(path), title, lead, html, links, pictures, anchors };
}

/** Where a link of a document leads within the console; null where no page of it has that. */
function addressOf(from: string, href: string): string | null {
  const [file = '', anchor] = href.split('#');
  const end = anchor ? `#${anchor}` : '';
  if (file === '') return `/docs/${nameOf(from)}${end}`;
  const name = nameOf(posix.join(posix.dirname(from), file));
  return name && `/docs/${name}${end}`;
}

const escape = (text: string) => text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);

function plain({ tokens = [] }: { readonly tokens?: readonly Token[] | undefined }): string {
  const text = tokens.map((token) => ('tokens' in token && token.tokens ? plain({ tokens: token.tokens }) : 'text' in token ? `${token.text}` : ' '));
  return text.join('').replace(/\s+/g, ' ');
}

export const readDocument = (path: string) => render(path, readFileSync(join(DOCS, path), 'utf8'));

const LIST = 'virtual:documents';
const ONE = 'virtual:document/';

/** `virtual:documents` lists all of them with a way to load each. */
export function documents(): Plugin {
  return {
    name: 'documents',
    resolveId: (id) => (id === LIST || id.startsWith(ONE) ? `\0${id}` : null),
    load(id) {
      if (id === `\0${LIST}`) {
        const entries = documentPaths().map((path) => {
          const { name, title, lead } = readDocument(path);
          return `{ ...${JSON.stringify({ name, title, lead })}, load: () => import(${JSON.stringify(ONE + path)}) }`;
        });
        return `export default [${entries.join(',\n')}];`;
      }
      if (!id.startsWith(`\0${ONE}`)) return null;
      const path = id.slice(ONE.length + 1);
      this.addWatchFile(join(DOCS, path));
      const { html, pictures } = readDocument(path);
      const names = pictures.map((picture, n) => `import picture${n} from ${JSON.stringify(`${join(DOCS, picture)}?url`)};`);
      const source = pictures.reduce((text, picture, n) => text.replace(pictureMark(picture), `\${picture${n}}`), html.replace(/[\\`$]/g, '\\$&'));
      return `${names.join('\n')}\nexport default \`${source}\`;`;
    },
  };
}
