// The contract of the admin API: one schema for each thing. Validation, OpenAPI and the types of the command line
// derive from these. Clients import only this file of the server. A tenant's document is in document-schema.ts.

import * as z from "zod";
import { CAUSES } from "../protocol/cause.ts";
import {
  BaseDocument,
  Document,
  DocumentPrompt,
  Name,
  Profile,
  ProfileName,
  promptMembers,
  promptOptions,
  Scope,
  TenantId,
  Upstream,
} from "./document-schema.ts";
import {
  withRule,
  list,
  NullableText,
  NullableTimestamp,
  object,
  textUpTo,
  Timestamp,
  Uri,
  integer,
} from "./schema-parts.ts";

export { BaseDocument, Document, DocumentPrompt, Name, TenantId, ToolName, Upstream } from "./document-schema.ts";
export { SecretName, Timestamp } from "./schema-parts.ts";
export type { infer as Infer } from "zod";

export const ErrorRow = object({
  sequence: z.int(),
  at: Timestamp,
  requestId: z.string(),
  tenant: z.string(),
  method: z.string(),
  name: z.string(),
  message: z.string(),
  stack: z.string(),
});

export const MetricsShape = object(
  { counts: z.record(z.string(), z.int()), refusals: z.record(z.string(), z.int()) },
  { levels: z.record(z.string(), z.int()) },
);

/** A wrong member, and the rule that its value breaks. */
const FieldRules = z.array(object({ field: z.string(), rule: z.string() }));

/** Input that was accepted but may be a mistake: a pattern that matches nothing, or a name that does not exist yet. */
const warningMembers = { warnings: FieldRules } as const;

/** Problem details, RFC 9457. */
export const Problem = object(
  { type: z.string(), title: z.string(), status: z.int() },
  { detail: z.string(), errors: FieldRules, requestId: z.string() },
);

const Region = z.enum(["wnam", "enam", "sam", "weur", "eeur", "apac", "oc", "afr", "me"]);
const Jurisdiction = z.enum(["eu", "fedramp"]);

/**
 * `region`: a hint for the location of the tenant's data when first stored. `jurisdiction`: where the data must
 * stay.
 */
export const NewTenant = object({ id: TenantId }, { document: Document, region: Region, jurisdiction: Jurisdiction });

/** null: not specified. */
const placementMembers = { region: z.nullable(Region), jurisdiction: z.nullable(Jurisdiction) } as const;
/**
 * `code`: declared in the Worker's code. `gone`: the author's tenant function no longer declares the tenant, but its
 * stored data is still there. `unknown`: the function fails at the moment.
 */
const TenantState = z.enum(["active", "deleting", "code", "gone", "unknown"]);

export const TenantShape = object({
  id: z.string(),
  created: Timestamp,
  state: TenantState,
  ...placementMembers,
  url: Uri,
  revision: z.int(),
  own: Document,
  effective: Document,
  suspended: NullableText,
});
export const CreatedTenant = object(TenantShape.shape, warningMembers);

/**
 * `suspended`: the state that the directory received last, moments ago. null for a tenant in code, which the
 * directory does not track.
 */
export const TenantSummary = object({
  id: z.string(),
  created: NullableTimestamp,
  state: TenantState,
  suspended: z.nullable(z.boolean()),
});

export const pageShapeOf = <T extends z.ZodType>(item: T) => object({ items: z.array(item) }, { cursor: z.string() });

const Changes = z.array(object({ path: z.string() }, { before: z.unknown(), after: z.unknown() }));

export const ApplyResult = object(
  {
    revision: z.int(),
    changed: z.boolean(),
    dryRun: z.boolean(),
    /** The time from which no isolate serves the previous version; null: none does now. */
    effectiveAt: NullableTimestamp,
    changes: Changes,
  },
  warningMembers,
);

/** A prompt in the tenant's own document. */
export const NamedPrompt = object({ name: z.string(), ...promptMembers }, promptOptions);

export const NewApiKey = object(
  { name: textUpTo(100, 1) },
  { scopes: list(Name, { max: 100, isDistinct: true }), profile: ProfileName, expires: Timestamp },
);

