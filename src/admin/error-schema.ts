// Owns how the contract shows what went wrong: to who asked, to who looks for it later, and counted. Refuses logic; what clients
// may import is exported by contract.ts.

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

/** A member that is wrong, and the rule that it breaks. */
export const FieldRules = z.array(object({ field: z.string(), rule: z.string() }));

/** What was taken, and may not be what was meant: a pattern that matches nothing, a name that is nobody's yet. */
export const warningMembers = { warnings: FieldRules } as const;

/** RFC 9457. */
export const Problem = object(
  { type: z.string(), title: z.string(), status: z.int() },
  { detail: z.string(), errors: FieldRules, requestId: z.string() },
);
