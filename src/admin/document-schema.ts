// Owns the schema of a tenant document: shapes, sizes, and which texts are names. What members say about each other is
// checked where a document meets its bases and the Worker's tools.

import { NEWS } from "../tenants/authority/tenant-news.ts";
import { UPSTREAM_HOST } from "../tenants/document/upstream-hosts.ts";
import {
  BOUNDS,
  BUDGETS,
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
import { LIMITS, TENANT_LIMITS, type TenantLimit } from "../limits/limit-table.ts";
import { BINDABLE, MAX_RETRIES, MAX_STALENESS_MS, MODES } from "../tenants/document/tenant-document.ts";
import { ANYTHING, DISTINCT, FLAG, list, matching, object, oneOf, record, textUpTo, whole } from "./shapes.ts";

const FEW = { maxProperties: BOUNDS.few } as const;
/** Each limit that a tenant may have of its own, within what the table allows. */
const LIMIT_SHAPES = Object.fromEntries(
  TENANT_LIMITS.map((name) => [name, whole(LIMITS[name].least, LIMITS[name].most)]),
) as Readonly<Record<TenantLimit, ReturnType<typeof whole>>>;

const Slug = matching(SLUG, SLUG_RULE);

export const TenantId = {
  ...Slug,
  format: "tenant-id",
  description: "Names a tenant in URLs and hostnames.",
  example: "acme",
} as const;

export const Name = matching(NAME, NAME_RULE);
export const ProfileName = Slug;
export const ToolName = matching(TOOL_NAME, TOOL_NAME_RULE);

const Pattern = {
  ...textUpTo(BOUNDS.pattern, 1),
  description: "A name or URI; `*` stands for any run of characters, `?` for one.",
} as const;
const Patterns = list(Pattern, { maxItems: BOUNDS.patterns });
const Text = textUpTo(BOUNDS.text);
const LongText = textUpTo(BOUNDS.longText);

const ListedName = matching(LISTED_NAME, LISTED_NAME_RULE);
const Renaming = object({}, { name: ListedName, title: Text, description: LongText });
const NamedPatterns = object(
  {},
  { allow: Patterns, deny: Patterns, rename: record(matching(RENAMED, RENAMED_RULE), Renaming) },
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
    search: FLAG,
    resultBudget: object({}, { bytes: whole(...BUDGETS.bytes), tokens: whole(...BUDGETS.tokens) }),
  },
);

export const Scope = object({}, { description: Text, tools: Patterns, prompts: Patterns, resources: Patterns });

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const kind = <const K extends string>(tag: K) => ({ type: "string", const: tag }) as const;

const PromptContent = {
  oneOf: [
    object({ type: kind("text"), text: textUpTo(100_000) }),
    object({
      type: kind("image"),
      data: { ...matching(BASE64, "must be Base64"), maxLength: 1_400_000 },
      mimeType: textUpTo(100),
    }),
    object({ type: kind("resource"), uri: textUpTo(2048) }),
  ],
} as const;

const PromptArgument = object({ name: ToolName }, { title: Text, description: Text, required: FLAG });
const PromptMessage = object({ role: oneOf("user", "assistant"), content: PromptContent });

export const promptMembers = { messages: list(PromptMessage, { minItems: 1, maxItems: 100 }) } as const;
export const promptOptions = {
  title: Text,
  description: Text,
  arguments: list(PromptArgument, { maxItems: 50, "x-uniqueBy": "name" }),
} as const;

export const DocumentPrompt = {
  ...object(promptMembers, promptOptions),
  description: "`{{argument}}` stands for an argument's value in texts and URIs.",
} as const;