export const ApiKeyShape = object({
  id: z.string(),
  name: z.string(),
  scopes: z.nullable(z.array(z.string())),
  profile: NullableText,
  created: Timestamp,
  expires: NullableTimestamp,
  lastUsed: NullableTimestamp.meta({
    description: "The first use in the hour of the last use, so it is exact to the hour.",
  }),
  retires: NullableTimestamp,
});

export const CreatedKeyShape = object({
  ...ApiKeyShape.shape,
  token: z.string().meta({ description: "Shown only once." }),
});

export const RotateKey = object({}, { overlapSeconds: integer(0, 2_592_000) });

const MAX_SECRET_BYTES = 8192;

export const NewSecret = object({
  value: withRule(textUpTo(MAX_SECRET_BYTES, 1).regex(/^\P{Cs}*$/u, "must be text"), (text) =>
    new TextEncoder().encode(text).byteLength > MAX_SECRET_BYTES ? `at most ${MAX_SECRET_BYTES} bytes` : undefined,
  ).meta({ "x-maxBytes": MAX_SECRET_BYTES, "x-rule": "a text" }),
});

/** No answer contains the value of a secret. */
export const Secret = object({ name: z.string(), updated: Timestamp });

const Note = textUpTo(500, 1);
export const SuspensionKind = z.enum(["tenant", "profile", "principal", "tool"]);
/** `name`: the profile, principal or tool; absent for `tenant`. The length allows a principal that an issuer names. */
export const NewSuspension = object({ kind: SuspensionKind, note: Note }, { name: textUpTo(512) });
/** `onItsWay`: the tenant object does not enforce the suspension yet. */
export const SuspensionShape = object(
  { kind: SuspensionKind, name: z.string(), note: z.string(), since: Timestamp },
  { onItsWay: z.boolean() },
);

export const NewBlock = object({ note: Note });
/** A tool that is suspended in every tenant. */
export const Block = object({ name: z.string(), note: z.string(), since: Timestamp });
/** `rollout`: the version to read with GET /rollouts/{version}. */
export const BlockResult = object({ name: z.string(), changed: z.boolean(), rollout: z.int() }, warningMembers);
/**
 * `incomplete`: some tenants could not be reached in two tries, or refused the base. Unreachable tenants are retried
 * with growing delays, at least hourly.
 */
export const Rollout = object(
  {
    version: z.int(),
    about: z.string(),
    state: z.enum(["running", "done", "incomplete", "stopped"]),
    actor: z.string(),
    begun: Timestamp,
    /** The number of tenants visited so far. */
    tenants: z.int(),
    /** Tenants that could not be reached, the first hundred. */
    missing: z.array(z.string()),
    /** Tenants that keep the old base because the new one does not fit their document, the first hundred. */
    refused: z.array(object({ tenant: z.string(), error: z.string() }, { errors: FieldRules })),
  },
  /** Only for a dry run: the changes of the first hundred tenants. */
  { changes: z.array(object({ tenant: z.string(), changes: Changes })) },
);
export const NewRollout = object({}, { dryRun: z.boolean() });
/** `rollout`: the version to read with GET /rollouts/{version}. */
export const RolloutReference = object({ rollout: z.int() });

export const ChangeResult = object({ revision: z.int(), changed: z.boolean(), effectiveAt: NullableTimestamp });

export const Audience = z.array(z.enum(["user", "assistant"]));
const resourceMembers = {
  uri: z.string(),
  name: z.string(),
  mimeType: z.string(),
  binary: z.boolean(),
  size: z.int(),
  sha256: z.string().meta({
    description: "Of the body, in hex: a copy elsewhere can be compared without loading it.",
  }),
  etag: z.string().meta({ description: "As the ETag header shows it, with its quotes." }),
  lastModified: Timestamp,
  tags: z.array(z.string()),
} as const;
const optionalResourceMembers = {
  title: z.string(),
  description: z.string(),
  audience: Audience,
  priority: z.number(),
} as const;
export const ResourceShape = object(resourceMembers, optionalResourceMembers);

