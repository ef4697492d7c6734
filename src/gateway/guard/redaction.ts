// Removes credentials that were sent to an upstream from everything that it answers. Very short secrets are not
// redacted, because they occur in any text by chance.

import { hasDuplicateMembers } from "../../mcp-client/json-text.ts";
import { isObject } from "../../protocol/jsonrpc.ts";

const MIN_SECRET_LENGTH = 8;
const REPLACEMENT = "[redacted]";

export class Redaction {
  /** Shares one instance if there are no secrets, as for most upstreams. */
  static create(secrets: readonly string[]): Redaction {
    return secrets.length === 0 ? NO_REDACTION : new Redaction(secrets);
  }

  /** The longest first, because one secret may be part of another. */
  readonly #secrets: readonly string[];
  /** The secrets as they appear inside a JSON string. */
  readonly #jsonSecrets: readonly string[];

  constructor(secrets: readonly string[]) {
    // White space around a header value is not sent.
    const sent = new Set(secrets.map((secret) => secret.trim()));
    this.#secrets = [...sent]
      .filter(({ length }) => length >= MIN_SECRET_LENGTH)
      .toSorted((a, b) => b.length - a.length);
    this.#jsonSecrets = this.#secrets.map((secret) => JSON.stringify(secret).slice(1, -1));
  }

  /** Returns the same text if there is nothing to redact. */
  json(text: string): string {
    if (this.#jsonSecrets.length === 0) return text;
    if (!this.#mayContainSecret(text)) return text;
    const plain = normalizeEscapes(text);
    if (!this.#containsSecret(plain)) return text;
    const cut = redactText(plain, this.#jsonSecrets);
    // The match may be a number, or begin inside an escape. If the cut text is not JSON, the value is redacted instead.
    return isJson(cut) ? cut : JSON.stringify(JSON.parse(text, (_name, value: unknown) => this.#redactValue(value)));
  }

  /** As `json`, for a JSON value. */
  value<T>(value: T): T {
    if (this.#jsonSecrets.length === 0 || value === undefined) return value;
    const text = JSON.stringify(value);
    const cut = this.json(text);
    return cut === text ? value : (JSON.parse(cut) as T);
  }

  /** Some servers escape every slash. Undoing each escape takes a hundred times as long as parsing the JSON. */
  #mayContainSecret(text: string): boolean {
    if (this.#containsSecret(text)) return true;
    if (!hasEscapes(text)) return false;
    const known = JSON.stringify(JSON.parse(text));
    return this.#containsSecret(known) || hasDuplicateMembers(text, known);
  }

  #containsSecret(text: string): boolean {
    return this.#jsonSecrets.some((secret) => text.includes(secret));
  }

  #redactValue(value: unknown): unknown {
    if (typeof value === "string") return redactText(value, this.#secrets);
    if (typeof value === "number")
      return this.#secrets.some((one) => String(value).includes(one)) ? REPLACEMENT : value;
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [redactText(name, this.#secrets), member]));
  }
}

/** An escape, or a backslash pair that must be skipped. */
const ESCAPES = /\\(?:u([\da-fA-F]{4})|(.))/g;

/** Escapes that JSON.stringify would not write. */
function hasEscapes(text: string): boolean {
  return text.includes("\\u") || text.includes("\\/");
}

/** Rewrites strings as JSON.stringify would. Many servers escape what needs no escape, such as "+" or "/". */
function normalizeEscapes(text: string): string {
  if (!hasEscapes(text)) return text;
  return text.replaceAll(ESCAPES, (whole, hex: string | undefined, char: string) => {
    if (hex === undefined) return char === "/" ? char : whole;
    const decoded = String.fromCharCode(Number.parseInt(hex, 16));
    return /[\u0000-\u001f"\\]|\p{Surrogate}/u.test(decoded) ? whole : decoded;
  });
}

/** Bound: holds no secrets and never changes. */
const NO_REDACTION = new Redaction([]);

function redactText(text: string, secrets: readonly string[]): string {
  return secrets.reduce((left, secret) => left.replaceAll(secret, REPLACEMENT), text);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
