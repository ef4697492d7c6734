// Owns the tenant document: what a tenant is, as its operators write it, and how base documents lie under it.
// Pure. The admin contract validates documents; here they are already valid.

import { isObject } from "../../protocol/jsonrpc.ts";
import { omitUndefined } from "../../protocol/members.ts";

export interface Patterns {
  /** Glob patterns; without them everything is allowed. */
  readonly allow?: readonly string[];
  /** Wins over `allow`. */
  readonly deny?: readonly string[];
}

export interface Renaming {
  readonly name?: string;
  readonly title?: string;
  readonly description?: string;
}

/** Looks for an own member only: an author may name a tool `constructor`, which every object has. */
export function renamingOf(patterns: NamedPatterns | undefined, name: string): Renaming | undefined {
  return patterns?.rename && Object.hasOwn(patterns.rename, name) ? patterns.rename[name] : undefined;
}

export interface NamedPatterns extends Patterns {
  /** By the name that the source of the tool or prompt gives it. */
  readonly rename?: Readonly<Record<string, Renaming>>;
}

/** How long the result of a tool may be, for callers with a key; what is longer becomes a resource. */
export interface ResultBudget {
  readonly bytes?: number;
  /** Estimated: four bytes of JSON are one. */
  readonly tokens?: number;
}

export interface ProfileDocument {
  readonly title?: string;
  readonly description?: string;
  readonly instructions?: string;
  readonly tools?: NamedPatterns;
  readonly prompts?: NamedPatterns;
  /** Patterns over URIs. */
  readonly resources?: Patterns;
  readonly search?: boolean;
  /** It needs the feature `gateway()`. */
  readonly resultBudget?: ResultBudget;
}

export interface ScopeDocument {
  readonly description?: string;
  readonly tools?: readonly string[];
  readonly prompts?: readonly string[];
  readonly resources?: readonly string[];
}

export interface ToolSetting {
  readonly enabled?: boolean;
  /** What the tool reads as `ctx.config`. */
  readonly config?: unknown;
}

export type PromptContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly data: string; readonly mimeType: string }
  | { readonly type: "resource"; readonly uri: string };

export interface PromptDocument {
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly {
    readonly name: string;
    readonly title?: string;
    readonly description?: string;
    readonly required?: boolean;
  }[];
  /** `{{argument}}` stands for an argument's value in texts and URIs. */
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly content: PromptContent }[];
}

/** The tenant as an OAuth client of an upstream. */
export interface UpstreamAuthDocument {
  readonly kind: "client_credentials";
  readonly tokenUrl: string;
  readonly clientId: string;
  /** `{{secret:NAME}}`. */
  readonly clientSecret: string;
  /** How the secret is sent; `client_secret_basic` by default. */
  readonly method?: "client_secret_basic" | "client_secret_post";
  readonly scope?: string;
  /** For what the token is; the upstream's URL by default, and an empty text sends none. */
  readonly resource?: string;
}

/** Another MCP server, whose tools, prompts and resources the tenant offers as `ID__name`. */
export interface UpstreamDocument {
  /** Where it is; absent where it is a service. */
  readonly url?: string;
  /** The name of a service binding that the Worker exposes and `services` of the document grants. */
  readonly service?: string;
  /** Where the service serves MCP; `/mcp` by default. */
  readonly path?: string;
  /** Which era it speaks; `auto`, the default, finds out. */
  readonly era?: "auto" | "2025" | "2026";
  /** Sent with every request. `{{secret:NAME}}` stands for a secret of the tenant, `{{client:NAME}}` for a header of the client. */
  readonly headers?: Readonly<Record<string, string>>;
  /** An access token goes with every request, for a client with credentials of its own. */
  readonly auth?: UpstreamAuthDocument;
  /** Until a call must be answered; 60000 by default. */
  readonly timeoutMs?: number;
  /** How often more what may be asked for twice is sent after a failure without an answer; 0 by default. */
  readonly retry?: number;
  /** What the URIs of its resources begin with: they are read there, and no other upstream offers them. */
  readonly uris?: readonly string[];
  /** `review`: what it lists or changes waits until an operator approves it; `auto`, the default: it is listed at once. */
  readonly trust?: "auto" | "review";
  readonly enabled?: boolean;
}

