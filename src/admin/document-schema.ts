// Owns the zod schema of a tenant document: shapes, sizes, and which texts are names. What members say about each other
// is checked where a document meets its bases and the Worker's tools.

import * as z from "zod/mini";
import { BINDABLE, MAX_STALENESS_MS, type TenantDocument } from "../tenants/document/tenant-document.ts";

/** Ids and descriptions of schemas, kept out of zod's global registry, which belongs to the author of the Worker. */
export const described = z.registry<{
  id?: string;
  description?: string;
  example?: string;
  format?: string;
  default?: number;
}>();

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const MAX_PATTERNS = 200;
const MAX_MEMBERS = 500;

export const TenantId = z
  .string()
  .check(
    z.regex(/^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/, "1 to 40 of a-z, 0-9 and inner hyphens"),
    z.refine((id) => !id.startsWith("xn--"), "must not start with xn--"),
    z.refine(
      (id) => !["admin", "api", "gateway", "healthz", "mcp", "readyz", "www"].includes(id),
      "is a reserved word",
    ),
  )
  .register(described, { description: "Names a tenant in URLs and hostnames.", example: "acme" });

export const Name = z
  .string()
  .check(z.regex(/^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,62}[A-Za-z0-9])?$/, "1 to 64 of A-Z, a-z, 0-9 and inner . _ -"));

export const ProfileName = z
  .string()
  .check(z.regex(/^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/, "1 to 40 of a-z, 0-9 and inner hyphens"));

const Pattern = z
  .string()
  .check(z.minLength(1), z.maxLength(256))
  .register(described, { description: "A name or URI; `*` stands for any run of characters, `?` for one." });
const Patterns = z.array(Pattern).check(z.maxLength(MAX_PATTERNS));
const Text = z.string().check(z.maxLength(2000));
const LongText = z.string().check(z.maxLength(20_000));
export const ToolName = z.string().check(z.regex(/^[A-Za-z0-9_.-]{1,128}$/, "1 to 128 of A-Z, a-z, 0-9, _ . -"));

const Renaming = z.strictObject({
  name: z.optional(ToolName),
  title: z.optional(Text),
  description: z.optional(LongText),
});

const NamedPatterns = z.strictObject({
  allow: z.optional(Patterns),
  deny: z.optional(Patterns),
  rename: z.optional(z.record(ToolName, Renaming)),
});

export const Profile = z
  .strictObject({
    title: z.optional(Text),
    description: z.optional(Text),
    instructions: z.optional(LongText),
    tools: z.optional(NamedPatterns),
    prompts: z.optional(NamedPatterns),
    resources: z.optional(z.strictObject({ allow: z.optional(Patterns), deny: z.optional(Patterns) })),
    search: z.optional(z.boolean()),
  })
  .register(described, { id: "Profile" });

export const Scope = z
  .strictObject({
    description: z.optional(Text),
    tools: z.optional(Patterns),
    prompts: z.optional(Patterns),
    resources: z.optional(Patterns),
  })
  .register(described, { id: "Scope" });

export const DocumentPrompt = z
  .strictObject({
    title: z.optional(Text),
    description: z.optional(Text),
    arguments: z.optional(
      z
        .array(
          z.strictObject({
            name: ToolName,
            title: z.optional(Text),
            description: z.optional(Text),
            required: z.optional(z.boolean()),
          }),
        )
        .check(
          z.maxLength(50),
          z.refine((list) => new Set(list.map((argument) => argument.name)).size === list.length, "names must differ"),
        ),
    ),
    messages: z
      .array(
        z.strictObject({
          role: z.enum(["user", "assistant"]),
          content: z.discriminatedUnion("type", [
            z.strictObject({ type: z.literal("text"), text: z.string().check(z.maxLength(100_000)) }),
            z.strictObject({
              type: z.literal("image"),
              data: z.string().check(z.maxLength(1_400_000), z.regex(BASE64, "must be Base64")),
              mimeType: z.string().check(z.maxLength(100)),
            }),
            z.strictObject({ type: z.literal("resource"), uri: z.string().check(z.maxLength(2048)) }),
          ]),
        }),
      )
      .check(z.minLength(1), z.maxLength(100)),
  })
  .register(described, {
    id: "Prompt",
    description: "`{{argument}}` stands for an argument's value in texts and URIs.",
  });

const Hostname = z
  .string()
  .check(z.maxLength(253), z.regex(/^(?=.*\.)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])$/, "a lower-case host name with a dot"));

const few = (map: Readonly<Record<string, unknown>>) => Object.keys(map).length <= MAX_MEMBERS;

function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

/** Whether no element repeats. A list that names something twice might say two things about it. */
export const distinct = (list: readonly unknown[]) => new Set(list).size === list.length;
export const DISTINCT = "must not name anything twice";

export const Document = z
  .strictObject({
    extends: z.optional(z.array(Name).check(z.maxLength(10), z.refine(distinct, DISTINCT))),
    title: z.optional(Text),
    description: z.optional(Text),
    instructions: z.optional(LongText),
    mode: z.optional(z.enum(["open", "key"])),
    outage: z.optional(z.enum(["closed", "stale"])),
    outageSeconds: z.optional(z.int().check(z.minimum(10), z.maximum(86_400))),
    maxStalenessMs: z.optional(z.int().check(z.minimum(50), z.maximum(MAX_STALENESS_MS))),
    allowedOrigins: z.optional(
      z
        .array(z.string().check(z.refine(isOrigin, "an origin such as https://app.example.com, without a path")))
        .check(z.maxLength(100), z.refine(distinct, DISTINCT)),
    ),
    hostnames: z.optional(z.array(Hostname).check(z.maxLength(20), z.refine(distinct, DISTINCT))),
    limits: z.optional(
      z.strictObject({
        bodyBytes: z.optional(z.int().check(z.minimum(1024), z.maximum(26_214_400))),
        resources: z.optional(z.int().check(z.minimum(0), z.maximum(1_000_000))),
        resourceBytes: z.optional(z.int().check(z.minimum(0), z.maximum(26_214_400))),
        keys: z.optional(z.int().check(z.minimum(0), z.maximum(10_000))),
      }),
    ),
    search: z.optional(z.boolean()),
    tools: z.optional(
      z
        .record(Pattern, z.strictObject({ enabled: z.optional(z.boolean()), config: z.optional(z.unknown()) }))
        .check(z.refine(few, `at most ${MAX_MEMBERS} members`)),
    ),
    scopes: z.optional(z.record(Name, Scope).check(z.refine(few, `at most ${MAX_MEMBERS} members`))),
    profiles: z.optional(z.record(ProfileName, Profile).check(z.refine(few, `at most ${MAX_MEMBERS} members`))),
    prompts: z.optional(z.record(ToolName, DocumentPrompt).check(z.refine(few, `at most ${MAX_MEMBERS} members`))),
    retirementDays: z.optional(z.number().check(z.minimum(0), z.maximum(365))),
  })
  .register(described, { id: "TenantDocument" });

/** A document that many tenants extend: it lacks the members that only one tenant can have. */
export const BaseDocument = z
  .extend(z.omit(Document, { extends: true, hostnames: true }), {
    bind: z.optional(z.array(z.enum(BINDABLE)).check(z.refine(distinct, DISTINCT))),
  })
  .register(described, { id: "BaseDocument" });

/** The cast fails to compile when the schema and the type that the tenant's object knows have drifted far apart. */
export const parseDocument = (value: unknown): TenantDocument => Document.parse(value) as TenantDocument;
