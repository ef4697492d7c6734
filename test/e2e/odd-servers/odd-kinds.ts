// All rows of the odd-server table, by kind.

import { CAPABILITIES } from "./capabilities.ts";
import { CONTENT_TYPES } from "./content-types.ts";
import { ENCODINGS } from "./encodings.ts";
import { EVENTS_OF_STREAMS } from "./events.ts";
import { IDS } from "./ids.ts";
import { BROKEN_LISTS } from "./lists.ts";
import type { OddKind } from "./odd-row.ts";
import { PINGS } from "./pings.ts";
import { RESULTS } from "./results.ts";
import { STATUSES } from "./statuses.ts";

export const KINDS: readonly OddKind[] = [
  IDS,
  STATUSES,
  BROKEN_LISTS,
  RESULTS,
  EVENTS_OF_STREAMS,
  CAPABILITIES,
  CONTENT_TYPES,
  PINGS,
  ENCODINGS,
];

export const ROWS = KINDS.flatMap(({ rows }) => rows);
