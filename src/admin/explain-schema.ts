// How the contract explains why a caller sees a definition or does not. contract.ts exports the schemas that clients
// may import.

import * as z from "zod";
import { CAUSES } from "../protocol/cause.ts";
import { object } from "./schema-parts.ts";

export const Explanation = object(
  { visible: z.boolean(), callable: z.boolean(), listedAs: z.nullable(z.string()), reasons: z.array(z.string()) },
  {
    /** Those of the reasons that make the definition invisible or not callable. */
    decidedBy: z.array(z.string()),
    /** Facts that the server cannot know about the given caller, or about a source. */
    unknown: z.array(z.string()),
    /** Reasons as codes. `source`: the upstream concerned. `name`: the secret that is missing. */
    causes: z.array(
      object(
        { reason: z.string(), code: z.enum([...CAUSES, "key-required"]) },
        { source: z.string(), name: z.string() },
      ),
    ),
  },
);
