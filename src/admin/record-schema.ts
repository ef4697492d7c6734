// Usage, recorded calls and webhook states, as the admin API returns them.

import * as z from "zod";
import { object, Timestamp } from "./schema-parts.ts";

/**
 * One line of a tenant's usage: the number of calls from `from` to `to`. A `closed` line never changes again. `id`
 * is unique, so a consumer that reads a line twice can tell.
 */
export const UsageLineShape = object({
  id: z.string(),
  tenant: z.string(),
  from: Timestamp,
  to: Timestamp,
  profile: z.nullable(z.string()),
  kind: z.enum(["tool", "prompt", "resource", "request"]),
  /** null: the line covers calls without a name. */
  name: z.nullable(z.string()),
  upstream: z.nullable(z.string()),
  calls: z.int(),
  errors: z.int(),
  refused: z.int(),
  bytesIn: z.int(),
  bytesOut: z.int(),
  closed: z.boolean(),
});

const chainLinkMembers = { sequence: z.int(), hash: z.string() } as const;

/**
 * A line of recorded calls. `hash` is the SHA-256, in hex, of the previous hash, a line feed, and `entry` as JSON
 * without whitespace. `anchor`: the link that the next line extends. `head`: the newest link that the server knows.
 */
export const RecordedLine = z.discriminatedUnion("kind", [
  object({ kind: z.literal("anchor"), ...chainLinkMembers }),
  object({ kind: z.literal("call"), ...chainLinkMembers, entry: z.unknown() }),
  object({ kind: z.literal("head"), ...chainLinkMembers }),
]);

/** `events`: null: all. `waiting`: messages not delivered yet. `dropped`: messages that were given up. */
export const WebhooksShape = object({
  items: z.array(
    object({ name: z.string(), url: z.string(), events: z.nullable(z.array(z.string())), enabled: z.boolean() }),
  ),
  waiting: z.int(),
  dropped: z.int(),
});

/** `status`: null if there was no answer. */
export const WebhookTestResult = object({
  delivered: z.boolean(),
  status: z.nullable(z.int()),
  why: z.nullable(z.string()),
  milliseconds: z.int(),
});
