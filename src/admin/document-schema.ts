// The schema of a tenant document: shapes, sizes and names. Rules across members are checked later, against the
// document's bases and the Worker's tools.

import * as z from "zod";
import { TENANT_EVENTS } from "../tenants/object/tenant-events.ts";
import { UPSTREAM_HOST } from "../tenants/document/upstream-hosts.ts";
import {
  BOUNDS,
  RESULT_BUDGETS,
  NAME,
  NAME_RULE,
  RENAMED,
  RENAMED_RULE,
  SLUG,
  SLUG_RULE,
  TOOL_NAME,
  TOOL_NAME_RULE,
} from "../tenants/document/selection-bounds.ts";
import { LISTED_NAME, LISTED_NAME_RULE } from "../protocol/client-rules.ts";
import { LIMITS, TENANT_LIMITS, type TenantLimit } from "../limits/limit-definitions.ts";
import { BINDABLE, MAX_RETRIES, MAX_STALENESS_MS, MODES } from "../tenants/document/tenant-document.ts";
import {
  withRule,
  list,
  textMatching,
  matchingUpTo,
  object,
  Origin,
  record,
  textUpTo,
  integer,
} from "./schema-parts.ts";

/** Each limit that a tenant may set, within the range in the table of limits. */
const LIMIT_SCHEMAS = Object.fromEntries(
  TENANT_LIMITS.map((name) => [name, integer(LIMITS[name].least, LIMITS[name].most)]),
) as Readonly<Record<TenantLimit, ReturnType<typeof integer>>>;

const RESERVED = ["admin", "api", "gateway", "healthz", "mcp", "readyz", "www"];

const Slug = textMatching(SLUG, SLUG_RULE);

export const TenantId = withRule(Slug, (text) => {
  if (text.startsWith("xn--")) return "must not start with xn--";
  return RESERVED.includes(text) ? "is a reserved word" : undefined;
}).meta({
  format: "tenant-id",
  description: "Names a tenant in URLs and hostnames.",
  example: "acme",
});

export const Name = textMatching(NAME, NAME_RULE);
export const ProfileName = Slug;
export const ToolName = textMatching(TOOL_NAME, TOOL_NAME_RULE);

const Pattern = textUpTo(BOUNDS.pattern, 1).meta({
  description: "A name or URI; `*` stands for any run of characters, `?` for one.",
});
const Patterns = list(Pattern, { max: BOUNDS.patterns });
const Text = textUpTo(BOUNDS.text);
const LongText = textUpTo(BOUNDS.longText);

const ListedName = textMatching(LISTED_NAME, LISTED_NAME_RULE);
const Renaming = object({}, { name: ListedName, title: Text, description: LongText });
const NamedPatterns = object(
  {},
  { allow: Patterns, deny: Patterns, rename: record(textMatching(RENAMED, RENAMED_RULE), Renaming, BOUNDS.renamed) },
);

export const Profile = object(
  {},
  {
    title: Text,
    description: Text,
    instructions: LongText,
    tools: NamedPatterns,
    prompts: NamedPatterns,
    resources: object({}, { allow: Patterns, deny: Patterns }),
    search: z.boolean(),
    resultBudget: object({}, { bytes: integer(...RESULT_BUDGETS.bytes), tokens: integer(...RESULT_BUDGETS.tokens) }),
  },
);

export const Scope = object({}, { description: Text, tools: Patterns, prompts: Patterns, resources: Patterns });

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const PromptContent = z.discriminatedUnion("type", [
  object({ type: z.literal("text"), text: textUpTo(100_000) }),
  object({
    type: z.literal("image"),
    data: matchingUpTo(BASE64, "must be Base64", 1_400_000),
    mimeType: textUpTo(100),
  }),
  object({ type: z.literal("resource"), uri: textUpTo(2048) }),
]);

const PromptArgument = object({ name: ToolName }, { title: Text, description: Text, required: z.boolean() });
const PromptMessage = object({ role: z.enum(["user", "assistant"]), content: PromptContent });

export const promptMembers = { messages: list(PromptMessage, { min: 1, max: 100 }) } as const;
export const promptOptions = {
  title: Text,
  description: Text,
  arguments: list(PromptArgument, { max: 50, uniqueBy: "name" }),
} as const;

export const DocumentPrompt = object(promptMembers, promptOptions).meta({
  description: "`{{argument}}` stands for an argument's value in texts and URIs.",
});

