// Owns the shapes of what is noted of a tenant's calls, as the admin API gives it out.

import { ANYTHING, COUNT, FLAG, list, nullable, object, oneOf, STRING, Timestamp } from "./shapes.ts";

/**
 * A line of a tenant's use: how often something was called from `from` to `to`. `closed`: it never changes any more, and its
 * `id` is of it alone, so who takes it twice knows.
 */
export const UsageLineShape = object({
  id: STRING,
  tenant: STRING,
  from: Timestamp,
  to: Timestamp,
  profile: nullable(STRING),
  kind: oneOf("tool", "prompt", "resource", "request"),
  /** null: of no one name. */
  name: nullable(STRING),
  upstream: nullable(STRING),
  calls: COUNT,
  errors: COUNT,
  refused: COUNT,
  bytesIn: COUNT,
  bytesOut: COUNT,
  closed: FLAG,
});

const kind = <const K extends string>(tag: K) => ({ type: "string", const: tag }) as const;
const hung = { sequence: COUNT, hash: STRING } as const;

/**
 * A line of recorded calls. `hash` is the SHA-256, in hex, of the one before, a line feed, and `entry` as JSON without blanks.
 * `anchor`: what the next one hangs on; `head`: the newest that the server knows of.
 */
export const RecordedLine = {
  oneOf: [
    object({ kind: kind("anchor"), ...hung }),
    object({ kind: kind("call"), ...hung, entry: ANYTHING }),
    object({ kind: kind("head"), ...hung }),
  ],
} as const;

/** `events`: null: all. `waiting`: messages that somebody does not have yet; `dropped`: that were given up. */
export const WebhooksShape = object({
  items: list(object({ name: STRING, url: STRING, events: nullable(list(STRING)), enabled: FLAG })),
  waiting: COUNT,
  dropped: COUNT,
});

/** `status`: null: there was no answer. */
export const WebhookTested = object({
  delivered: FLAG,
  status: nullable(COUNT),
  why: nullable(STRING),
  milliseconds: COUNT,
});
