// Owns what the app that mounts the Worker says of who calls: reading it, and the principal that it makes. Refuses whatever is
// otherwise than it should be, so that nobody becomes anonymous, or somebody else, by a mistake. Pure.

import type { Principal } from "./principal.ts";

/** Somebody whom the app knows. JSON: of what is none, handlers see what JSON makes of it. */
export interface AppUser {
  /** The tenant that they belong to, and to no other. Absent: they get in where nobody needs a credential. */
  readonly tenant?: string;
  /** Never another user's of the tenant: 1 to 200 printable characters of ASCII, without `"` and `\`. */
  readonly id: string;
  /** `id` when absent. */
  readonly subject?: string;
  readonly email?: string;
  readonly name?: string;
  readonly groups?: readonly string[];
  /** Names of the tenant's scopes, which limit what they see; absent: nothing limits it. */
  readonly scopes?: readonly string[];
  /** Handlers are shown them. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Until when this is true, milliseconds since the epoch: streams and stored calls end with it. */
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

/** Stored with each stored call. */
const MOST_CHARACTERS = 16_384;

/** In every id of a session, which has room for no more. */
const ID = /^[ !#-[\]-~]{1,200}$/;

/** Throws a TypeError that says what is wrong. */
export function parseAppUser(result: unknown): AppUser {
  if (typeNameOf(result) !== "object") throw new TypeError("no object, Response or undefined");
  const text = JSON.stringify(result);
  if (text.length > MOST_CHARACTERS) throw new TypeError(`more than ${MOST_CHARACTERS} characters as JSON`);
  const user = JSON.parse(text) as AppUser;
  for (const [name, value] of Object.entries(user)) {
    const kind = typeNameOf(value);
    if (!MEMBERS[kind]?.split(" ").includes(name)) throw new TypeError(`no member ${name} is a ${kind}`);
  }
  if (!ID.test(user.id ?? "")) throw new TypeError('id has to be 1 to 200 characters of ASCII without " and \\');
  return user;
}

/** `known`: the tenant's scopes, by name. Others mean nothing. */
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
