import * as z from "zod";
import { NullableTimestamp, object } from "./schema-parts.ts";

export const LimitShape = object({
  name: z.string(),
  /** null: no limit. */
  value: z.nullable(z.int()),
  unit: z.enum(["a minute", "a day", "at once", "bytes", "in all"]),
  about: z.string(),
  setBy: z.enum(["tenant", "base", "code", "worker", "default"]),
  raisedBy: z.enum(["operator", "tenant", "author"]),
  /** null: use is counted only in the isolates that take the calls. */
  used: z.nullable(z.int()),
  /** When a caller exceeded the limit last; recorded once an hour. */
  met: NullableTimestamp,
});

export const LimitsShape = object({ exact: z.boolean(), items: z.array(LimitShape) });

export const LimitValue = object({ value: z.int() });
