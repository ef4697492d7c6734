// Definitions that wait for approval, and the decisions on them. contract.ts exports the schemas that clients may
// import.

import * as z from "zod";
import { list, object, textUpTo, Timestamp } from "./schema-parts.ts";

const FieldChange = object({ field: z.string() }, { before: z.unknown(), after: z.unknown() });

/** `digest`: identifies the definition in a decision. `approved`: the digest of the definition in force instead. */
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
/** `effectiveAt`: null if the upstream was never listed, so that nothing changes before it is read. */
export const ReviewResult = object({
  decided: z.int(),
  waiting: z.int(),
  changed: z.boolean(),
  effectiveAt: z.nullable(Timestamp),
});
