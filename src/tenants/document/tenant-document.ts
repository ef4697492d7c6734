// The tenant document: what operators configure for a tenant, and how base documents merge under it. The admin contract
// validates documents; the code here assumes that they are valid.

import { isObject } from "../../protocol/jsonrpc.ts";
import { omitUndefined } from "../../protocol/members.ts";

/** A member that is wrong or deserves a review, by its path, and the rule that it breaks. */
export interface FieldRule {
  readonly field: string;
  readonly rule: string;
}

/** The most rules that one answer lists. Validation collects one more, which shows that the list is truncated. */
export const MAX_FIELD_RULES = 100;

/** Selects names or URIs by glob patterns: `*` matches any run of characters, `?` matches one. */
export interface Patterns {
  /** Glob patterns. By default everything is allowed. */
  readonly allow?: readonly string[];
  /** Glob patterns. `deny` wins over `allow`. */
  readonly deny?: readonly string[];
}

/** A name and texts that replace those of the source. An absent member keeps the original. */
export interface Renaming {
  readonly name?: string;
  readonly title?: string;
  readonly description?: string;
}

/** Reads own members only: a tool may be named `constructor`, which every object inherits. */
export function renamingOf(patterns: NamedPatterns | undefined, name: string): Renaming | undefined {
  return patterns?.rename && Object.hasOwn(patterns.rename, name) ? patterns.rename[name] : undefined;
}

export interface NamedPatterns extends Patterns {
  /** New names and texts, by the name that the source gives the tool or prompt. */
  readonly rename?: Readonly<Record<string, Renaming>>;
}

/** The maximum size of a tool result, for callers with a key. A larger result becomes a resource. */
export interface ResultBudget {
  /** 1000 to 100,000,000 bytes. */
  readonly bytes?: number;
  /** 250 to 25,000,000 tokens, estimated: four bytes of JSON count as one token. */
  readonly tokens?: number;
}

/** A selection of the tenant's tools, prompts and resources with its own URL. */
export interface ProfileDocument {
  readonly title?: string;
  readonly description?: string;
  /** Instructions that clients pass to the model when they connect. */
  readonly instructions?: string;
  readonly tools?: NamedPatterns;
  readonly prompts?: NamedPatterns;
  /** Patterns over URIs. */
  readonly resources?: Patterns;
  /** Switches the built-in tools `search` and `fetch` on or off. By default as in the tenant. */
  readonly search?: boolean;
  /** Requires the feature `gateway()`. */
  readonly resultBudget?: ResultBudget;
}

/** Glob patterns that limit what a caller with this scope sees. An absent list grants nothing of its kind. */
export interface ScopeDocument {
  readonly description?: string;
  readonly tools?: readonly string[];
  readonly prompts?: readonly string[];
  readonly resources?: readonly string[];
}

/** Settings of the tools that a name or a pattern matches. */
export interface ToolSetting {
  /** Whether the tenant has the tool. True by default. */
  readonly enabled?: boolean;
  /** The value that the tool reads as `ctx.config`. */
  readonly config?: unknown;
}

/** `data` is Base64. The resource at `uri` is embedded when the prompt is read. */
export type PromptContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly data: string; readonly mimeType: string }
  | { readonly type: "resource"; readonly uri: string };

/** A prompt that needs no code. */
export interface PromptDocument {
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly {
    readonly name: string;
    readonly title?: string;
    readonly description?: string;
    readonly required?: boolean;
  }[];
  /** `{{argument}}` in texts and URIs is replaced by the argument's value. */
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly content: PromptContent }[];
}

/** The tenant's credentials as an OAuth client of an upstream. */
export interface UpstreamAuthDocument {
  readonly kind: "client_credentials";
  readonly tokenUrl: string;
  readonly clientId: string;
  /** A reference `{{secret:NAME}}`. */
  readonly clientSecret: string;
  /** How the client secret is sent. `client_secret_basic` by default. */
  readonly method?: "client_secret_basic" | "client_secret_post";
  /** The OAuth scopes to request, separated by spaces. */
  readonly scope?: string;
  /** The resource indicator (RFC 8707). The upstream's URL by default; an empty string sends none. */
  readonly resource?: string;
}

