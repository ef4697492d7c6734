// Owns the shapes of a tenant's limits, as the admin API shows and takes them.

import { COUNT, FLAG, list, nullable, object, oneOf, STRING, Timestamp } from "./shapes.ts";

export const LimitShown = object({
  name: STRING,
  /** null: no limit. */
  value: nullable(COUNT),
  unit: oneOf("a minute", "a day", "at once", "bytes", "in all"),
  about: STRING,
  setBy: oneOf("tenant", "base", "code", "worker", "default"),
  raisedBy: oneOf("operator", "tenant", "author"),
  /** null: only counted where calls come in. */
  used: nullable(COUNT),
  /** When somebody met it last; noted once an hour. */
  met: nullable(Timestamp),
});

export const LimitsShown = object({ exact: FLAG, items: list(LimitShown) });

export const LimitSet = object({ value: COUNT });
