// The OpenAPI document as a page needs it: operations by tag, schemas as rows. Pure; reads as much of OpenAPI 3.1 as this server writes.

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly items?: Schema;
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly additionalProperties?: Schema | boolean;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly default?: unknown;
  readonly example?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>;
  readonly description?: string;
}

interface RawOperation {
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required?: boolean; readonly description?: string; readonly schema?: Schema }[];
  readonly requestBody?: Content;
  readonly responses?: Readonly<Record<string, Content>>;
}

export interface OpenApi {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string };
  readonly tags?: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, RawOperation>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

export interface Row {
  readonly name: string;
  readonly type: string;
  /** The schema that it leads to. */
  readonly schema: string | null;
  readonly description: string;
  readonly isRequired: boolean;
}

export interface Operation {
  /** Method and path: no other operation has both. */
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly tag: string;
  readonly access: 'public' | 'token' | 'either';
  readonly parameters: readonly (Row & { readonly place: string })[];
  readonly body: string | null;
  readonly responses: readonly { readonly status: string; readonly description: string; readonly schema: string | null }[];
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

export function operationsOf({ paths }: OpenApi): readonly Operation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const raw = item[method];
      return raw ? [operation(path, method, raw)] : [];
    }));
}

function operation(path: string, method: string, raw: RawOperation): Operation {
  return {
    id: `${method} ${path}`,
    method: method.toUpperCase(),
    path,
    summary: raw.summary ?? '',
    description: raw.description ?? '',
    tag: raw.tags?.[0] ?? 'other',
    access: accessOf(raw.security),
    parameters: (raw.parameters ?? []).map(({ name, in: place, required = false, description = '', schema = {} }) => ({ ...row(name, schema, required), description, place })),
    body: bodyOf(raw.requestBody),
    responses: Object.entries(raw.responses ?? {}).map(([status, content]) => ({ status, description: content.description ?? '', schema: bodyOf(content) })),
  };
}

function accessOf(security: RawOperation['security']): Operation['access'] {
  if (!security || security.length === 0) return 'public';
  return security.some((way) => Object.keys(way).length === 0) ? 'either' : 'token';
}

function bodyOf(content: Content | undefined): string | null {
  const [type, body] = Object.entries(content?.content ?? {})[0] ?? [];
  if (type === undefined) return null;
  return body?.schema ? typeOf(body.schema) : type;
}

/** What a value is, in a few words: `GameSummary[]`, `string or null`, `integer, 0 to 100`. */
export function typeOf(schema: Schema): string {
  if (schema.$ref) return schema.$ref.split('/').pop() ?? '';
  const parts = schema.oneOf ?? schema.allOf;
  if (parts) return [...new Set(parts.map(typeOf))].join(schema.oneOf ? ' or ' : ' and ');
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' or ');
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
  const named = types.map((type) => {
    if (type === 'array') return `${schema.items ? typeOf(schema.items) : 'any'}[]`;
    if (type === 'object' && typeof schema.additionalProperties === 'object') return `{ name: ${typeOf(schema.additionalProperties)} }`;
    return type;
  });
  return (named.join(' or ') || 'any') + bounds(schema);
}

function bounds({ minimum, maximum, maxLength, maxItems }: Schema): string {
  if (minimum !== undefined && maximum !== undefined) return `, ${minimum} to ${maximum}`;
  if (maximum !== undefined) return `, at most ${maximum}`;
  if (minimum !== undefined) return `, at least ${minimum}`;
  if (maxLength !== undefined) return `, at most ${maxLength} characters`;
  return maxItems === undefined ? '' : `, at most ${maxItems}`;
}

/** The schema that a value is made of, whatever stands around it. */
export function refOf(schema: Schema): string | null {
  if (schema.$ref) return schema.$ref.split('/').pop() ?? null;
  const inside = [schema.items, ...(schema.oneOf ?? []), ...(schema.allOf ?? []), schema.additionalProperties].filter((part): part is Schema => typeof part === 'object');
  return inside.map(refOf).find((name) => name !== null) ?? null;
}

function row(name: string, schema: Schema, isRequired: boolean): Row {
  const described = schema.description ?? schema.oneOf?.map(({ description }) => description).find((text) => text) ?? '';
  const example = schema.example === undefined ? '' : ` Example: \`${typeof schema.example === 'string' ? schema.example : JSON.stringify(schema.example)}\`.`;
  return { name, type: typeOf(schema), schema: refOf(schema), description: described + example, isRequired };
}

/** The members of a schema of this name. */
export function membersOf(document: OpenApi, name: string): readonly Row[] {
  const schema = document.components?.schemas?.[name];
  if (!schema) return [];
  const all = [schema, ...(schema.allOf ?? []).map((part) => (part.$ref ? (document.components?.schemas?.[refOf(part) ?? ''] ?? part) : part))];
  return all.flatMap(({ properties = {}, required = [] }) => Object.entries(properties).map(([name, property]) => row(name, property, required.includes(name))));
}

/** The schemas that a reader of this one meets, itself first, each once. */
export function reachable(document: OpenApi, name: string): readonly string[] {
  const found: string[] = [];
  const wanted = [name];
  for (let next = wanted.shift(); next !== undefined; next = wanted.shift()) {
    if (found.includes(next) || !document.components?.schemas?.[next]) continue;
    found.push(next);
    wanted.push(...membersOf(document, next).flatMap(({ schema }) => schema ?? []));
  }
  return found;
}

/** Whether every word of a search stands in what an operation says of itself. */
export function matches({ method, path, summary, tag }: Operation, search: string): boolean {
  const text = `${method} ${path} ${summary} ${tag}`.toLowerCase();
  return search.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

/** Paragraphs and lists of a description, cut into plain text and code, for a page to lay out. */
export function paragraphs(text: string): readonly (readonly { readonly text: string; readonly isCode: boolean }[])[] {
  return text.split(/\n{2,}/).filter((part) => part.trim()).map((part) =>
    part.replace(/\n/g, ' ').split(/(`[^`]*`)/).filter((piece) => piece).map((piece) => {
      const isCode = piece.length > 1 && piece.startsWith('`') && piece.endsWith('`');
      return { text: isCode ? piece.slice(1, -1) : piece, isCode };
    }));
}