/** Another MCP server. The tenant offers its tools, prompts and resources as `ID__name`. */
export interface UpstreamDocument {
  /** The server's URL. Absent if `service` is set. */
  readonly url?: string;
  /** The name of a service binding. The Worker must expose it, and `serviceBindings` of the document must grant it. */
  readonly service?: string;
  /** The path at which the service serves MCP. `/mcp` by default. */
  readonly path?: string;
  /** The protocol era that the server speaks. `auto` (the default) detects it. */
  readonly era?: "auto" | "2025" | "2026";
  /**
   * Headers of every request. `{{secret:NAME}}` is replaced by a secret of the tenant, `{{client:NAME}}` by a header of
   * the client.
   */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sends an access token with every request, obtained with the client credentials grant. */
  readonly auth?: UpstreamAuthDocument;
  /** How long a call may take, in milliseconds: 100 to 300000, 60000 by default. */
  readonly timeoutMs?: number;
  /** How many times an idempotent request is sent again after a failure without a response. 0 by default, 5 at most. */
  readonly retry?: number;
  /** Prefixes of resource URIs. Reads of such URIs go to this upstream, and no other upstream offers them. */
  readonly uris?: readonly string[];
  /**
   * `auto` (the default) lists new and changed definitions at once. `review` holds them until an operator approves
   * them.
   */
  readonly trust?: "auto" | "review";
  /** False removes the upstream's tools, prompts and resources. True by default. */
  readonly enabled?: boolean;
}

/**
 * Which upstreams a tenant-admin may configure. Only operators can set this. By default a tenant-admin may configure
 * none.
 */
export interface UpstreamBounds {
  /**
   * Host names. `*.example.com` matches all names with that ending. An entry with a port (`host:8443`) matches only
   * that port.
   */
  readonly hosts?: readonly string[];
  /** How many upstreams the tenant's own document may have. */
  readonly most?: number;
}

/** The names of all limits. `src/limits/limit-definitions.ts` says what each counts, its default and its range. */
export type LimitName =
  | "tenantMessages"
  | "principalMessages"
  | "toolCalls"
  | "addressMessages"
  | "addressToolCalls"
  | "addressRefusals"
  | "dailyToolCalls"
  | "principalDailyToolCalls"
  | "concurrentCalls"
  | "streams"
  | "sessions"
  | "tenantSessions"
  | "bodyBytes"
  | "resultBytes"
  | "resourceBytes"
  | "storedBytes"
  | "resources"
  | "keys";

export interface Limits extends Readonly<Partial<Record<LimitName, number>>> {
  /**
   * Whether daily limits are exact. If so, each tool call under a daily limit waits for the tenant object. If not,
   * isolates report every five seconds, and a few more calls may pass.
   */
  readonly exact?: boolean;
}

/**
 * `oauth` accepts no API keys. `mixed` also admits callers without a credential, who see what `auth.anonymous` allows.
 */
export const MODES = ["open", "key", "oauth", "key+oauth", "mixed"] as const;
export type Mode = (typeof MODES)[number];

/** Whether callers may present tokens of the authorization servers that `auth` names. */
export function acceptsTokens(mode: Mode | undefined): boolean {
  return /^((key\+)?oauth|mixed)$/.test(`${mode}`);
}

/** An authorization server whose tokens the tenant accepts. */
export interface IssuerDocument {
  /** The issuer identifier, exactly as in the `iss` claim. The server's metadata is found under it. */
  readonly issuer: string;
  /** Values of `aud` that the tenant accepts instead of the requested URL. Does not apply to profiles. */
  readonly audience?: readonly string[];
  /** Limits what a caller sees by the value of a claim. Without it, nothing is limited. */
  readonly scopes?: {
    readonly claim: string;
    /** Names of the tenant's scopes, by value of the claim. */
    readonly values: Readonly<Record<string, readonly string[]>>;
    /** OAuth scopes that a client requests first, if the claim holds OAuth scopes. All of them by default. */
    readonly first?: readonly string[];
  };
  /** Names of the claims that handlers can read. */
  readonly claims?: readonly string[];
  readonly identity?: IdentityDocument;
}

/** Which tokens handlers use to call the tenant's own API on behalf of the caller. */
export interface IdentityDocument {
  /**
   * `provider`: the token of the provider at which the person signed in. `exchange`: a token that the person's
   * authorization server issues in exchange for theirs (RFC 8693). `signed`: a token that the tenant signs.
   */
  readonly via: "provider" | "exchange" | "signed";
  /** The audiences for which a handler may request a token. They must match exactly. */
  readonly audiences: readonly string[];
  /**
   * For `exchange`: the token endpoint and the client that calls it. `clientSecret` is a reference `{{secret:NAME}}`;
   * without it the client is public.
   */
  readonly tokenUrl?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
}

