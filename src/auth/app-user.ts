// The user that a mounting app's `authenticate` returns: validation, and the resulting principal. Anything invalid is
// rejected, so that a mistake makes nobody anonymous or somebody else.

import type { Principal } from "./principal.ts";

/** A user of your app, as `authenticate` returns it. Values pass through JSON, so handlers see what JSON preserves. */
export interface AppUser {
  /** The one tenant that the user belongs to. Absent: the user can access tenants in `open` mode only. */
  readonly tenant?: string;
  /**
   * Unique within the tenant, and never reused for another user. 1 to 200 printable ASCII characters, without `"` and
   * `\`.
   */
  readonly id: string;
  /** Identifier that handlers read as `ctx.principal.subject`. Default: `id`. */
  readonly subject?: string;
  readonly email?: string;
  readonly name?: string;
  readonly groups?: readonly string[];
  /** Names of the tenant's scopes, which limit what the user sees. Default: no limit. Unknown scopes are ignored. */
  readonly scopes?: readonly string[];
  /** Any JSON for handlers, which read it as `ctx.principal.claims`. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /**
   * When this authentication expires, in milliseconds since the epoch. Streams and stored calls end then. Default:
   * never.
   */
  readonly expires?: number;
}

const MEMBERS: Readonly<Record<string, string>> = {
  string: "tenant id subject email name",
  "list of strings": "groups scopes",
  object: "claims",
  number: "expires",
};

function typeNameOf(value: unknown): string {
  if (Array.isArray(value)) return value.every((one) => typeof one === "string") ? "list of strings" : "list";
  return value === null ? "null" : typeof value;
}

/** The user is stored with each stored call. */
const MOST_CHARACTERS = 16_384;

/** The id is part of every session id, which has no room for more. */
const ID = /^[ !#-[\]-~]{1,200}$/;

/** Throws a TypeError that says what is wrong. */
export function parseAppUser(result: unknown): AppUser {
  if (typeNameOf(result) !== "object")
    throw new TypeError(`must return an object, a Response or undefined, not ${typeNameOf(result)}`);
  const text = JSON.stringify(result);
  if (text.length > MOST_CHARACTERS)
    throw new TypeError(`the user must have at most ${MOST_CHARACTERS} characters as JSON, not ${text.length}`);
  const user = JSON.parse(text) as AppUser;
  for (const [name, value] of Object.entries(user)) {
    const kind = typeNameOf(value);
    const expected = Object.keys(MEMBERS).find((one) => MEMBERS[one]?.split(" ").includes(name));
    if (expected === undefined) throw new TypeError(`unknown field ${name}`);
    if (kind !== expected) throw new TypeError(`${name} must be of type ${expected}, not ${kind}`);
  }
  if (!ID.test(user.id ?? "")) throw new TypeError('id must be 1 to 200 printable ASCII characters without " and \\');
  return user;
}

/** `tenantScopes`: the tenant's scopes, by name. Other scopes are ignored. */
export function appPrincipal(user: AppUser, tenantScopes: Readonly<Record<string, unknown>> = {}): Principal {
  const { id, scopes, tenant: _tenant, expires: _expires, ...about } = user;
  return {
    subject: id,
    claims: {},
    ...about,
    kind: "app",
    id: `app ${id}`,
    scopes: scopes?.filter((scope) => Object.hasOwn(tenantScopes, scope)),
  };
}
