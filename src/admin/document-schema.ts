// Owns the zod schema of a tenant document: shapes, sizes, and which texts are names. What members say about each other is
// checked where a document meets its bases and the Worker's tools.

import * as z from "zod";
import type { TenantDocument } from "../tenants/document.ts";

const MAX_PATTERNS = 200;
const MAX_MEMBERS = 500;

export const TenantId = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/, "1 to 40 of a-z, 0-9 and inner hyphens")
  .refine((id) => !id.startsWith("xn--"), "must not start with xn--")
  .refine((id) => !["admin", "api", "gateway", "healthz", "mcp", "readyz", "www"].includes(id), "is a reserved word")
  .meta({ description: "Names a tenant in URLs and hostnames.", example: "acme" });

export const Name = z
  .string()
  .regex(/^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,62}[A-Za-z0-9])?$/, "1 to 64 of A-Z, a-z, 0-9 and inner . _ -");

export const ProfileName = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/, "1 to 40 of a-z, 0-9 and inner hyphens");

const Pattern = z
  .string()
  .min(1)
  .max(256)
  .meta({ description: "A name or URI; `*` stands for any run of characters, `?` for one." });
const Patterns = z.array(Pattern).max(MAX_PATTERNS);
const Text = z.string().max(2000);
const LongText = z.string().max(20_000);
export const ToolName = z.string().regex(/^[A-Za-z0-9_.-]{1,128}$/, "1 to 128 of A-Z, a-z, 0-9, _ . -");

const Renaming = z.strictObject({
  name: ToolName.optional(),
  title: Text.optional(),
  description: LongText.optional(),
});

const NamedPatterns = z.strictObject({
  allow: Patterns.optional(),
  deny: Patterns.optional(),
  rename: z.record(ToolName, Renaming).optional(),
});

export const Profile = z
  .strictObject({
    title: Text.optional(),
    description: Text.optional(),
    instructions: LongText.optional(),
    tools: NamedPatterns.optional(),
    prompts: NamedPatterns.optional(),
    resources: z.strictObject({ allow: Patterns.optional(), deny: Patterns.optional() }).optional(),
    search: z.boolean().optional(),
  })
  .meta({ id: "Profile" });

export const Scope = z
  .strictObject({
    description: Text.optional(),
    tools: Patterns.optional(),
    prompts: Patterns.optional(),
    resources: Patterns.optional(),
  })
  .meta({ id: "Scope" });

export const Prompt = z
  .strictObject({
    title: Text.optional(),
    description: Text.optional(),
    arguments: z
      .array(
        z.strictObject({
          name: ToolName,
          title: Text.optional(),
          description: Text.optional(),
          required: z.boolean().optional(),
        }),
      )
      .max(50)
      .refine((list) => new Set(list.map((argument) => argument.name)).size === list.length, "names must differ")
      .optional(),
    messages: z
      .array(
        z.strictObject({
          role: z.enum(["user", "assistant"]),
          content: z.discriminatedUnion("type", [
            z.strictObject({ type: z.literal("text"), text: z.string().max(100_000) }),
            z.strictObject({
              type: z.literal("image"),
              data: z.base64().max(1_400_000),
              mimeType: z.string().max(100),
            }),
            z.strictObject({ type: z.literal("resource"), uri: z.string().max(2048) }),
          ]),
        }),
      )
      .min(1)
      .max(100),
  })
  .meta({ id: "Prompt", description: "`{{argument}}` stands for an argument's value in texts and URIs." });

const Hostname = z
  .string()
  .max(253)
  .regex(/^(?=.*\.)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])$/, "a lower-case host name with a dot");

const few = (map: Readonly<Record<string, unknown>>) => Object.keys(map).length <= MAX_MEMBERS;

function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

/** A list that names something twice says two things about it. */
export const distinct = (list: readonly unknown[]) => new Set(list).size === list.length;
export const DISTINCT = "must not name anything twice";

export const Document = z
  .strictObject({
    extends: z.array(Name).max(10).refine(distinct, DISTINCT).optional(),
    title: Text.optional(),
    description: Text.optional(),
    instructions: LongText.optional(),
    mode: z.enum(["open", "key"]).optional(),
    outage: z.enum(["closed", "stale"]).optional(),
    maxStalenessMs: z.int().min(50).max(300_000).optional(),
    allowedOrigins: z
      .array(z.string().refine(isOrigin, "an origin such as https://app.example.com, without a path"))
      .max(100)
      .refine(distinct, DISTINCT)
      .optional(),
    hostnames: z.array(Hostname).max(20).refine(distinct, DISTINCT).optional(),
    limits: z
      .strictObject({
        bodyBytes: z.int().min(1024).max(26_214_400).optional(),
        resources: z.int().min(0).max(1_000_000).optional(),
        resourceBytes: z.int().min(0).max(26_214_400).optional(),
        keys: z.int().min(0).max(10_000).optional(),
      })
      .optional(),
    search: z.boolean().optional(),
    tools: z
      .record(Pattern, z.strictObject({ enabled: z.boolean().optional(), config: z.json().optional() }))
      .refine(few, `at most ${MAX_MEMBERS} members`)
      .optional(),
    scopes: z.record(Name, Scope).refine(few, `at most ${MAX_MEMBERS} members`).optional(),
    profiles: z.record(ProfileName, Profile).refine(few, `at most ${MAX_MEMBERS} members`).optional(),
    prompts: z.record(ToolName, Prompt).refine(few, `at most ${MAX_MEMBERS} members`).optional(),
    retirementDays: z.number().min(0).max(365).optional(),
  })
  .meta({ id: "TenantDocument" });

/** Lies under many tenants: what only one of them can have is not in it. */
export const BaseDocument = Document.omit({ extends: true, hostnames: true }).meta({ id: "BaseDocument" });

/** The schema and the type that the tenant's object knows say the same; this line fails to compile when they do not. */
export const parseDocument = (value: unknown): TenantDocument => Document.parse(value) as TenantDocument;
