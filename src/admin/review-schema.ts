// Owns the shapes of what waits for approval of an upstream, and of the decisions on it. Refuses logic; what clients may
// import is exported by contract.ts.

import * as z from "zod";
import { list, object, textUpTo, Timestamp } from "./schema-parts.ts";

const FieldChange = object({ field: z.string() }, { before: z.unknown(), after: z.unknown() });

/** `digest` is what a decision names; `approved`: the digest of what is in force instead. */
export const PendingDefinitionShape = object(
  {
    kind: z.string(),
    name: z.string(),
    state: z.enum(["new", "changed", "rejected"]),
    digest: z.string(),
    approved: z.nullable(z.string()),
    seen: Timestamp,
    changes: z.array(FieldChange),
    flags: z.array(z.enum(["hidden-characters", "instruction"])),
  },
  { renamedFrom: z.string() },
);

export const ReviewDecision = object({ digests: list(textUpTo(64, 1), { min: 1, isDistinct: true, max: 1000 }) });
/** `effectiveAt` null: nothing was listed of the upstream yet, so nothing changes before it is read. */
export const ReviewResult = object({
  decided: z.int(),
  waiting: z.int(),
  changed: z.boolean(),
  effectiveAt: z.nullable(Timestamp),
});
