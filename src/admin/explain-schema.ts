// Owns how the contract shows why somebody sees a thing or does not. Refuses logic; what clients may import is exported by
// contract.ts.

import { CAUSES } from "../protocol/cause.ts";
import { FLAG, list, nullable, object, oneOf, STRING } from "./shapes.ts";

export const Explained = object(
  { visible: FLAG, callable: FLAG, listedAs: nullable(STRING), reasons: list(STRING) },
  {
    /** Those of the reasons for which it is not visible, or not callable. */
    decidedBy: list(STRING),
    /** What nobody can say here of the caller that was asked for, or of a source. */
    unknown: list(STRING),
    /** Reasons as codes. `source`: the upstream that it is about; `name`: of the secret that is missing. */
    causes: list(object({ reason: STRING, code: oneOf(...CAUSES, "key-required") }, { source: STRING, name: STRING })),
  },
);
