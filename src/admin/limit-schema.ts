// Owns the shapes of a tenant's limits, as the admin API shows and takes them.

import * as z from "zod";
import { MaybeTime, object } from "./schema-parts.ts";

export const LimitShown = object({
  name: z.string(),
  /** null: no limit. */
  value: z.nullable(z.int()),
  unit: z.enum(["a minute", "a day", "at once", "bytes", "in all"]),
  about: z.string(),
  setBy: z.enum(["tenant", "base", "code", "worker", "default"]),
  raisedBy: z.enum(["operator", "tenant", "author"]),
  /** null: only counted where calls come in. */
  used: z.nullable(z.int()),
  /** When somebody met it last; noted once an hour. */
  met: MaybeTime,
});

export const LimitsShown = object({ exact: z.boolean(), items: z.array(LimitShown) });

export const LimitSet = object({ value: z.int() });
