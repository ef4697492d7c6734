// The protocol revisions and, as data, their differences. Code reads these rows instead of comparing versions.

/**
 * `"2025"`: revisions with sessions, 2024-11-05 to 2025-11-25. `"2026"`: stateless revisions, from 2026-07-28 on, whose
 * handlers run again after each answer. Indexed, so that the compiler prints the values in an error. */
export type Era = ["2025", "2026"][number];

export const VERSIONS_2025 = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const;
/**
 * A client that requests this version gets it in the result, and is served as 2024-11-05: the two do not differ in
 * anything served here.
 */
const EARLIEST_VERSION = "2024-10-07";
export const VERSION_2026 = "2026-07-28";

export type ProtocolVersion = (typeof VERSIONS_2025)[number] | typeof VERSION_2026;

/** The era that a version header claims, for responses before the message is classified. */
export function eraOfVersion(version: string | null): Era {
  return version === VERSION_2026 ? "2026" : "2025";
}

export interface RevisionFeatures {
  readonly era: Era;
  readonly version: ProtocolVersion;
  /**
   * JSON-RPC batches, which 2025-06-18 removed.
   * https://modelcontextprotocol.io/specification/2025-03-26/basic#batching
   */
  readonly batches: boolean;
  /** How arguments that break the tool's schema are reported; SEP-1303 moved them into the result. */
  readonly invalidArguments: "error" | "result";
  /** Values that count as an omitted member of params: clients of era 2025 send null or an empty string. */
  readonly emptyValues: readonly unknown[];
  /** Results carry `resultType` and `_meta` serverInfo. */
  readonly resultMeta: boolean;
  /** `ttlMs` and `cacheScope` on lists and reads. */
  readonly caching: boolean;
  readonly audio: boolean;
  readonly resourceLinks: boolean;
  /** In questions: titles of choices, multiple choice, and several blocks in a message for a model. */
  readonly enumTitles: boolean;
  /** The allowed values of `structuredContent` and `outputSchema`. */
  readonly structured: "none" | "object" | "any";
  /** The result of ping. The founding documents ask for a timestamp, which 2024-11-05 allows only in `_meta`. */
  readonly ping: "empty" | "timestampInMeta";
  /** A resumable stream begins with an event that has an id and no data; SEP-1699. */
  readonly sendsPrimingEvent: boolean;
  /** Log messages: enabled by `logging/setLevel` in the session, or by `_meta` of each request. */
  readonly logging: "session" | "request";
}

const shared2025 = {
  era: "2025",
  emptyValues: [undefined, null, ""],
  resultMeta: false,
  caching: false,
  logging: "session",
} as const;

export const REVISION_FEATURES: Readonly<Record<ProtocolVersion, RevisionFeatures>> = {
  "2024-11-05": {
    ...shared2025,
    version: "2024-11-05",
    batches: false,
    invalidArguments: "error",
    audio: false,
    resourceLinks: false,
    enumTitles: false,
    structured: "none",
    ping: "timestampInMeta",
    sendsPrimingEvent: false,
  },
  "2025-03-26": {
    ...shared2025,
    version: "2025-03-26",
    batches: true,
    invalidArguments: "error",
    audio: true,
    resourceLinks: false,
    enumTitles: false,
    structured: "none",
    ping: "empty",
    sendsPrimingEvent: false,
  },
  "2025-06-18": {
    ...shared2025,
    version: "2025-06-18",
    batches: false,
    invalidArguments: "error",
    audio: true,
    resourceLinks: true,
    enumTitles: false,
    structured: "object",
    ping: "empty",
    sendsPrimingEvent: false,
  },
  "2025-11-25": {
    ...shared2025,
    version: "2025-11-25",
    batches: false,
    invalidArguments: "result",
    audio: true,
    resourceLinks: true,
    enumTitles: true,
    structured: "object",
    ping: "empty",
    sendsPrimingEvent: true,
  },
  "2026-07-28": {
    era: "2026",
    version: "2026-07-28",
    batches: false,
    invalidArguments: "result",
    emptyValues: [undefined],
    resultMeta: true,
    caching: true,
    audio: true,
    resourceLinks: true,
    enumTitles: true,
    structured: "any",
    ping: "empty",
    sendsPrimingEvent: false,
    logging: "request",
  },
};

/**
 * The revision of a 2025 request that has neither a version header nor a session.
 * https://modelcontextprotocol.io/specification/2025-06-18/basic/transports#protocol-version-header
 */
export const DEFAULT_REVISION = REVISION_FEATURES["2025-03-26"];
export const LATEST_2025 = REVISION_FEATURES["2025-11-25"];
export const REVISION_2026 = REVISION_FEATURES[VERSION_2026];

/** The features of a revision of era 2025, including 2024-10-07; undefined for any other text. */
export function findRevision2025(version: string): RevisionFeatures | undefined {
  if (version === EARLIEST_VERSION) return REVISION_FEATURES["2024-11-05"];
  return (VERSIONS_2025 as readonly string[]).includes(version)
    ? REVISION_FEATURES[version as ProtocolVersion]
    : undefined;
}

export interface Negotiation {
  readonly revision: RevisionFeatures;
  /** The revision in the initialize result; 2024-10-07 if the client requested that. */
  readonly version: string;
  /** The client requested something that is not a dated revision, such as "1.0". */
  readonly isUnknownRevision: boolean;
}

export function negotiate(requested: string): Negotiation {
  const known = findRevision2025(requested);
  if (known) return { revision: known, version: requested, isUnknownRevision: false };
  return {
    revision: LATEST_2025,
    version: LATEST_2025.version,
    isUnknownRevision: !/^\d{4}-\d{2}-\d{2}$/.test(requested),
  };
}
