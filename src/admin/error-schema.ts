// How the contract shows errors: in an answer, in the error log, and as counts. contract.ts exports the schemas that
// clients may import.

import * as z from "zod";
import { object, Timestamp } from "./schema-parts.ts";

export const ErrorRow = object({
  sequence: z.int(),
  at: Timestamp,
  requestId: z.string(),
  tenant: z.string(),
  method: z.string(),
  name: z.string(),
  message: z.string(),
  stack: z.string(),
});

export const MetricsShape = object(
  { counts: z.record(z.string(), z.int()), refusals: z.record(z.string(), z.int()) },
  { levels: z.record(z.string(), z.int()) },
);

/** A wrong member, and the rule that its value breaks. */
export const FieldRules = z.array(object({ field: z.string(), rule: z.string() }));

/** Input that was accepted but may be a mistake: a pattern that matches nothing, or a name that does not exist yet. */
export const warningMembers = { warnings: FieldRules } as const;

/** Problem details, RFC 9457. */
export const Problem = object(
  { type: z.string(), title: z.string(), status: z.int() },
  { detail: z.string(), errors: FieldRules, requestId: z.string() },
);