/** Which upstreams a tenant's own administrator may write; only operators say so. Without it: none. */
export interface UpstreamBounds {
  /** The names of hosts; `*.example.com` stands for all that end so. With a port (`host:8443`) no other is meant. */
  readonly hosts?: readonly string[];
  /** How many upstreams the tenant's own document may have. */
  readonly most?: number;
}

/** What may be limited: src/limits/limit-definitions.ts says of each what it counts, and how far it goes. */
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
  /** Whether no more than the daily limits is ever served, at the price of waiting for the authority near their end. */
  readonly exact?: boolean;
}

/** `oauth` takes no keys; `mixed` lets in whoever brings nothing, too, and shows them what `auth.anonymous` says. */
export const MODES = ["open", "key", "oauth", "key+oauth", "mixed"] as const;
export type Mode = (typeof MODES)[number];

/** Whether callers may bring tokens of the authorization servers that `auth` names. */
export function acceptsTokens(mode: Mode | undefined): boolean {
  return /^((key\+)?oauth|mixed)$/.test(`${mode}`);
}

/** An authorization server whose tokens are taken. */
export interface IssuerDocument {
  /** Its name in tokens, to the character, under which its metadata is found. */
  readonly issuer: string;
  /** What tokens for the tenant name in `aud`, in place of the URL that was asked; not for profiles. */
  readonly audience?: readonly string[];
  /** What a claim says limits what the caller sees; without it nothing does. */
  readonly scopes?: {
    readonly claim: string;
    /** By a value of the claim: names of the tenant's scopes. */
    readonly values: Readonly<Record<string, readonly string[]>>;
    /** Where the claim holds OAuth scopes: those that a client asks for first; without it, all of them. */
    readonly first?: readonly string[];
  };
  /** The claims that handlers are shown. */
  readonly claims?: readonly string[];
  readonly identity?: IdentityDocument;
}

/** How handlers reach the tenant's own API as the person who calls: with which tokens. */
export interface IdentityDocument {
  /**
   * `provider`: that of the provider at which the person signed in. `exchange`: one that their authorization server gives in
   * exchange for theirs (RFC 8693). `signed`: one that the tenant signs.
   */
  readonly via: "provider" | "exchange" | "signed";
  /** For what one may be asked, to the character. */
  readonly audiences: readonly string[];
  /** Of an `exchange`: where, and as which client; `{{secret:NAME}}`, without which that is a public one. */
  readonly tokenUrl?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
}

/** How people sign in to the tenant's own authorization server. */
export interface LoginDocument {
  /**
   * `oidc`: at an OpenID provider. `oauth2`: at one that has a URL of who signed in. `product`: in the tenant's own product.
   * `key`: by pasting a key of the tenant.
   */
  readonly via: "oidc" | "oauth2" | "product" | "key";
  /** Of the OpenID provider. */
  readonly issuer?: string;
  readonly clientId?: string;
  /** `{{secret:NAME}}`; without one, the provider's client is a public one. */
  readonly clientSecret?: string;
  /** Of an `oauth2` provider; `userUrl` answers JSON with a token of it. */
  readonly authorizeUrl?: string;
  readonly tokenUrl?: string;
  readonly userUrl?: string;
  /** Where the product signs people in, and the secret (`{{secret:NAME}}`) by which it signs who it was. */
  readonly productUrl?: string;
  readonly productSecret?: string;
  /** What is asked of the provider: `openid email profile` by default at an OpenID provider. */
  readonly request?: string;
  /** What limits the caller, and what handlers see: as with issuers. */
  readonly scopes?: IssuerDocument["scopes"];
  readonly claims?: readonly string[];
  readonly identity?: IdentityDocument;
  /** How long an access token is good, 5 to 60; 60 by default. */
  readonly accessMinutes?: number;
  /** How long somebody who signed in need not sign in again, 1 to 720; 168 by default. */
  readonly signInHours?: number;
  /** Ids of clients that may be used; to the character; without it, any that registers or has a document. */
  readonly clients?: readonly string[];
  /** By the URL that is a client's id: the document to take where it cannot be fetched. */
  readonly pinned?: Readonly<Record<string, unknown>>;
}

