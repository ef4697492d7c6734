// Owns what a recipe for a client is: which endpoint it is for, how one gets in there, and what is pasted or typed where.
// Refuses I/O: whoever shows recipes, a page or a program, knows the endpoint already.

/** How callers get in: everybody may, people log in with a browser, or a key goes with every request. */
export type Access =
  | { readonly kind: "open" }
  | { readonly kind: "login" }
  /** `key` is the key itself, or `KEY_TO_COME`. */
  | { readonly kind: "key"; readonly key: string };

export interface ClientEndpoint {
  /** Unique among the servers of a client: see `serverName`. */
  readonly name: string;
  readonly url: string;
  readonly access: Access;
}

export type SnippetLanguage = "sh" | "json" | "toml" | "yaml" | "ts" | "python" | "text";

export interface Snippet {
  readonly language: SnippetLanguage;
  readonly text: string;
  /** The file that it belongs into, as the client's own documentation names it; undefined: it is no part of a file. */
  readonly file?: string;
  /** What a person does with it, and then. */
  readonly steps: readonly string[];
  /** A link that has the client add the endpoint by itself. */
  readonly link?: string;
}

export interface Recipe {
  readonly client: string;
  readonly title: string;
  readonly snippet: (endpoint: ClientEndpoint) => Snippet;
}

/** Stands where the key belongs, for whoever has none at hand. */
export const KEY_PLACEHOLDER = "YOUR_KEY";

/** What the programs among the clients read their key from. */
export const KEY_VARIABLE = "TENANTRY_KEY";

/** No two tenants and profiles have the same: an underscore is in no name of either. Every client takes such a name. */
export function serverName(tenant: string, profile?: string): string {
  return profile === undefined ? tenant : `${tenant}_${profile}`;
}

/** The header of every request; undefined where none is needed, or the client gets its token itself. */
export function keyHeader({ access }: ClientEndpoint): string | undefined {
  return access.kind === "key" ? `Bearer ${access.key}` : undefined;
}

/** As the member of a configuration: nothing where there is no header. */
export function keyHeaders(endpoint: ClientEndpoint): { readonly headers?: Readonly<Record<string, string>> } {
  const bearer = keyHeader(endpoint);
  return bearer === undefined ? {} : { headers: { Authorization: bearer } };
}

export function isLoopbackUrl(url: string): boolean {
  return /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?:[:/]|$)/i.test(url);
}

/** One word of a shell, whatever is in it. In double quotes where nothing in it means something there: `cmd` knows no others. */
export function shellWord(text: string): string {
  if (/^[\w@+=:,./ -]* [\w@+=:,./ -]*$/.test(text)) return `"${text}"`;
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

export function prettyJson(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