const Hostname = matchingUpTo(/^(?=.*\.)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])$/, "a lower-case host name with a dot", 253);
/** The icon is part of each answer of MCP 2026-07-28, which identifies the server. */
const Icon = matchingUpTo(/^https:\/\//, "begins with https://", 500);

const UpstreamHost = matchingUpTo(
  UPSTREAM_HOST,
  "a lower-case host name such as example.com or *.example.com, with an optional port",
  259,
);

const UpstreamAuth = object(
  {
    kind: z.enum(["client_credentials"]),
    tokenUrl: textUpTo(2048),
    clientId: textUpTo(500, 1),
    clientSecret: textUpTo(100),
  },
  {
    method: z.enum(["client_secret_basic", "client_secret_post"]),
    scope: textUpTo(1000),
    resource: textUpTo(2048),
  },
);

const ServiceName = textMatching(
  /^[A-Za-z][A-Za-z0-9-]{0,62}$/,
  "1 to 63 letters, digits and hyphens that begin with a letter",
);

export const Upstream = object(
  {},
  {
    url: textUpTo(2048),
    service: ServiceName,
    path: textUpTo(500, 1),
    era: z.literal(["auto", "2025", "2026"]),
    headers: record(textUpTo(100, 1), textUpTo(4000), 50),
    auth: UpstreamAuth,
    timeoutMs: integer(100, 300_000),
    retry: integer(0, MAX_RETRIES),
    trust: z.enum(["auto", "review"]),
    uris: list(textUpTo(200, 1), { max: 20, isDistinct: true }),
    enabled: z.boolean(),
  },
);

const claimMembers = {
  scopes: object(
    { claim: textUpTo(200, 1), values: record(textUpTo(200, 1), list(Name, { max: BOUNDS.few }), BOUNDS.few) },
    { first: list(textUpTo(200, 1), { max: 50, isDistinct: true }) },
  ),
  claims: list(textUpTo(200, 1), { max: 50, isDistinct: true }),
  identity: object(
    {
      via: z.enum(["provider", "exchange", "signed"]),
      audiences: list(textUpTo(1000, 1), { min: 1, max: 50, isDistinct: true }),
    },
    { tokenUrl: textUpTo(2048), clientId: textUpTo(500, 1), clientSecret: textUpTo(100) },
  ),
} as const;

const Issuer = object(
  { issuer: textUpTo(200, 1) },
  { audience: list(textUpTo(1000, 1), { min: 1, max: 10, isDistinct: true }), ...claimMembers },
);

const Login = object(
  { via: z.enum(["oidc", "oauth2", "product", "key"]) },
  {
    issuer: textUpTo(200, 1),
    clientId: textUpTo(500, 1),
    clientSecret: textUpTo(100),
    authorizeUrl: textUpTo(2048),
    tokenUrl: textUpTo(2048),
    userUrl: textUpTo(2048),
    productUrl: textUpTo(2048),
    productSecret: textUpTo(100),
    request: textUpTo(1000),
    ...claimMembers,
    accessMinutes: integer(5, 60),
    signInHours: integer(1, 720),
    clients: list(textUpTo(2048, 1), { min: 1, max: 100, isDistinct: true }),
    pinned: record(textUpTo(2048, 1), z.unknown(), 10),
  },
);

/** Members that a tenant document and a base document share. */
const baseMembers = {
  title: Text,
  description: Text,
  icon: Icon,
  instructions: LongText,
  mode: z.enum(MODES),
  auth: object(
    {},
    {
      issuers: list(Issuer, { min: 1, max: 10, uniqueBy: "issuer" }),
      login: Login,
      anonymous: object({ scopes: list(Name, { max: 50, isDistinct: true }) }),
    },
  ),
  maxStalenessMs: integer(50, MAX_STALENESS_MS),
  allowedOrigins: list(Origin, { max: 100, isDistinct: true }),
  limits: object({}, { ...LIMIT_SCHEMAS, exact: z.boolean() }),
  search: z.boolean(),
  tools: record(Pattern, object({}, { enabled: z.boolean(), config: z.unknown() }), BOUNDS.few),
  settings: record(textUpTo(200, 1), z.unknown(), BOUNDS.few),
  scopes: record(Name, Scope, BOUNDS.few),
  profiles: record(ProfileName, Profile, BOUNDS.few),
  prompts: record(ToolName, DocumentPrompt, BOUNDS.few),
  upstreams: record(textUpTo(100, 1), Upstream, BOUNDS.few),
  serviceBindings: list(ServiceName, { max: 50, isDistinct: true }),
  upstreamBounds: object({}, { hosts: list(UpstreamHost, { max: 100, isDistinct: true }), most: integer(0, 50) }),
  authBounds: object({}, { hosts: list(UpstreamHost, { max: 100, isDistinct: true }) }),
  audit: object(
    { calls: z.enum(["off", "digest", "redacted"]) },
    { redact: list(textUpTo(200, 1), { max: 100, isDistinct: true }), wait: z.boolean(), days: integer(1, 400) },
  ),
  webhooks: record(
    Slug,
    object(
      { url: textUpTo(2048, 1), secret: textUpTo(100, 1) },
      { events: list(z.enum(TENANT_EVENTS), { max: TENANT_EVENTS.length, isDistinct: true }), enabled: z.boolean() },
    ),
    10,
  ),
  deprecatedNameDays: z.number().min(0).max(365),
} as const;

export const Document = object(
  {},
  {
    ...baseMembers,
    extends: list(Name, { max: 10, isDistinct: true }),
    hostnames: list(Hostname, { max: 20, isDistinct: true }),
  },
);

/** A document that many tenants extend. It lacks the members that only one tenant can have. */
export const BaseDocument = object(
  {},
  { ...baseMembers, bind: list(z.enum(BINDABLE), { max: BINDABLE.length, isDistinct: true }) },
);
