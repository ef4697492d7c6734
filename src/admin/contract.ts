// Owns what the admin API says and understands: one JSON Schema for each thing, from which validation, OpenAPI and the
// command line's types come. Refuses logic. Clients import this file and nothing else of the server.

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
import { Explained } from "./explain-schema.ts";
import { FaultRow, FieldRules, Problem, Warned } from "./fault-schema.ts";
import { GrantShape, LoginClientShape } from "./grant-schema.ts";
import { LimitShown } from "./limit-schema.ts";
import { RecordedLine, UsageLineShape, WebhooksShape, WebhookTested } from "./record-schema.ts";
import { Decide, Decided, WaitingShape } from "./review-schema.ts";
import {
  ANYTHING,
  COUNT,
  DISTINCT,
  FLAG,
  list,
  nullable,
  object,
  oneOf,
  record,
  STRING,
  textUpTo,
  Timestamp,
  whole,
} from "./shapes.ts";

export { BaseDocument, Document, DocumentPrompt, Name, TenantId, ToolName, Upstream } from "./document-schema.ts";
export { Explained } from "./explain-schema.ts";
export { CountersShown, FaultRow, Problem } from "./fault-schema.ts";
export { GrantShape, LoginClientShape } from "./grant-schema.ts";
export { RecordedLine, UsageLineShape, WebhooksShape, WebhookTested } from "./record-schema.ts";
export { LimitSet, LimitsShown } from "./limit-schema.ts";
export { Timestamp } from "./shapes.ts";
export { Decide, Decided, WaitingShape } from "./review-schema.ts";
export type { Infer } from "../calls/schema.ts";

const Region = oneOf("wnam", "enam", "sam", "weur", "eeur", "apac", "oc", "afr", "me");
const Jurisdiction = oneOf("eu", "fedramp");

const MaybeText = { type: ["string", "null"] } as const;
const MaybeTime = nullable(Timestamp);

/** `region`: near where its data was first kept; `jurisdiction`: where it must stay. */
export const NewTenant = object({ id: TenantId }, { document: Document, region: Region, jurisdiction: Jurisdiction });

/** null: nobody said. */
const Placed = { region: nullable(Region), jurisdiction: nullable(Jurisdiction) } as const;
/**
 * `code`: declared in the Worker's code. `gone`: the author's function knew it and does so no more, and what it stored is
 * still there. `unknown`: the function cannot say now.
 */
const TenantState = oneOf("active", "deleting", "code", "gone", "unknown");

export const TenantShape = object({
  id: STRING,
  created: Timestamp,
  state: TenantState,
  ...Placed,
  url: { type: "string", format: "uri" },
  revision: COUNT,
  own: Document,
  effective: Document,
  suspended: MaybeText,
});
export const MadeTenant = object(TenantShape.properties, Warned);

/** `suspended`: what the directory was last told, moments ago; null: it is not told of a tenant in code. */
export const TenantSummary = object({ id: STRING, created: MaybeTime, state: TenantState, suspended: nullable(FLAG) });

export const pageShapeOf = <const T extends object>(item: T) => object({ items: list(item) }, { cursor: STRING });

const Changes = list(object({ path: STRING }, { before: ANYTHING, after: ANYTHING }));

export const Applied = object(
  {
    revision: COUNT,
    changed: FLAG,
    dryRun: FLAG,
    /** From then on no isolate serves what was before; null: none does now. */
    effectiveAt: MaybeTime,
    changes: Changes,
  },
  Warned,
);

/** A prompt of the tenant's own document. */
export const NamedPrompt = object({ name: STRING, ...promptMembers }, promptOptions);

export const NewApiKey = object(
  { name: textUpTo(100, 1) },
  { scopes: list(Name, { maxItems: 100, ...DISTINCT }), profile: ProfileName, expires: Timestamp },
);

export const ApiKey = object({
  id: STRING,
  name: STRING,
  scopes: nullable(list(STRING)),
  profile: MaybeText,
  created: Timestamp,
  expires: MaybeTime,
  lastUsed: {
    ...MaybeTime,
    description: "Exact to the hour: when it was seen first within the hour in which it was used last.",
  },
  retires: MaybeTime,
});

export const CreatedKey = object({
  ...ApiKey.properties,
  token: { type: "string", description: "Shown this once." },
});

