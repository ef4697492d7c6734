// Owns what the admin API says and understands: one zod schema for each thing, from which validation, OpenAPI and the
// command line's types come. Refuses logic. Clients import this file and nothing else of the server.

import * as z from "zod";
import { SECRET_NAME_RULE, secretNameOf } from "../tenants/secret-name.ts";
import { BaseDocument, distinct, DISTINCT, Document, Name, ProfileName, Prompt, TenantId } from "./document-schema.ts";

export {
  BaseDocument,
  Document,
  Name,
  parseDocument,
  Profile,
  Prompt,
  Scope,
  TenantId,
  ToolName,
} from "./document-schema.ts";

const Region = z.enum(["wnam", "enam", "sam", "weur", "eeur", "apac", "oc", "afr", "me"]);
const Jurisdiction = z.enum(["eu", "fedramp"]);

export const NewTenant = z
  .strictObject({
    id: TenantId,
    document: Document.optional(),
    region: Region.optional(),
    jurisdiction: Jurisdiction.optional(),
  })
  .meta({ id: "NewTenant" });

const Timestamp = z.iso.datetime();

export const Tenant = z
  .object({
    id: z.string(),
    created: Timestamp,
    state: z.enum(["active", "deleting", "code"]),
    /** Where its data was first kept near, and where it must stay; null: nobody said. */
    region: Region.nullable(),
    jurisdiction: Jurisdiction.nullable(),
    url: z.url(),
    revision: z.int(),
    own: Document,
    effective: Document,
    suspended: z.string().nullable(),
  })
  .meta({ id: "Tenant" });

export const TenantSummary = z
  .object({ id: z.string(), created: Timestamp.nullable(), state: z.enum(["active", "deleting", "code"]) })
  .meta({ id: "TenantSummary" });

export const pageOf = <T extends z.ZodType>(item: T) =>
  z.object({ items: z.array(item), cursor: z.string().optional() });

const ChangeRow = z.object({ path: z.string(), before: z.unknown().optional(), after: z.unknown().optional() });

export const Applied = z
  .object({
    revision: z.int(),
    changed: z.boolean(),
    dryRun: z.boolean(),
    /** From when on no isolate serves what was before. */
    effectiveAt: Timestamp.nullable(),
    changes: z.array(ChangeRow),
  })
  .meta({ id: "Applied" });

/** A prompt of the tenant's own document. */
export const NamedPrompt = Prompt.extend({ name: z.string() }).meta({ id: "NamedPrompt" });

export const NewApiKey = z
  .strictObject({
    name: z.string().min(1).max(100),
    scopes: z.array(Name).max(100).refine(distinct, DISTINCT).optional(),
    profile: ProfileName.optional(),
    expires: Timestamp.optional(),
  })
  .meta({ id: "NewKey" });

export const ApiKey = z
  .object({
    id: z.string(),
    name: z.string(),
    scopes: z.array(z.string()).nullable(),
    profile: z.string().nullable(),
    created: Timestamp,
    expires: Timestamp.nullable(),
    lastUsed: Timestamp.nullable(),
    retires: Timestamp.nullable(),
  })
  .meta({ id: "Key" });

export const CreatedKey = ApiKey.extend({ token: z.string().meta({ description: "Shown this once." }) }).meta({
  id: "CreatedKey",
});

export const RotateKey = z
  .strictObject({ overlapSeconds: z.int().min(0).max(2_592_000).optional() })
  .meta({ id: "RotateKey" });

/** Case does not matter. */
export const SecretName = z.string().transform((text, context) => {
  const name = secretNameOf(text);
  if (name !== undefined) return name;
  context.addIssue({ code: "custom", message: SECRET_NAME_RULE });
  return z.NEVER;
});

const MAX_SECRET_BYTES = 8192;
export const NewSecret = z
  .strictObject({
    value: z
      .string()
      .min(1)
      .max(MAX_SECRET_BYTES)
      .refine((text) => !/\p{Cs}/u.test(text), "must be text")
      .refine(
        (text) => new TextEncoder().encode(text).byteLength <= MAX_SECRET_BYTES,
        `at most ${MAX_SECRET_BYTES} bytes`,
      ),
  })
  .meta({ id: "NewSecret" });

/** Nothing shows its value. */
export const Secret = z.object({ name: z.string(), updated: Timestamp }).meta({ id: "Secret" });

export const SuspensionKind = z.enum(["tenant", "profile", "principal", "tool"]);
export const NewSuspension = z
  .strictObject({
    kind: SuspensionKind,
    /** Not for `tenant`. */
    name: z.string().max(128).optional(),
    note: z.string().min(1).max(500),
  })
  .meta({ id: "NewSuspension" });
