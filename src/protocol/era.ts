// Owns which protocol revisions exist and, as data, how they differ. Refuses behaviour: code reads these rows.

export type Era = "2025" | "2026";

export const REVISIONS_2025 = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const;
/** A client that asks for it is answered with it and served as 2024-11-05: nothing served here differs between them. */
const EARLIEST = "2024-10-07";
export const REVISION_2026 = "2026-07-28";

export type Revision = (typeof REVISIONS_2025)[number] | typeof REVISION_2026;

/** The era that a version header claims, for answers that are given before the message is classified. */
export function eraOfVersion(version: string | null): Era {
  return version === REVISION_2026 ? "2026" : "2025";
}

export interface Dialect {
  readonly era: Era;
  readonly revision: Revision;
  /**
   * JSON-RPC batches, which 2025-06-18 removed.
   * https://modelcontextprotocol.io/specification/2025-03-26/basic#batching
   */
  readonly batches: boolean;
  /** Where arguments that break the tool's schema are reported; SEP-1303 moved them into the result. */
  readonly invalidArguments: "error" | "result";
  /** What counts as a member of params that was left out: clients of era 2025 write null, or an empty text. */
  readonly leftOut: readonly unknown[];
  /** Results carry `resultType` and `_meta` serverInfo. */
  readonly stamps: boolean;
  /** `ttlMs` and `cacheScope` on lists and reads. */
  readonly caching: boolean;
  readonly audio: boolean;
  readonly resourceLinks: boolean;
  /** In questions: titles of choices, several of them at once, and several blocks in a message for a model. */
  readonly choices: boolean;
  /** What `structuredContent` and `outputSchema` may be. */
  readonly structured: "none" | "object" | "any";
  /** What ping answers; see docs/founding-documents.md. */
  readonly ping: "empty" | "timestampInMeta";
  /** A stream that can be resumed begins with an event that has an id and no data; SEP-1699. */
  readonly primes: boolean;
  /** Log messages: by `logging/setLevel` in the session, or by `_meta` of each request. */
  readonly logging: "session" | "request";
}

const since2025 = {
  era: "2025",
  leftOut: [undefined, null, ""],
  stamps: false,
  caching: false,
  logging: "session",
} as const;

export const DIALECTS: Readonly<Record<Revision, Dialect>> = {
  "2024-11-05": {
    ...since2025,
    revision: "2024-11-05",
    batches: false,
    invalidArguments: "error",
    audio: false,
    resourceLinks: false,
    choices: false,
    structured: "none",
    ping: "timestampInMeta",
    primes: false,
  },
  "2025-03-26": {
    ...since2025,
    revision: "2025-03-26",
    batches: true,
    invalidArguments: "error",
    audio: true,
    resourceLinks: false,
    choices: false,
    structured: "none",
    ping: "empty",
    primes: false,
  },
  "2025-06-18": {
    ...since2025,
    revision: "2025-06-18",
    batches: false,
    invalidArguments: "error",
    audio: true,
    resourceLinks: true,
    choices: false,
    structured: "object",
    ping: "empty",
    primes: false,
  },
  "2025-11-25": {
    ...since2025,
    revision: "2025-11-25",
    batches: false,
    invalidArguments: "result",
    audio: true,
    resourceLinks: true,
    choices: true,
    structured: "object",
    ping: "empty",
    primes: true,
  },
  "2026-07-28": {
    era: "2026",
    revision: "2026-07-28",
    batches: false,
    invalidArguments: "result",
    leftOut: [undefined],
    stamps: true,
    caching: true,
    audio: true,
    resourceLinks: true,
    choices: true,
    structured: "any",
    ping: "empty",
    primes: false,
    logging: "request",
  },
};

/**
 * The dialect of a 2025 request that has neither version header nor session.
 * https://modelcontextprotocol.io/specification/2025-06-18/basic/transports#protocol-version-header
 */
export const DEFAULT_DIALECT = DIALECTS["2025-03-26"];
export const LATEST_2025 = DIALECTS["2025-11-25"];
export const DIALECT_2026 = DIALECTS[REVISION_2026];

/** The dialect of a revision of era 2025, 2024-10-07 included; undefined for any other text. */
export function dialect2025(revision: string): Dialect | undefined {
  if (revision === EARLIEST) return DIALECTS["2024-11-05"];
  return (REVISIONS_2025 as readonly string[]).includes(revision) ? DIALECTS[revision as Revision] : undefined;
}

export interface Negotiated {
  readonly dialect: Dialect;
  /** The revision that the initialize result names; 2024-10-07 where the client asked for that. */
  readonly answered: string;
  /** What the client asked for is no dated revision, such as "1.0". */
  readonly unofficial: boolean;
}

export function negotiate(requested: string): Negotiated {
  const known = dialect2025(requested);
  if (known) return { dialect: known, answered: requested, unofficial: false };
  return {
    dialect: LATEST_2025,
    answered: LATEST_2025.revision,
    unofficial: !/^\d{4}-\d{2}-\d{2}$/.test(requested),
  };
}