export const RotateKey = object({}, { overlapSeconds: whole(0, 2_592_000) });

/** Read without regard to case. */
export const SecretName = { type: "string", format: "secret-name" } as const;

export const NewSecret = object({
  value: { ...textUpTo(8192, 1), "x-maxBytes": 8192, pattern: String.raw`^\P{Cs}*$`, "x-rule": "must be text" },
});

/** No answer has its value. */
export const Secret = object({ name: STRING, updated: Timestamp });

const Note = textUpTo(500, 1);
export const SuspensionKind = oneOf("tenant", "profile", "principal", "tool");
/** `name`: of the profile, principal or tool; absent for `tenant`. As long as that of somebody whom an issuer names. */
export const NewSuspension = object({ kind: SuspensionKind, note: Note }, { name: textUpTo(512) });
/** `onItsWay`: the tenant's object does not enforce it yet. */
export const SuspensionShape = object(
  { kind: SuspensionKind, name: STRING, note: STRING, since: Timestamp },
  { onItsWay: FLAG },
);

export const NewBlock = object({ note: Note });
/** A tool that is suspended in every tenant. */
export const Block = object({ name: STRING, note: STRING, since: Timestamp });
/** `rollout`: its version, for GET /rollouts/{version}. */
export const BlockDone = object({ name: STRING, changed: FLAG, rollout: COUNT }, Warned);
/**
 * `incomplete`: some tenants could not be reached twice, or refused the base. Those that could not be reached are tried again, up
 * to hourly.
 */
export const Rollout = object(
  {
    version: COUNT,
    about: STRING,
    state: oneOf("running", "done", "incomplete", "stopped"),
    actor: STRING,
    begun: Timestamp,
    /** How many were visited. */
    tenants: COUNT,
    /** Those that could not be reached, the first hundred. */
    missing: list(STRING),
    /** Those that keep the old base, because the new one does not fit them; the first hundred. */
    refused: list(object({ tenant: STRING, error: STRING }, { errors: FieldRules })),
  },
  /** Only of a dry run, for the first hundred tenants. */
  { changes: list(object({ tenant: STRING, changes: Changes })) },
);
export const RollOut = object({}, { dryRun: FLAG });
/** `rollout`: its version, for GET /rollouts/{version}. */
export const RollingOut = object({ rollout: COUNT });

export const Acknowledged = object({ revision: COUNT, changed: FLAG, effectiveAt: MaybeTime });

export const Audience = list(oneOf("user", "assistant"));
const about = {
  uri: STRING,
  name: STRING,
  mimeType: STRING,
  binary: FLAG,
  size: COUNT,
  sha256: {
    type: "string",
    description: "Of the body, in hex: a copy elsewhere can be compared without loading it.",
  },
  etag: { type: "string", description: "As the ETag header shows it, with its quotes." },
  lastModified: Timestamp,
  tags: list(STRING),
} as const;
const perhaps = { title: STRING, description: STRING, audience: Audience, priority: { type: "number" } } as const;
export const ResourceAbout = object(about, perhaps);

const ListedKinds = ["tools", "prompts", "resources", "resourceTemplates"] as const;
const Counts = object({ tools: COUNT, prompts: COUNT, resources: COUNT, resourceTemplates: COUNT });
const Way = oneOf("2025", "2026", "http-sse");
/** For people: the same words wherever one of these states is shown. */
export const STATE_WORDS = {
  fresh: "fresh",
  lastGood: "last good",
  degraded: "degraded",
  unread: "not read",
  disabled: "switched off",
} as const;

const Causes = list(object({ code: oneOf(...CAUSES) }, { name: STRING }));

const aboutUpstream = {
  id: STRING,
  url: STRING,
  enabled: FLAG,
  era: oneOf("auto", "2025", "2026"),
  /** The names of those that are sent. */
  headers: list(STRING),
  setBy: oneOf("tenant", "base", "code"),
  /** review: what it lists waits until it is approved. */
  trust: oneOf("auto", "review"),
  /**
   * lastGood: it cannot be read, and what it listed last stays. degraded: something is missing. unread: it never was read as it is
   * configured, or could not be.
   */
  state: oneOf("fresh", "lastGood", "degraded", "unread", "disabled"),
  why: MaybeText,
  /** `why` as codes. */
  causes: Causes,
  /** Since when it cannot be read. */
  since: MaybeTime,
  /** When it was tried last, with or without success. */
  lastRead: MaybeTime,
  nextRead: MaybeTime,
  reading: FLAG,
} as const;

