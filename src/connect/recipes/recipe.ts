// A recipe for a client: the endpoint it is for, the kind of access, and the text to paste or type. Pure, so that a
// page and a program can both show recipes.

/** Access of callers: open to everyone, login in a browser, or a key with every request. */
export type Access =
  | { readonly kind: "open" }
  | { readonly kind: "login" }
  /** The key itself, or `KEY_PLACEHOLDER`. */
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
  /**
   * The file to put the text into, as the client's own documentation names it; undefined if the text does not belong
   * into a file.
   */
  readonly file?: string;
  /** Steps for a person, before and after pasting the text. */
  readonly steps: readonly string[];
  /** A link that makes the client add the endpoint by itself. */
  readonly link?: string;
}

export interface Recipe {
  readonly client: string;
  readonly title: string;
  readonly snippet: (endpoint: ClientEndpoint) => Snippet;
}

/** Stands in for a key that the reader does not have at hand. */
export const KEY_PLACEHOLDER = "YOUR_KEY";

/** The environment variable from which programs read their key. */
export const KEY_VARIABLE = "TENANTRY_KEY";

/** Unique per tenant and profile: neither name contains an underscore. Every client accepts such a name. */
export function serverName(tenant: string, profile?: string): string {
  return profile === undefined ? tenant : `${tenant}_${profile}`;
}

/** The value of `Authorization`; undefined if none is needed, or if the client gets its token itself. */
export function bearerOf({ access }: ClientEndpoint): string | undefined {
  return access.kind === "key" ? `Bearer ${access.key}` : undefined;
}

/** The member `headers` of a configuration; no member if there is no header. */
export function headersMember(endpoint: ClientEndpoint): { readonly headers?: Readonly<Record<string, string>> } {
  const bearer = bearerOf(endpoint);
  return bearer === undefined ? {} : { headers: { Authorization: bearer } };
}

export function isLoopbackUrl(url: string): boolean {
  return /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?:[:/]|$)/i.test(url);
}

/**
 * One shell word for any text. Uses double quotes if no character is special inside them, because `cmd` knows no
 * others.
 */
export function shellWord(text: string): string {
  if (/^[\w@+=:,./ -]* [\w@+=:,./ -]*$/.test(text)) return `"${text}"`;
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

export function prettyJson(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