const ListedKinds = ["tools", "prompts", "resources", "resourceTemplates"] as const;
const Counts = object({ tools: z.int(), prompts: z.int(), resources: z.int(), resourceTemplates: z.int() });
const UpstreamTransport = z.enum(["2025", "2026", "http-sse"]);
/** Labels for people, shown wherever one of these states appears. */
export const STATE_WORDS = {
  fresh: "fresh",
  lastGood: "last good",
  degraded: "degraded",
  unread: "not read",
  disabled: "switched off",
} as const;

const Causes = z.array(object({ code: z.enum(CAUSES) }, { name: z.string() }));

const upstreamMembers = {
  id: z.string(),
  url: z.string(),
  enabled: z.boolean(),
  era: z.literal(["auto", "2025", "2026"]),
  /** The names of the headers that the Worker sends to the upstream. */
  headers: z.array(z.string()),
  setBy: z.enum(["tenant", "base", "code"]),
  /** review: definitions of this upstream wait until an operator approves them. */
  trust: z.enum(["auto", "review"]),
  /**
   * lastGood: the upstream cannot be read, and its last known listing stays. degraded: part of the listing is
   * missing. unread: the upstream was never, or cannot be, read with this configuration.
   */
  state: z.enum(["fresh", "lastGood", "degraded", "unread", "disabled"]),
  why: NullableText,
  /** `why` as codes. */
  causes: Causes,
  /** The time since which the upstream cannot be read. */
  since: NullableTimestamp,
  /** The time of the last read, successful or not. */
  lastRead: NullableTimestamp,
  nextRead: NullableTimestamp,
  reading: z.boolean(),
} as const;

/** `content`: null if the upstream was never read with this configuration. */
export const UpstreamSummary = object({
  ...upstreamMembers,
  content: z.nullable(object({ way: UpstreamTransport, revision: z.string(), counts: Counts, quarantined: z.int() })),
});

const UpstreamContentShape = object(
  {
    way: UpstreamTransport,
    revision: z.string(),
    counts: Counts,
    /** Definitions that are not listed, each with its reason. */
    quarantined: z.array(
      object(
        { kind: z.enum([...ListedKinds, "instructions"]), name: z.string(), why: z.string() },
        { code: z.enum(CAUSES) },
      ),
    ),
    /** The number of further definitions that are not listed. */
    unnamed: z.int(),
    /** The part that was not read because it exceeded a limit. */
    capped: NullableText,
    skipped: z.int(),
  },
  {
    /** Definitions that are listed and deserve a review, the first hundred. */
    flagged: z.array(object({ kind: z.enum(ListedKinds), name: z.string(), flags: z.array(z.string()) })),
  },
);

export const UpstreamShape = object({ ...upstreamMembers, content: z.nullable(UpstreamContentShape) });

/**
 * `fault`: why the upstream could not be read; the result then has no content. `causes`: the fault as codes, or the
 * parts that the content lacks. `server`: the name that the upstream reports for itself.
 */
export const UpstreamTestResult = object(
  {
    works: z.boolean(),
    fault: NullableText,
    causes: Causes,
    milliseconds: z.int(),
    server: z.nullable(object({}, { name: z.string(), version: z.string() })),
    content: z.nullable(UpstreamContentShape),
  },
  {
    /** Tools that are listed although a known client refuses them, the first hundred. */
    refused: z.array(object({ name: z.string(), why: z.string() })),
  },
);

/** `effectiveAt`: the time from which every isolate offers the new content; null: all do now. */
export const UpstreamRefreshResult = object({
  read: z.boolean(),
  effectiveAt: NullableTimestamp,
  upstream: UpstreamShape,
});

const FieldChange = object({ field: z.string() }, { before: z.unknown(), after: z.unknown() });