/** `content`: null where it was never read as it is configured. */
export const UpstreamSummary = object({
  ...aboutUpstream,
  content: nullable(object({ way: Way, revision: STRING, counts: Counts, quarantined: COUNT })),
});

const UpstreamRead = object(
  {
    way: Way,
    revision: STRING,
    counts: Counts,
    /** Definitions that are not listed, each with its reason. */
    quarantined: list(
      object({ kind: oneOf(...ListedKinds, "instructions"), name: STRING, why: STRING }, { code: oneOf(...CAUSES) }),
    ),
    /** How many more are not listed. */
    unnamed: COUNT,
    /** What was not read, because it was too much. */
    capped: MaybeText,
    skipped: COUNT,
  },
  {
    /** Definitions that are listed and deserve a second look, the first hundred. */
    flagged: list(object({ kind: oneOf(...ListedKinds), name: STRING, flags: list(STRING) })),
  },
);

export const UpstreamShape = object({ ...aboutUpstream, content: nullable(UpstreamRead) });

/**
 * `fault`: why it could not be read; then there is no content. `causes`: the same as codes, or what its content lacks. `server`: what it
 * calls itself.
 */
export const UpstreamTested = object(
  {
    works: FLAG,
    fault: MaybeText,
    causes: Causes,
    milliseconds: COUNT,
    server: nullable(object({}, { name: STRING, version: STRING })),
    content: nullable(UpstreamRead),
  },
  {
    /** Tools that are listed although a known client refuses them, the first hundred. */
    refused: list(object({ name: STRING, why: STRING })),
  },
);

/** `effectiveAt`: from then on every isolate offers what was read; null: all do. */
export const UpstreamRefreshed = object({ read: FLAG, effectiveAt: MaybeTime, upstream: UpstreamShape });

export const AuditRow = object({
  sequence: COUNT,
  at: Timestamp,
  actor: STRING,
  action: STRING,
  target: STRING,
  before: ANYTHING,
  after: ANYTHING,
});

export const Usage = object({
  resources: COUNT,
  resourceBytes: COUNT,
  keys: COUNT,
  suspensions: COUNT,
  limits: record(STRING, { type: "number" }),
});

export const BaseSummary = object({ name: STRING, revision: COUNT, tenants: COUNT, changed: Timestamp });

/** One line of an export. */
export const ExportLine = {
  oneOf: [
    object({ kind: { type: "string", const: "tenant" }, id: STRING, ...Placed, revision: COUNT, document: Document }),
    object({ kind: { type: "string", const: "resource" }, ...about }, perhaps),
  ],
} as const;

export const Role = oneOf("owner", "operator", "auditor", "tenant-admin");
/** `tenants`: of a `tenant-admin`, which no other role has. */
export const NewOperator = object(
  { name: Name, role: Role },
  { tenants: list(TenantId, { maxItems: 500, ...DISTINCT }), expires: Timestamp },
);
export const Operator = object({
  name: STRING,
  role: Role,
  tenants: nullable(list(STRING)),
  created: Timestamp,
  expires: MaybeTime,
});
export const CreatedOperator = object({ ...Operator.properties, token: STRING });

/** What `GET /admin/login` says: how an operator signs in, where they do so with an authorization server. */
export const OperatorClientShape = object(
  { issuer: STRING, clientId: STRING, scopes: list(STRING) },
  { audience: STRING },
);

/** What the description of the API refers to by name. */
export const COMPONENTS = {
  Acknowledged,
  Applied,
  AuditEntry: AuditRow,
  BaseDocument,
  BaseSummary,
  Block,
  BlockDone,
  CreatedKey,
  CreatedOperator,
  Decide,
  Decided,
  Explained,
  ExportLine,
  Fault: FaultRow,
  Grant: GrantShape,
  Key: ApiKey,
  Limit: LimitShown,
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
  RollingOut,
  RollOut,
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
  UpstreamRefreshed,
  UpstreamSummary,
  UpstreamTested,
  Usage,
  UsageLine: UsageLineShape,
  Waiting: WaitingShape,
  Webhooks: WebhooksShape,
  WebhookTested,
} as const;
