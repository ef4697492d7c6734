// Owns how the contract shows why somebody sees a thing or does not. Refuses logic; what clients may import is exported by
// contract.ts.

import * as z from "zod";
import { CAUSES } from "../protocol/cause.ts";
import { object } from "./schema-parts.ts";

export const Explanation = object(
  { visible: z.boolean(), callable: z.boolean(), listedAs: z.nullable(z.string()), reasons: z.array(z.string()) },
  {
    /** Those of the reasons for which it is not visible, or not callable. */
    decidedBy: z.array(z.string()),
    /** What nobody can say here of the caller that was asked for, or of a source. */
    unknown: z.array(z.string()),
    /** Reasons as codes. `source`: the upstream that it is about; `name`: of the secret that is missing. */
    causes: z.array(
      object(
        { reason: z.string(), code: z.enum([...CAUSES, "key-required"]) },
        { source: z.string(), name: z.string() },
      ),
    ),
  },
);
