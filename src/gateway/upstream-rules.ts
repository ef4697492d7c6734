// Rules for an upstream in a tenant's document: id, URL, headers, `uris` and `auth`. The admin contract checks shapes
// and sizes.

import { findBrokenRuleInUrl } from "../outbound/url-policy.ts";
import type { OutboundErrorCode } from "../outbound/outbound-error.ts";
import { SECRET_NAME_RULE, secretNameOf } from "../tenants/document/secret-name.ts";
import { parseClientPlaceholder } from "./guard/client-headers.ts";
import {
  MAX_RETRIES,
  type TenantDocument,
  type UpstreamDocument,
  type FieldRule,
} from "../tenants/document/tenant-document.ts";
import { normalizeLiteral } from "../protocol/uri.ts";
import { uriPrefixes, type UriPrefix } from "./uris/uri-owners.ts";

export const MAX_UPSTREAMS = 50;
/** A policy name is split at its first "__", so an id must not contain "__" or end in "_". */
const ID = /^(?!.*__)[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/;
const ID_RULE =
  "must have an id of 1 to 32 letters, digits, _ and -, which begins with a letter or digit, does not end with _ and has no __";
/** In lower case. The first two are sources of every tenant, and lists identify sources by id. */
const RESERVED = new Set(["code", "stored", "all", "none", "self", "tenant", "tenantry", "gateway", "admin", "mcp"]);

const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const HEADER_VALUE = /^[\x20-\x7e\t]*$/;
/** Headers that the upstream client writes itself, and hop-by-hop headers. */
const OWN_HEADERS =
  /^(accept|content-(type|length|encoding)|host|connection|cookie|keep-alive|te|trailer|transfer-encoding|upgrade|last-event-id|mcp-.*|cf-.*|proxy-.*|tenantry-.*)$/;
export const PLACEHOLDER = /\{\{([^{}]*)\}\}/g;

const DEFAULT_TIMEOUT_MS = 60_000;
const URL_RULES: Readonly<Partial<Record<OutboundErrorCode, string>>> = {
  credentials: "must not contain a user name or password: use headers",
  scheme: "must begin with https:",
  port: "must have port 443, or a port from 1024",
};

export interface UrlRules {
  /** Destinations that the operator allows besides the public internet. undefined if they are not known here. */
  readonly allow: string | undefined;
  /** Services that the Worker exposes, by name. */
  readonly exposed?: Readonly<Record<string, unknown>>;
}

export function findBrokenUpstreams(
  { upstreams = {}, serviceBindings: services = [] }: TenantDocument,
  rules: UrlRules,
): readonly FieldRule[] {
  const ids = Object.keys(upstreams);
  const countRule = `must have at most ${MAX_UPSTREAMS} entries, not ${ids.length}`;
  const tooMany = ids.length > MAX_UPSTREAMS ? [{ field: "upstreams", rule: countRule }] : [];
  const broken = Object.entries(upstreams).flatMap(([id, upstream], at) => {
    const field = `upstreams.${id}`;
    return [
      ...idRules(id, ids.slice(0, at)).map((rule) => ({ field, rule })),
      ...(upstream.service === undefined ? urlRules(upstream.url, rules) : []).map((rule) => ({
        field: `${field}.url`,
        rule,
      })),
      ...serviceRules(upstream, services, rules).map(([member, rule]) => ({ field: `${field}.${member}`, rule })),
      ...Object.entries(upstream.headers ?? {}).flatMap(([name, value]) =>
        headerRules(name, value, upstream.headers ?? {}).map((rule) => ({ field: `${field}.headers.${name}`, rule })),
      ),
      ...(upstream.uris ?? []).flatMap((prefix, index) =>
        prefixRules(prefix, otherPrefixes(upstreams, id)).map((rule) => ({ field: `${field}.uris.${index}`, rule })),
      ),
      ...authRules(upstream, rules).map(([member, rule]) => ({ field: `${field}.auth.${member}`, rule })),
      ...timeoutRules(upstream).map((rule) => ({ field: `${field}.timeoutMs`, rule })),
      ...retryRules(upstream).map((rule) => ({ field: `${field}.retry`, rule })),
    ];
  });
  return [...tooMany, ...broken];
}

function idRules(id: string, before: readonly string[]): string[] {
  if (!ID.test(id) || id.endsWith("_")) return [ID_RULE];
  if (RESERVED.has(id.toLowerCase())) return ["is a reserved id"];
  const same = before.find((other) => other.toLowerCase() === id.toLowerCase());
  return same === undefined ? [] : [`must differ from ${same} by more than capital letters`];
}

function serviceRules(
  { url, service, path = "/" }: UpstreamDocument,
  granted: readonly string[],
  { exposed = {} }: UrlRules,
): (readonly [string, string])[] {
  if (service === undefined) return path === "/" ? [] : [["path", "is allowed only together with service"]];
  const checks: readonly (readonly [member: string, isRight: boolean, rule: string])[] = [
    ["url", url === undefined, "is not allowed together with service"],
    ["service", Object.hasOwn(exposed, service), "is not in gateway({ serviceBindings }) of this Worker"],
    ["service", granted.includes(service), "is not granted to this tenant: an operator must add it to serviceBindings"],
    ["path", /^\/(?:[\w~-][\w.~-]*(?:\/|$))*$/.test(path), "must be a path, such as /mcp"],
  ];
  return checks.filter(([, isRight]) => !isRight).map(([member, , rule]) => [member, rule] as const);
}

function urlRules(text: string | undefined, { allow }: UrlRules): string[] {
  if (typeof text !== "string" || !URL.canParse(text)) return ["must be a URL, such as https://mcp.example.com/mcp"];
  const url = new URL(text);
  if (url.hash !== "") return ["must not have a fragment"];
  const broken = allow === undefined ? undefined : findBrokenRuleInUrl(url, allow);
  return broken === undefined
    ? []
    : [`${URL_RULES[broken] ?? "must lead to a public host, or to a host in OUTBOUND_ALLOW"}${localhostHint(url)}`];
}

const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Tells a developer how to reach a server beside `wrangler dev`. */
function localhostHint({ protocol, hostname, host }: URL): string {
  if (!LOOPBACK.test(hostname) || !/^https?:$/.test(protocol)) return "";
  const entry = protocol === "http:" ? `http://${host}` : host;
  return `; on your machine, add the line OUTBOUND_ALLOW=${entry} to .dev.vars`;
}

function headerRules(name: string, value: string, all: Readonly<Record<string, string>>): string[] {
  const lower = name.toLowerCase();
  if (!HEADER_NAME.test(name)) return ["is not a valid header name"];
  if (OWN_HEADERS.test(lower)) return ["is not allowed: the gateway sets this header"];
  if (Object.keys(all).some((other) => other !== name && other.toLowerCase() === lower)) return ["is set twice"];
  if (typeof value !== "string" || !HEADER_VALUE.test(value))
    return ["must have only visible ASCII characters and spaces"];
  const unknown = [...value.matchAll(PLACEHOLDER)].find(([, inner = ""]) => !isKnownPlaceholder(inner));
  if (unknown) return [placeholderRule(unknown[0])];
  return /\{\{|\}\}/.test(value.replaceAll(PLACEHOLDER, ""))
    ? ["must have {{ and }} only in {{secret:NAME}} and {{client:NAME}}"]
    : [];
}

function isKnownPlaceholder(inner: string): boolean {
  return parseSecretPlaceholder(inner) !== undefined || parseClientPlaceholder(inner) !== undefined;
}

function placeholderRule(whole: string): string {
  if (whole.startsWith("{{client:")) return `has ${whole}, a header of the client that is not passed on`;
  return `has ${whole}, which must be {{secret:NAME}} with a NAME of ${SECRET_NAME_RULE}`;
}

const VISIBLE = /^[\x20-\x7e]+$/;

function authRules({ auth, headers = {} }: UpstreamDocument, rules: UrlRules): (readonly [string, string])[] {
  if (auth === undefined) return [];
  const { kind, tokenUrl, clientId, clientSecret, scope = "a", resource = "" } = auth;
  const hasOwn = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  const checks: readonly (readonly [member: string, isRight: boolean, rule: string])[] = [
    ["kind", kind === "client_credentials", "must be client_credentials"],
    ["kind", !hasOwn, "is not allowed together with a header Authorization"],
    ["clientId", VISIBLE.test(clientId), "must have only visible ASCII characters and spaces"],
    ["clientSecret", isSecretReference(clientSecret), `must be {{secret:NAME}} with a NAME of ${SECRET_NAME_RULE}`],
    ["scope", VISIBLE.test(scope), "must be scopes, separated by spaces"],
    ["resource", resource === "" || URL.canParse(resource), "must be a URL, or empty"],
  ];
  return [
    ...urlRules(tokenUrl, rules).map((rule) => ["tokenUrl", rule] as const),
    ...checks.filter(([, isRight]) => !isRight).map(([member, , rule]) => [member, rule] as const),
  ];
}

function isSecretReference(text: unknown): boolean {
  return typeof text === "string" && parseSecretReference(text) !== undefined;
}

/** The NAME in a text that consists only of `{{secret:NAME}}`. */
export function parseSecretReference(text: string): string | undefined {
  const inner = /^\{\{([^{}]*)\}\}$/.exec(text)?.[1];
  return inner === undefined ? undefined : parseSecretPlaceholder(inner);
}

/** The NAME in `secret:NAME`, or undefined. */
export function parseSecretPlaceholder(placeholder: string): string | undefined {
  return placeholder.startsWith("secret:") ? secretNameOf(placeholder.slice("secret:".length)) : undefined;
}

function otherPrefixes(upstreams: Readonly<Record<string, UpstreamDocument>>, id: string): readonly UriPrefix[] {
  return uriPrefixes({ upstreams }).filter(([, other]) => other !== id);
}

const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*:/;

function prefixRules(prefix: string, taken: readonly UriPrefix[]): string[] {
  const normal = typeof prefix === "string" && SCHEME.test(prefix) ? normalizeLiteral(prefix, true) : undefined;
  if (normal === undefined)
    return ["must be the beginning of a URI, with the scheme and its colon, such as file:///docs/"];
  if (normal.startsWith("ui:")) return ['must not begin with "ui:": such a URI already has the id of its upstream'];
  const same = taken.find(([other]) => other === normal);
  return same === undefined ? [] : [`is already a prefix of upstream ${same[1]}`];
}

function timeoutRules({ timeoutMs = DEFAULT_TIMEOUT_MS }: UpstreamDocument): string[] {
  const isRight = Number.isInteger(timeoutMs) && timeoutMs >= 100 && timeoutMs <= 300_000;
  return isRight ? [] : [`must be a whole number from 100 to 300000, not ${timeoutMs}`];
}

function retryRules({ retry = 0 }: UpstreamDocument): string[] {
  const isRight = Number.isInteger(retry) && retry >= 0 && retry <= MAX_RETRIES;
  return isRight ? [] : [`must be a whole number from 0 to ${MAX_RETRIES}, not ${retry}`];
}

export function timeoutOf({ timeoutMs = DEFAULT_TIMEOUT_MS }: UpstreamDocument): number {
  return timeoutMs;
}
