// Owns the shapes of what is noted of a tenant's calls, as the admin API gives it out.

import * as z from "zod";
import { object, Timestamp } from "./schema-parts.ts";

/**
 * A line of a tenant's use: how often something was called from `from` to `to`. `closed`: it never changes any more, and its
 * `id` is of it alone, so who takes it twice knows.
 */
export const UsageLineShape = object({
  id: z.string(),
  tenant: z.string(),
  from: Timestamp,
  to: Timestamp,
  profile: z.nullable(z.string()),
  kind: z.enum(["tool", "prompt", "resource", "request"]),
  /** null: of no one name. */
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
 * A line of recorded calls. `hash` is the SHA-256, in hex, of the one before, a line feed, and `entry` as JSON without blanks.
 * `anchor`: what the next one hangs on; `head`: the newest that the server knows of.
 */
export const RecordedLine = z.discriminatedUnion("kind", [
  object({ kind: z.literal("anchor"), ...chainLinkMembers }),
  object({ kind: z.literal("call"), ...chainLinkMembers, entry: z.unknown() }),
  object({ kind: z.literal("head"), ...chainLinkMembers }),
]);

/** `events`: null: all. `waiting`: messages that somebody does not have yet; `dropped`: that were given up. */
export const WebhooksShape = object({
  items: z.array(
    object({ name: z.string(), url: z.string(), events: z.nullable(z.array(z.string())), enabled: z.boolean() }),
  ),
  waiting: z.int(),
  dropped: z.int(),
});

/** `status`: null: there was no answer. */
export const WebhookTestResult = object({
  delivered: z.boolean(),
  status: z.nullable(z.int()),
  why: z.nullable(z.string()),
  milliseconds: z.int(),
});