/** `digest`: identifies the definition in a decision. `approved`: the digest of the definition in effect instead. */
export const PendingDefinitionShape = object(
  {
    kind: z.string(),
    name: z.string(),
    state: z.enum(["new", "changed", "rejected"]),
    digest: z.string(),
    approved: z.nullable(z.string()),
    seen: Timestamp,
    changes: z.array(FieldChange),
    flags: z.array(z.enum(["hidden-characters", "instruction"])),
  },
  { renamedFrom: z.string() },
);

export const ReviewDecision = object({ digests: list(textUpTo(64, 1), { min: 1, isDistinct: true, max: 1000 }) });
/** `effectiveAt`: null if the upstream was never listed, so that nothing changes before it is read. */
export const ReviewResult = object({
  decided: z.int(),
  waiting: z.int(),
  changed: z.boolean(),
  effectiveAt: z.nullable(Timestamp),
});

/**
 * The access that a person granted to a client. `deny`: tools that the person excluded. `allow`: only these tools,
 * and none added later. `toolsOnly`: no prompts and no resources.
 */
export const GrantShape = object({
  id: z.string(),
  client: object({ id: z.string(), name: z.string() }),
  principal: z.string(),
  person: object({ name: NullableText, email: NullableText }),
  url: z.string(),
  profile: NullableText,
  scopes: z.nullable(z.array(z.string())),
  deny: z.array(z.string()),
  allow: z.nullable(z.array(z.string())),
  toolsOnly: z.boolean(),
  created: Timestamp,
  lastUsed: Timestamp,
  expires: Timestamp,
});

/**
 * `document`: the client's id is the URL of its metadata. `registered`: the client registered, under a name of its
 * own choice.
 */
export const LoginClientShape = object({
  id: z.string(),
  kind: z.enum(["registered", "document"]),
  name: z.string(),
  redirects: z.array(z.string()),
  lastUsed: Timestamp,
});

const LimitShape = object({
  name: z.string(),
  /** null: no limit. */
  value: z.nullable(z.int()),
  unit: z.enum(["a minute", "a day", "at once", "bytes", "in all"]),
  about: z.string(),
  setBy: z.enum(["tenant", "base", "code", "worker", "default"]),
  raisedBy: z.enum(["operator", "tenant", "author"]),
  /** null: use is counted only in the isolates that take the calls. */
  used: z.nullable(z.int()),
  /** When a caller exceeded the limit last; recorded once an hour. */
  met: NullableTimestamp,
});

export const LimitsShape = object({ exact: z.boolean(), items: z.array(LimitShape) });

export const LimitValue = object({ value: z.int() });

export const Explanation = object(
  { visible: z.boolean(), callable: z.boolean(), listedAs: z.nullable(z.string()), reasons: z.array(z.string()) },
  {
    /** Those of the reasons that make the definition invisible or not callable. */
    decidedBy: z.array(z.string()),
    /** Facts that the server cannot know about the given caller, or about a source. */
    unknown: z.array(z.string()),
    /** Reasons as codes. `source`: the upstream concerned. `name`: the secret that is missing. */
    causes: z.array(
      object(
        { reason: z.string(), code: z.enum([...CAUSES, "key-required"]) },
        { source: z.string(), name: z.string() },
      ),
    ),
  },
);

/**
 * One line of a tenant's usage: the number of calls from `from` to `to`. A `closed` line never changes again. `id`
 * is unique, so a consumer that reads a line twice can tell.
 */
export const UsageLineShape = object({
  id: z.string(),
  tenant: z.string(),
  from: Timestamp,
  to: Timestamp,
  profile: z.nullable(z.string()),
  kind: z.enum(["tool", "prompt", "resource", "request"]),
  /** null: the line covers calls without a name. */
  name: z.nullable(z.string()),
  upstream: z.nullable(z.string()),
  calls: z.int(),
  errors: z.int(),
  refused: z.int(),
  bytesIn: z.int(),
  bytesOut: z.int(),
  closed: z.boolean(),
});

const chainLinkMembers = { sequence: z.int(), hash: z.string() } as const;

/**
 * A line of recorded calls. `hash` is the SHA-256, in hex, of the previous hash, a line feed, and `entry` as JSON
 * without whitespace. `anchor`: the link that the next line extends. `head`: the newest link that the server knows.
 */