/** Who calls, beside keys: one of the two at least. It needs the feature `login()`. */
export interface AuthDocument {
  readonly issuers?: readonly IssuerDocument[];
  readonly login?: LoginDocument;
  /** In the mode `mixed`: names of the tenant's scopes, which limit what a caller sees who brings nothing. */
  readonly anonymous?: { readonly scopes: readonly string[] };
}

/** The authorization servers of others whose tokens a tenant takes. */
export function issuersOf({ auth }: Pick<TenantDocument, "auth">): readonly IssuerDocument[] {
  return auth?.issuers ?? [];
}

/** Which of `auth` a tenant's own administrator may write; only operators say so. Without it: nothing. */
export interface AuthBounds {
  /** The hosts of issuers, written as those of `upstreamBounds`. */
  readonly hosts?: readonly string[];
}

/** What is recorded of each call of a tenant's callers. It needs the feature `callAudit()`. */
export interface CallAuditDocument {
  /** `digest`: of the arguments their SHA-256; `redacted`: themselves, without what `redact` names. */
  readonly calls: "off" | "digest" | "redacted";
  /** Members of arguments that are left out, by name or, with a dot, by path: `*` is any one step. */
  readonly redact?: readonly string[];
  /** Whether the answer waits until the call is recorded. */
  readonly wait?: boolean;
  /** How long it is kept; 30 by default. */
  readonly days?: number;
}

/** Who is told what happens to the tenant. It needs the feature `webhooks()`. */
export interface WebhookDocument {
  readonly url: string;
  /** `{{secret:NAME}}`, with which messages are signed. */
  readonly secret: string;
  /** Which types; absent: all. */
  readonly events?: readonly string[];
  readonly enabled?: boolean;
}

/** What a platform may decide for its customers. */
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
/** The longest that a lease on the policy may last, milliseconds. */
export const MAX_STALENESS_MS = 300_000;
/** The most that `retry` of an upstream may say. */
export const MAX_RETRIES = 5;

export interface TenantDocument {
  /** Base documents, by name; later ones win over earlier ones, own members over all that these do not bind. */
  readonly extends?: readonly string[];
  /** In a base: members that what lies over it cannot change. */
  readonly bind?: readonly BindableMember[];
  readonly title?: string;
  readonly description?: string;
  /** The `https` URL of a picture, which clients and the connect page show. */
  readonly icon?: string;
  readonly instructions?: string;
  readonly mode?: Mode;
  readonly auth?: AuthDocument;
  /** How long a lease on the policy lasts, milliseconds. */
  readonly maxStalenessMs?: number;
  readonly allowedOrigins?: readonly string[];
  readonly hostnames?: readonly string[];
  readonly limits?: Limits;
  readonly search?: boolean;
  /** By tool name or glob pattern. The exact name decides, else the longest pattern that matches. */
  readonly tools?: Readonly<Record<string, ToolSetting>>;
  /** What everything in code reads as `ctx.settings`, by name. */
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly scopes?: Readonly<Record<string, ScopeDocument>>;
  readonly profiles?: Readonly<Record<string, ProfileDocument>>;
  readonly prompts?: Readonly<Record<string, PromptDocument>>;
  /** By an id that begins the names of what it offers. They need the feature `gateway()`. */
  readonly upstreams?: Readonly<Record<string, UpstreamDocument>>;
  readonly upstreamBounds?: UpstreamBounds;
  readonly authBounds?: AuthBounds;
  readonly audit?: CallAuditDocument;
  readonly webhooks?: Readonly<Record<string, WebhookDocument>>;
  /** The services that upstreams may be; only operators say so. */
  readonly serviceBindings?: readonly string[];
  /** How many days a name that is listed no more can still be called; 30 by default. */
  readonly deprecatedNameDays?: number;
}

export const DEFAULT_RETIREMENT_DAYS = 30;

/** Members that hold named things and are merged by name. Anything else, each named thing too, is replaced whole. */
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

/** Later layers win over earlier ones. `extends` is left out: what it names is a layer of its own. */
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
    // As it is here: what comes later does not reach it.
    for (const member of layer.bind ?? []) bound.add(member);
  }
  return merged;
}

export interface Change {
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** What differs, by path. Objects are compared member by member, lists as a whole. */
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
