// Owns what the admin API says and understands: one zod schema for each thing, from which validation, OpenAPI and the
// command line's types come. Refuses logic. Clients import this file and nothing else of the server.

import * as z from "zod/mini";
import { SECRET_NAME_RULE, secretNameOf } from "../tenants/document/secret-name.ts";
import {
  BaseDocument,
  described,
  distinct,
  DISTINCT,
  Document,
  Name,
  ProfileName,
  DocumentPrompt,
  TenantId,
} from "./document-schema.ts";

export {
  BaseDocument,
  described,
  Document,
  Name,
  parseDocument,
  Profile,
  DocumentPrompt,
  Scope,
  TenantId,
  ToolName,
} from "./document-schema.ts";

const Region = z.enum(["wnam", "enam", "sam", "weur", "eeur", "apac", "oc", "afr", "me"]);
const Jurisdiction = z.enum(["eu", "fedramp"]);

export const NewTenant = z
  .strictObject({
    id: TenantId,
    document: z.optional(Document),
    region: z.optional(Region),
    jurisdiction: z.optional(Jurisdiction),
  })
  .register(described, { id: "NewTenant" });

const ISO_UTC = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?Z$/;

/** Whether the date exists. `Date.parse` reads February 30 as a day in March. */
function isDay(text: string): boolean {
  const time = Date.parse(text);
  return !Number.isNaN(time) && new Date(time).toISOString().slice(0, 10) === text.slice(0, 10);
}

/** RFC 3339, in UTC, with a Z at the end. */
export const Timestamp = z
  .string()
  .check(z.refine((text) => ISO_UTC.test(text) && isDay(text), "Invalid ISO datetime"))
  .register(described, { format: "date-time" });

export const TenantShape = z
  .object({
    id: z.string(),
    created: Timestamp,
    state: z.enum(["active", "deleting", "code"]),
    /** `region`: near where its data was first kept; `jurisdiction`: where it must stay. null: nobody said. */
    region: z.nullable(Region),
    jurisdiction: z.nullable(Jurisdiction),
    url: z.string().register(described, { format: "uri" }),
    revision: z.int(),
    own: Document,
    effective: Document,
    suspended: z.nullable(z.string()),
  })
  .register(described, { id: "Tenant" });

export const TenantSummary = z
  .object({ id: z.string(), created: z.nullable(Timestamp), state: z.enum(["active", "deleting", "code"]) })
  .register(described, { id: "TenantSummary" });

export const pageShapeOf = <T extends z.ZodMiniType>(item: T) =>
  z.object({ items: z.array(item), cursor: z.optional(z.string()) });

const ChangeRow = z.object({ path: z.string(), before: z.optional(z.unknown()), after: z.optional(z.unknown()) });

/**
 * Until then an isolate that cannot reach the tenant's object may serve what was before, because the tenant chose that
 * for outages. Absent where that ends ten seconds after `effectiveAt`, or none does.
 */
const staleUntil = z.optional(Timestamp);

export const Applied = z
  .object({
    revision: z.int(),
    changed: z.boolean(),
    dryRun: z.boolean(),
    /** From then on no isolate serves what was before; null: none does now. */
    effectiveAt: z.nullable(Timestamp),
    staleUntil,
    changes: z.array(ChangeRow),
  })
  .register(described, { id: "Applied" });

/** A prompt of the tenant's own document. */
export const NamedPrompt = z.extend(DocumentPrompt, { name: z.string() }).register(described, { id: "NamedPrompt" });

export const NewApiKey = z
  .strictObject({
    name: z.string().check(z.minLength(1), z.maxLength(100)),
    scopes: z.optional(z.array(Name).check(z.maxLength(100), z.refine(distinct, DISTINCT))),
    profile: z.optional(ProfileName),
    expires: z.optional(Timestamp),
  })
  .register(described, { id: "NewKey" });

export const ApiKey = z
  .object({
    id: z.string(),
    name: z.string(),
    scopes: z.nullable(z.array(z.string())),
    profile: z.nullable(z.string()),
    created: Timestamp,
    expires: z.nullable(Timestamp),
    lastUsed: z.nullable(Timestamp),
    retires: z.nullable(Timestamp),
  })
  .register(described, { id: "Key" });

export const CreatedKey = z
  .extend(ApiKey, { token: z.string().register(described, { description: "Shown this once." }) })
  .register(described, {
    id: "CreatedKey",
  });

export const RotateKey = z
  .strictObject({ overlapSeconds: z.optional(z.int().check(z.minimum(0), z.maximum(2_592_000))) })
  .register(described, { id: "RotateKey" });

/** Read without regard to case. */
export const SecretName = z.pipe(
  z.string(),
  z.transform((text, context) => {
    const name = secretNameOf(text);
    if (name !== undefined) return name;
    context.issues.push({ code: "custom", input: text, message: SECRET_NAME_RULE });
    return z.NEVER;
  }),
);

const MAX_SECRET_BYTES = 8192;
export const NewSecret = z
  .strictObject({
    value: z.string().check(
      z.minLength(1),
      z.maxLength(MAX_SECRET_BYTES),
      z.refine((text) => !/\p{Cs}/u.test(text), "must be text"),
      z.refine(
        (text) => new TextEncoder().encode(text).byteLength <= MAX_SECRET_BYTES,
        `at most ${MAX_SECRET_BYTES} bytes`,
      ),
    ),
  })
  .register(described, { id: "NewSecret" });

/** No answer has its value. */
export const Secret = z.object({ name: z.string(), updated: Timestamp }).register(described, { id: "Secret" });