export const CallAuditLine = z.discriminatedUnion("kind", [
  object({ kind: z.literal("anchor"), ...chainLinkMembers }),
  object({ kind: z.literal("call"), ...chainLinkMembers, entry: z.unknown() }),
  object({ kind: z.literal("head"), ...chainLinkMembers }),
]);

/** `events`: null: all. `waiting`: messages not delivered yet. `dropped`: messages that were given up. */
export const WebhooksShape = object({
  items: z.array(
    object({ name: z.string(), url: z.string(), events: z.nullable(z.array(z.string())), enabled: z.boolean() }),
  ),
  waiting: z.int(),
  dropped: z.int(),
});

/** `status`: null if there was no answer. */
export const WebhookTestResult = object({
  delivered: z.boolean(),
  status: z.nullable(z.int()),
  why: z.nullable(z.string()),
  milliseconds: z.int(),
});

export const AuditRow = object({
  sequence: z.int(),
  at: Timestamp,
  actor: z.string(),
  action: z.string(),
  target: z.string(),
  before: z.unknown(),
  after: z.unknown(),
});

export const Usage = object({
  resources: z.int(),
  resourceBytes: z.int(),
  keys: z.int(),
  suspensions: z.int(),
  limits: z.record(z.string(), z.number()),
});

export const BaseSummary = object({ name: z.string(), revision: z.int(), tenants: z.int(), changed: Timestamp });

export const ExportLine = z.discriminatedUnion("kind", [
  object({ kind: z.literal("tenant"), id: z.string(), ...placementMembers, revision: z.int(), document: Document }),
  object({ kind: z.literal("resource"), ...resourceMembers }, optionalResourceMembers),
]);

export const Role = z.enum(["owner", "operator", "auditor", "tenant-admin"]);
/** `tenants`: required for a `tenant-admin`; no other role has it. */
export const NewOperator = object(
  { name: Name, role: Role },
  { tenants: list(TenantId, { max: 500, isDistinct: true }), expires: Timestamp },
);
export const Operator = object({
  name: z.string(),
  role: Role,
  tenants: z.nullable(z.array(z.string())),
  created: Timestamp,
  expires: NullableTimestamp,
});
export const CreatedOperator = object({ ...Operator.shape, token: z.string() });

/** The answer of `GET /admin/login`: how an operator signs in, if the Worker uses an authorization server. */
export const OperatorClientShape = object(
  { issuer: z.string(), clientId: z.string(), scopes: z.array(z.string()) },
  { audience: z.string() },
);

/** Schemas that the OpenAPI document refers to by name. */
export const COMPONENTS = {
  ApiKey: ApiKeyShape,
  ApplyResult,
  AuditEntry: AuditRow,
  BaseDocument,
  BaseSummary,
  Block,
  BlockResult,
  CallAuditLine,
  ChangeResult,
  CreatedApiKey: CreatedKeyShape,
  CreatedOperator,
  ErrorEntry: ErrorRow,
  Explanation,
  ExportLine,
  Grant: GrantShape,
  Limit: LimitShape,
  LoginClient: LoginClientShape,
  NamedPrompt,
  NewApiKey,
  NewBlock,
  NewOperator,
  NewRollout,
  NewSecret,
  NewSuspension,
  NewTenant,
  Operator,
  PendingDefinition: PendingDefinitionShape,
  Problem,
  Profile,
  Prompt: DocumentPrompt,
  Resource: ResourceShape,
  ReviewDecision,
  ReviewResult,
  Rollout,
  RolloutReference,
  RotateKey,
  Scope,
  Secret,
  Suspension: SuspensionShape,
  Tenant: TenantShape,
  TenantDocument: Document,
  TenantSummary,
  Upstream: UpstreamShape,
  UpstreamDocument: Upstream,
  UpstreamRefreshResult,
  UpstreamSummary,
  UpstreamTestResult,
  Usage,
  UsageLine: UsageLineShape,
  WebhookTestResult,
  Webhooks: WebhooksShape,
} as const;
