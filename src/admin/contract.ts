// The contract of the admin API: one schema for each thing. Validation, OpenAPI and the types of the command line
// derive from these. Clients import only this file of the server.

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
import { Explanation } from "./explain-schema.ts";
import { ErrorRow, FieldRules, Problem, warningMembers } from "./error-schema.ts";
import { GrantShape, LoginClientShape } from "./grant-schema.ts";
import { LimitShape } from "./limit-schema.ts";
import { RecordedLine, UsageLineShape, WebhooksShape, WebhookTestResult } from "./record-schema.ts";
import { ReviewDecision, ReviewResult, PendingDefinitionShape } from "./review-schema.ts";
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
export { Explanation } from "./explain-schema.ts";
export { MetricsShape, ErrorRow, Problem } from "./error-schema.ts";
export { GrantShape, LoginClientShape } from "./grant-schema.ts";
export { RecordedLine, UsageLineShape, WebhooksShape, WebhookTestResult } from "./record-schema.ts";
export { LimitValue, LimitsShape } from "./limit-schema.ts";
export { SecretName, Timestamp } from "./schema-parts.ts";
export { ReviewDecision, ReviewResult, PendingDefinitionShape } from "./review-schema.ts";
export type { infer as Infer } from "zod";

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
    description: "Exact to the hour: when it was seen first within the hour in which it was used last.",
  }),
  retires: NullableTimestamp,
});

export const CreatedKeyShape = object({
  ...ApiKeyShape.shape,
  token: z.string().meta({ description: "Shown this once." }),
});

export const RotateKey = object({}, { overlapSeconds: integer(0, 2_592_000) });

const MAX_SECRET_BYTES = 8192;

export const NewSecret = object({
  value: withRule(textUpTo(MAX_SECRET_BYTES, 1).regex(/^\P{Cs}*$/u, "must be text"), (text) =>
    new TextEncoder().encode(text).byteLength > MAX_SECRET_BYTES ? `at most ${MAX_SECRET_BYTES} bytes` : undefined,
  ).meta({ "x-maxBytes": MAX_SECRET_BYTES, "x-rule": "must be text" }),
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
export const ResourceAbout = object(resourceMembers, optionalResourceMembers);

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
  Acknowledged: ChangeResult,
  Applied: ApplyResult,
  AuditEntry: AuditRow,
  BaseDocument,
  BaseSummary,
  Block,
  BlockDone: BlockResult,
  CreatedKey: CreatedKeyShape,
  CreatedOperator,
  Decide: ReviewDecision,
  Decided: ReviewResult,
  Explained: Explanation,
  ExportLine,
  Fault: ErrorRow,
  Grant: GrantShape,
  Key: ApiKeyShape,
  Limit: LimitShape,
  LoginClient: LoginClientShape,
  NamedPrompt,
  NewBlock,
  NewKey: NewApiKey,
  NewOperator,
  NewSecret,
  NewSuspension,
  NewTenant,
  Operator,
  Problem,
  Profile,
  Prompt: DocumentPrompt,
  RecordedLine,
  Resource: ResourceAbout,
  RollingOut: RolloutReference,
  RollOut: NewRollout,
  Rollout,
  RotateKey,
  Scope,
  Secret,
  Suspension: SuspensionShape,
  Tenant: TenantShape,
  TenantDocument: Document,
  TenantSummary,
  Upstream: UpstreamShape,
  UpstreamDocument: Upstream,
  UpstreamRefreshed: UpstreamRefreshResult,
  UpstreamSummary,
  UpstreamTested: UpstreamTestResult,
  Usage,
  UsageLine: UsageLineShape,
  Waiting: PendingDefinitionShape,
  Webhooks: WebhooksShape,
  WebhookTested: WebhookTestResult,
} as const;