/** How people sign in to the tenant's own authorization server. */
export interface LoginDocument {
  /**
   * `oidc`: at an OpenID provider. `oauth2`: at an OAuth provider with a user-info URL. `product`: in the tenant's own
   * product. `key`: by pasting an API key of the tenant.
   */
  readonly via: "oidc" | "oauth2" | "product" | "key";
  /** The issuer of the OpenID provider. */
  readonly issuer?: string;
  readonly clientId?: string;
  /** A reference `{{secret:NAME}}`. Without it, the client at the provider is public. */
  readonly clientSecret?: string;
  /** Endpoints of an `oauth2` provider. `userUrl` returns JSON about the person to a request with an access token. */
  readonly authorizeUrl?: string;
  readonly tokenUrl?: string;
  readonly userUrl?: string;
  /**
   * The product's sign-in page, and the secret (`{{secret:NAME}}`) with which the product signs the person's identity.
   */
  readonly productUrl?: string;
  readonly productSecret?: string;
  /** The scopes to request from the provider. `openid email profile` by default at an OpenID provider. */
  readonly request?: string;
  /** Limits what the caller sees, and names the claims that handlers can read, as for `IssuerDocument`. */
  readonly scopes?: IssuerDocument["scopes"];
  readonly claims?: readonly string[];
  readonly identity?: IdentityDocument;
  /** The lifetime of an access token in minutes: 5 to 60, 60 by default. */
  readonly accessMinutes?: number;
  /** How long a person stays signed in, in hours: 1 to 720, 168 by default. */
  readonly signInHours?: number;
  /**
   * The ids of clients that may be used, matched exactly. By default any client that registers or has a metadata
   * document.
   */
  readonly clients?: readonly string[];
  /** Client metadata documents by client id, which is a URL. Used if the document cannot be fetched. */
  readonly pinned?: Readonly<Record<string, unknown>>;
}

/**
 * Credentials of callers besides API keys. At least one of `issuers` and `login` is set. Requires the feature
 * `login()`.
 */
export interface AuthDocument {
  readonly issuers?: readonly IssuerDocument[];
  readonly login?: LoginDocument;
  /** For the mode `mixed`: names of the tenant's scopes, which limit what callers without a credential see. */
  readonly anonymous?: { readonly scopes: readonly string[] };
}

/** The external authorization servers whose tokens the tenant accepts. */
export function issuersOf({ auth }: Pick<TenantDocument, "auth">): readonly IssuerDocument[] {
  return auth?.issuers ?? [];
}

/** Which parts of `auth` a tenant-admin may configure. Only operators can set this. By default none. */
export interface AuthBounds {
  /** Hosts of issuers, in the format of `upstreamBounds`. */
  readonly hosts?: readonly string[];
}

/** Settings for recording each call to the tenant. Requires the feature `callAudit()`. */
export interface CallAuditDocument {
  /**
   * `digest` records the SHA-256 of the arguments. `redacted` records the arguments without the members that `redact`
   * names.
   */
  readonly calls: "off" | "digest" | "redacted";
  /** Members of the arguments to leave out: a name, or a path with dots in which `*` matches any one step. */
  readonly redact?: readonly string[];
  /** Whether the response waits until the call is recorded. */
  readonly wait?: boolean;
  /** How many days a record is kept: 1 to 400, 30 by default. */
  readonly days?: number;
}

/** A webhook that receives events of the tenant. Requires the feature `webhooks()`. */
export interface WebhookDocument {
  /** The `https` URL that receives the messages. */
  readonly url: string;
  /** A reference `{{secret:NAME}}` to the secret that signs messages. */
  readonly secret: string;
  /** The event types to send. All by default. */
  readonly events?: readonly string[];
  /** False stops sending. True by default. */
  readonly enabled?: boolean;
}

/** Members that a base document can bind, so that tenants cannot change them. */
export const BINDABLE = [
  "mode",
  "maxStalenessMs",
  "allowedOrigins",
  "limits",
  "search",
  "tools",
  "settings",
  "scopes",
  "deprecatedNameDays",
  "upstreams",
  "auth",
  "audit",
  "webhooks",
] as const;
export type BindableMember = (typeof BINDABLE)[number];
/** The longest lease on the policy, in milliseconds. */
export const MAX_STALENESS_MS = 300_000;
/** The upper bound of an upstream's `retry`. */
export const MAX_RETRIES = 5;

