// Owns how the contract shows what went wrong: to who asked, to who looks for it later, and counted. Refuses logic; what clients
// may import is exported by contract.ts.

import { COUNT, list, object, record, STRING } from "./shapes.ts";

export const FaultRow = object({
  sequence: COUNT,
  at: { type: "string", format: "date-time" } as const,
  requestId: STRING,
  tenant: STRING,
  method: STRING,
  name: STRING,
  message: STRING,
  stack: STRING,
});

export const CountersShown = object(
  { counts: record(STRING, COUNT), refusals: record(STRING, COUNT) },
  { levels: record(STRING, COUNT) },
);

/** A member that is wrong, and the rule that it breaks. */
export const FieldRules = list(object({ field: STRING, rule: STRING }));

/** What was taken, and may not be what was meant: a pattern that matches nothing, a name that is nobody's yet. */
export const Warned = { warnings: FieldRules } as const;

/** RFC 9457. */
export const Problem = object(
  { type: STRING, title: STRING, status: COUNT },
  { detail: STRING, errors: FieldRules, requestId: STRING },
);