export const SuspensionKind = z.enum(["tenant", "profile", "principal", "tool"]);
export const NewSuspension = z
  .strictObject({
    kind: SuspensionKind,
    /** Of the profile, principal or tool; absent for `tenant`. */
    name: z.optional(z.string().check(z.maxLength(128))),
    note: z.string().check(z.minLength(1), z.maxLength(500)),
  })
  .register(described, { id: "NewSuspension" });
export const SuspensionShape = z
  .object({ kind: SuspensionKind, name: z.string(), note: z.string(), since: Timestamp })
  .register(described, { id: "Suspension" });

export const NewBlock = z
  .strictObject({ note: z.string().check(z.minLength(1), z.maxLength(500)) })
  .register(described, { id: "NewBlock" });
/** A tool that is suspended in every tenant. */
export const Block = z
  .object({ name: z.string(), note: z.string(), since: Timestamp })
  .register(described, { id: "Block" });
export const BlockDone = z
  .object({ name: z.string(), changed: z.boolean(), tenants: z.int(), effectiveAt: z.nullable(Timestamp), staleUntil })
  .register(described, { id: "BlockDone" });

export const Acknowledged = z
  .object({ revision: z.int(), changed: z.boolean(), effectiveAt: z.nullable(Timestamp), staleUntil })
  .register(described, { id: "Acknowledged" });

export const ResourceAbout = z
  .object({
    uri: z.string(),
    name: z.string(),
    title: z.optional(z.string()),
    description: z.optional(z.string()),
    mimeType: z.string(),
    binary: z.boolean(),
    size: z.int(),
    sha256: z.string().register(described, {
      description: "Of the body, in hex: a copy elsewhere can be compared without loading it.",
    }),
    etag: z.string().register(described, { description: "As the ETag header shows it, with its quotes." }),
    lastModified: Timestamp,
    audience: z.optional(z.array(z.enum(["user", "assistant"]))),
    priority: z.optional(z.number()),
    tags: z.array(z.string()),
  })
  .register(described, { id: "Resource" });

export const AuditRow = z
  .object({
    sequence: z.int(),
    at: Timestamp,
    actor: z.string(),
    action: z.string(),
    target: z.string(),
    before: z.unknown(),
    after: z.unknown(),
  })
  .register(described, { id: "AuditEntry" });

export const Explained = z
  .object({
    visible: z.boolean(),
    callable: z.boolean(),
    listedAs: z.nullable(z.string()),
    reasons: z.array(z.string()),
  })
  .register(described, { id: "Explained" });

export const FleetApply = z
  .strictObject({
    base: Name,
    document: BaseDocument,
    /** How many tenants are applied before the outcomes are stored. A wave in which one fails is the last. */
    wave: z.optional(z.int().check(z.minimum(1), z.maximum(500))),
    /** Later waves follow although a tenant failed. */
    continueOnError: z.optional(z.boolean()),
    dryRun: z.optional(z.boolean()),
  })
  .register(described, { id: "FleetApply" });

export const FleetRun = z
  .object({
    id: z.string(),
    base: z.string(),
    /** After `stopped`, resume goes on with the tenants that are left, those that failed included. */
    state: z.enum(["running", "done", "stopped"]),
    dryRun: z.boolean(),
    continueOnError: z.boolean(),
    created: Timestamp,
    total: z.int(),
    done: z.int(),
    /** The first hundred, by tenant id. */
    failed: z.array(
      z.object({
        tenant: z.string(),
        error: z.string(),
        errors: z.optional(z.array(z.object({ field: z.string(), rule: z.string() }))),
      }),
    ),
    /** Only of a dry run, for the first hundred tenants. */
    changes: z.optional(z.array(z.object({ tenant: z.string(), changes: z.array(ChangeRow) }))),
    effectiveAt: z.nullable(Timestamp),
  })
  .register(described, { id: "FleetRun" });

export const Usage = z
  .object({
    resources: z.int(),
    resourceBytes: z.int(),
    keys: z.int(),
    suspensions: z.int(),
    limits: z.record(z.string(), z.number()),
  })
  .register(described, { id: "Usage" });

export const BaseSummary = z
  .object({ name: z.string(), revision: z.int(), tenants: z.int(), changed: Timestamp })
  .register(described, { id: "BaseSummary" });

/** One line of an export. */
export const ExportLine = z
  .discriminatedUnion("kind", [
    z.object({
      kind: z.literal("tenant"),
      id: z.string(),
      region: z.nullable(Region),
      jurisdiction: z.nullable(Jurisdiction),
      revision: z.int(),
      document: Document,
    }),
    z.object({ kind: z.literal("resource"), ...ResourceAbout.shape }),
  ])
  .register(described, { id: "ExportLine" });

export const Role = z.enum(["owner", "operator", "auditor", "tenant-admin"]);
export const NewOperator = z
  .strictObject({
    name: Name,
    role: Role,
    /** The tenants of a `tenant-admin`, which no other role has. */
    tenants: z.optional(z.array(TenantId).check(z.maxLength(500), z.refine(distinct, DISTINCT))),
    expires: z.optional(Timestamp),
  })
  .register(described, { id: "NewOperator" });
export const Operator = z
  .object({
    name: z.string(),
    role: Role,
    tenants: z.nullable(z.array(z.string())),
    created: Timestamp,
    expires: z.nullable(Timestamp),
  })
  .register(described, { id: "Operator" });
export const CreatedOperator = z.extend(Operator, { token: z.string() }).register(described, { id: "CreatedOperator" });

/** RFC 9457. */
export const Problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.optional(z.string()),
    errors: z.optional(z.array(z.object({ field: z.string(), rule: z.string() }))),
    requestId: z.optional(z.string()),
  })
  .register(described, { id: "Problem" });