const Hostname = {
  ...matching(/^(?=.*\.)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])$/, "a lower-case host name with a dot"),
  maxLength: 253,
} as const;
/** In each answer of 2026-07-28, which says whose it is. */
const Icon = { ...matching(/^https:\/\//, "begins with https://"), maxLength: 500 } as const;

const Origin = { type: "string", format: "origin" } as const;

const UpstreamHost = {
  ...matching(UPSTREAM_HOST, "a lower-case host name, or *. and the end of one, and perhaps a port"),
  maxLength: 259,
} as const;

const UpstreamAuth = object(
  {
    kind: oneOf("client_credentials"),
    tokenUrl: textUpTo(2048),
    clientId: textUpTo(500, 1),
    clientSecret: textUpTo(100),
  },
  {
    method: oneOf("client_secret_basic", "client_secret_post"),
    scope: textUpTo(1000),
    resource: textUpTo(2048),
  },
);

const ServiceName = matching(/^[A-Za-z][A-Za-z0-9-]{0,62}$/, "1 to 63 letters, digits and -, a letter first");

export const Upstream = object(
  {},
  {
    url: textUpTo(2048),
    service: ServiceName,
    path: textUpTo(500, 1),
    era: oneOf("auto", "2025", "2026"),
    headers: { ...record(textUpTo(100, 1), textUpTo(4000)), maxProperties: 50 },
    auth: UpstreamAuth,
    timeoutMs: whole(100, 300_000),
    retry: whole(0, MAX_RETRIES),
    trust: oneOf("auto", "review"),
    uris: list(textUpTo(200, 1), { maxItems: 20, ...DISTINCT }),
    enabled: FLAG,
  },
);

const claimed = {
  scopes: object(
    { claim: textUpTo(200, 1), values: { ...record(textUpTo(200, 1), list(Name)), ...FEW } },
    { first: list(textUpTo(200, 1), { maxItems: 50, ...DISTINCT }) },
  ),
  claims: list(textUpTo(200, 1), { maxItems: 50, ...DISTINCT }),
  identity: object(
    {
      via: oneOf("provider", "exchange", "signed"),
      audiences: list(textUpTo(1000, 1), { minItems: 1, maxItems: 50, ...DISTINCT }),
    },
    { tokenUrl: textUpTo(2048), clientId: textUpTo(500, 1), clientSecret: textUpTo(100) },
  ),
} as const;

const Issuer = object(
  { issuer: textUpTo(200, 1) },
  { audience: list(textUpTo(1000, 1), { minItems: 1, maxItems: 10, ...DISTINCT }), ...claimed },
);

const Login = object(
  { via: oneOf("oidc", "oauth2", "product", "key") },
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
    ...claimed,
    accessMinutes: whole(5, 60),
    signInHours: whole(1, 720),
    clients: list(textUpTo(2048, 1), { minItems: 1, maxItems: 100, ...DISTINCT }),
    pinned: { ...record(textUpTo(2048, 1), ANYTHING), maxProperties: 10 },
  },
);

/** Members that a base has too. */
const shared = {
  title: Text,
  description: Text,
  icon: Icon,
  instructions: LongText,
  mode: oneOf(...MODES),
  auth: object(
    {},
    {
      issuers: list(Issuer, { minItems: 1, maxItems: 10, "x-uniqueBy": "issuer" }),
      login: Login,
      anonymous: object({ scopes: list(Name, { maxItems: 50, ...DISTINCT }) }),
    },
  ),
  maxStalenessMs: whole(50, MAX_STALENESS_MS),
  allowedOrigins: list(Origin, { maxItems: 100, ...DISTINCT }),
  limits: object({}, { ...LIMIT_SHAPES, exact: FLAG }),
  search: FLAG,
  tools: { ...record(Pattern, object({}, { enabled: FLAG, config: ANYTHING })), ...FEW },
  settings: { ...record(textUpTo(200, 1), ANYTHING), ...FEW },
  scopes: { ...record(Name, Scope), ...FEW },
  profiles: { ...record(ProfileName, Profile), ...FEW },
  prompts: { ...record(ToolName, DocumentPrompt), ...FEW },
  upstreams: { ...record(textUpTo(100, 1), Upstream), ...FEW },
  services: list(ServiceName, { maxItems: 50, ...DISTINCT }),
  upstreamBounds: object({}, { hosts: list(UpstreamHost, { maxItems: 100, ...DISTINCT }), most: whole(0, 50) }),
  authBounds: object({}, { hosts: list(UpstreamHost, { maxItems: 100, ...DISTINCT }) }),
  audit: object(
    { calls: oneOf("off", "digest", "redacted") },
    { redact: list(textUpTo(200, 1), { maxItems: 100, ...DISTINCT }), wait: FLAG, days: whole(1, 400) },
  ),
  webhooks: {
    ...record(
      Slug,
      object(
        { url: textUpTo(2048, 1), secret: textUpTo(100, 1) },
        { events: list(oneOf(...NEWS), DISTINCT), enabled: FLAG },
      ),
    ),
    maxProperties: 10,
  },
  retirementDays: { type: "number", minimum: 0, maximum: 365 },
} as const;

export const Document = object(
  {},
  {
    ...shared,
    extends: list(Name, { maxItems: 10, ...DISTINCT }),
    hostnames: list(Hostname, { maxItems: 20, ...DISTINCT }),
  },
);

/** A document that many tenants extend: it lacks the members that only one tenant can have. */
export const BaseDocument = object({}, { ...shared, bind: list(oneOf(...BINDABLE), DISTINCT) });
