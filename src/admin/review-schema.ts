// Owns the shapes of what waits for approval of an upstream, and of the decisions on it. Refuses logic; what clients may
// import is exported by contract.ts.

import { ANYTHING, COUNT, DISTINCT, FLAG, list, nullable, object, oneOf, STRING, textUpTo } from "./shapes.ts";

const FieldChanged = object({ field: STRING }, { before: ANYTHING, after: ANYTHING });

/** `digest` is what a decision names; `approved`: the digest of what is in force instead. */
export const WaitingShape = object(
  {
    kind: STRING,
    name: STRING,
    state: oneOf("new", "changed", "rejected"),
    digest: STRING,
    approved: nullable(STRING),
    seen: { type: "string", format: "date-time" },
    changes: list(FieldChanged),
    flags: list(oneOf("hidden-characters", "instruction")),
  },
  { renamedFrom: STRING },
);

export const Decide = object({ digests: list(textUpTo(64, 1), { minItems: 1, ...DISTINCT, maxItems: 1000 }) });
/** `effectiveAt` null: nothing was listed of the upstream yet, so nothing changes before it is read. */
export const Decided = object({
  decided: COUNT,
  waiting: COUNT,
  changed: FLAG,
  effectiveAt: nullable({ type: "string", format: "date-time" } as const),
});