/** The configuration of a tenant. Every member is optional. docs/document.md has the ranges. */
export interface TenantDocument {
  /**
   * Names of base documents. Later ones win over earlier ones. The tenant's own members win over all of them, except
   * over bound members.
   */
  readonly extends?: readonly string[];
  /** In a base document: members that later layers cannot change. */
  readonly bind?: readonly BindableMember[];
  /** The name that people see. */
  readonly title?: string;
  /** The purpose of the tenant, for people. */
  readonly description?: string;
  /** The `https` URL of an image. Clients and the connect page show it. */
  readonly icon?: string;
  /** Instructions that clients pass to the model when they connect. */
  readonly instructions?: string;
  /**
   * Which credentials callers need. `key` by default for tenants that were created through the admin API, `open` for
   * tenants in code.
   */
  readonly mode?: Mode;
  /** How people sign in. Required by the modes `oauth`, `key+oauth` and `mixed`, and requires the feature `login()`. */
  readonly auth?: AuthDocument;
  /**
   * How long an isolate may serve from its cached policy, in milliseconds: 50 to 300000, 5000 by default. A revocation
   * takes at most this long to be in effect everywhere.
   */
  readonly maxStalenessMs?: number;
  /**
   * Origins of web pages that may call this tenant, such as `https://app.example.com`. Added to the Worker's
   * `ALLOWED_ORIGINS`.
   */
  readonly allowedOrigins?: readonly string[];
  /** The tenant's own hostnames, in lower case. */
  readonly hostnames?: readonly string[];
  /** Limits of this tenant. Absent ones keep the Worker's value: see `limits` of `createWorker`. */
  readonly limits?: Limits;
  /** Adds the built-in read-only tools `search` and `fetch` over everything that the tenant stores. */
  readonly search?: boolean;
  /** By tool name or glob pattern. An exact name wins; otherwise the longest matching pattern. */
  readonly tools?: Readonly<Record<string, ToolSetting>>;
  /** Values that all code reads as `ctx.settings`, by name. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Named sets of patterns that limit what callers see. API keys and `auth` refer to them. */
  readonly scopes?: Readonly<Record<string, ScopeDocument>>;
  /** Selections with their own URL `/mcp/TENANT/NAME`, by name. */
  readonly profiles?: Readonly<Record<string, ProfileDocument>>;
  /** Prompts that need no code, by name. */
  readonly prompts?: Readonly<Record<string, PromptDocument>>;
  /** Other MCP servers, by id. The id is the prefix of the names that they offer. Requires the feature `gateway()`. */
  readonly upstreams?: Readonly<Record<string, UpstreamDocument>>;
  /** The upstreams that a tenant-admin may configure. Only operators can set this. */
  readonly upstreamBounds?: UpstreamBounds;
  /** The issuers that a tenant-admin may configure. Only operators can set this. */
  readonly authBounds?: AuthBounds;
  /** Settings for recording calls. Requires the feature `callAudit()`. */
  readonly audit?: CallAuditDocument;
  /**
   * Webhooks that receive the tenant's events. Each key is the name of a webhook. Requires the feature `webhooks()`.
   */
  readonly webhooks?: Readonly<Record<string, WebhookDocument>>;
  /** The service bindings that upstreams may use. Only operators can set this. */
  readonly serviceBindings?: readonly string[];
  /** How many days a renamed tool or prompt can still be called by its old name: 0 to 365, 30 by default. */
  readonly deprecatedNameDays?: number;
}

export const DEFAULT_DEPRECATION_DAYS = 30;

/**
 * Members that hold named entries and are merged by name. All other values, and each entry, are replaced as a whole.
 */
const MERGED_BY_NAME = new Set([
  "tools",
  "settings",
  "scopes",
  "profiles",
  "prompts",
  "upstreams",
  "limits",
  "webhooks",
]);

/** Later layers win over earlier ones. `extends` is left out: the documents that it names are layers of their own. */
export function mergeDocuments(layers: readonly TenantDocument[]): TenantDocument {
  const merged: Record<string, unknown> = {};
  const bound = new Set<string>();
  for (const layer of layers) {
    for (const [member, value] of Object.entries(layer)) {
      if (member === "extends" || member === "bind" || value === undefined || bound.has(member)) continue;
      const below = merged[member];
      merged[member] =
        MERGED_BY_NAME.has(member) && isObject(below) && isObject(value) ? { ...below, ...value } : value;
    }
    // Binds the value of this layer, or its absence: later layers cannot change it.
    for (const member of layer.bind ?? []) bound.add(member);
  }
  return merged;
}

export interface Change {
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** Lists the differences by path. Objects are compared member by member, lists as a whole. */
export function diffDocuments(before: unknown, after: unknown, path = ""): readonly Change[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (!isObject(before) || !isObject(after)) {
    return [omitUndefined({ path, before, after })];
  }
  const members = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted();
  return members.flatMap((member) =>
    diffDocuments(before[member], after[member], path === "" ? member : `${path}.${member}`),
  );
}