export const Suspension = z
  .object({ kind: SuspensionKind, name: z.string(), note: z.string(), since: Timestamp })
  .meta({ id: "Suspension" });

export const NewBlock = z.strictObject({ note: z.string().min(1).max(500) }).meta({ id: "NewBlock" });
/** A tool that is suspended in every tenant. */
export const Block = z.object({ name: z.string(), note: z.string(), since: Timestamp }).meta({ id: "Block" });
export const BlockDone = z
  .object({ name: z.string(), changed: z.boolean(), tenants: z.int(), effectiveAt: Timestamp.nullable() })
  .meta({ id: "BlockDone" });

export const Acknowledged = z
  .object({ revision: z.int(), changed: z.boolean(), effectiveAt: Timestamp.nullable() })
  .meta({ id: "Acknowledged" });

export const ResourceAbout = z
  .object({
    uri: z.string(),
    name: z.string(),
    title: z.string().optional(),
    description: z.string().optional(),
    mimeType: z.string(),
    binary: z.boolean(),
    size: z.int(),
    sha256: z
      .string()
      .meta({ description: "Of the body, in hex: a copy elsewhere can be compared without loading it." }),
    etag: z.string().meta({ description: "As the ETag header shows it, with its quotes." }),
    lastModified: Timestamp,
    audience: z.array(z.enum(["user", "assistant"])).optional(),
    priority: z.number().optional(),
    tags: z.array(z.string()),
  })
  .meta({ id: "Resource" });

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
  .meta({ id: "AuditEntry" });

export const Explained = z
  .object({
    visible: z.boolean(),
    callable: z.boolean(),
    listedAs: z.string().nullable(),
    reasons: z.array(z.string()),
  })
  .meta({ id: "Explained" });

export const FleetApply = z
  .strictObject({
    base: Name,
    document: BaseDocument,
    /** How many tenants at a time; a wave in which one fails is the last. */
    wave: z.int().min(1).max(500).optional(),
    /** A tenant that fails stops only itself. */
    continueOnError: z.boolean().optional(),
    dryRun: z.boolean().optional(),
  })
  .meta({ id: "FleetApply" });

export const FleetRun = z
  .object({
    id: z.string(),
    base: z.string(),
    /** Stopped: resume goes on where it was, the tenants that failed first. */
    state: z.enum(["running", "done", "stopped"]),
    dryRun: z.boolean(),
    continueOnError: z.boolean(),
    created: Timestamp,
    total: z.int(),
    done: z.int(),
    /** The first hundred. */
    failed: z.array(
      z.object({
        tenant: z.string(),
        error: z.string(),
        errors: z.array(z.object({ field: z.string(), rule: z.string() })).optional(),
      }),
    ),
    /** Only of a dry run, and of the first hundred tenants. */
    changes: z.array(z.object({ tenant: z.string(), changes: z.array(ChangeRow) })).optional(),
    effectiveAt: Timestamp.nullable(),
  })
  .meta({ id: "FleetRun" });

export const Usage = z
  .object({
    resources: z.int(),
    resourceBytes: z.int(),
    keys: z.int(),
    suspensions: z.int(),
    limits: z.record(z.string(), z.number()),
  })
  .meta({ id: "Usage" });

export const BaseSummary = z
  .object({ name: z.string(), revision: z.int(), tenants: z.int(), changed: Timestamp })
  .meta({ id: "BaseSummary" });

/** One line of an export. */
export const ExportLine = z
  .discriminatedUnion("kind", [
    z.object({
      kind: z.literal("tenant"),
      id: z.string(),
      region: Region.nullable(),
      jurisdiction: Jurisdiction.nullable(),
      revision: z.int(),
      document: Document,
    }),
    z.object({ kind: z.literal("resource"), ...ResourceAbout.shape }),
  ])
  .meta({ id: "ExportLine" });

export const Role = z.enum(["owner", "operator", "auditor", "tenant-admin"]);
export const NewOperator = z
  .strictObject({
    name: Name,
    role: Role,
    /** For `tenant-admin`: which tenants. */
    tenants: z.array(TenantId).max(500).refine(distinct, DISTINCT).optional(),
    expires: Timestamp.optional(),
  })
  .meta({ id: "NewOperator" });
export const Operator = z
  .object({
    name: z.string(),
    role: Role,
    tenants: z.array(z.string()).nullable(),
    created: Timestamp,
    expires: Timestamp.nullable(),
  })
  .meta({ id: "Operator" });
export const CreatedOperator = Operator.extend({ token: z.string() }).meta({ id: "CreatedOperator" });

/** RFC 9457. */
export const Problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string().optional(),
    errors: z.array(z.object({ field: z.string(), rule: z.string() })).optional(),
    requestId: z.string().optional(),
  })
  .meta({ id: "Problem" });
