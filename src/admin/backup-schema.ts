// The parts of a backup beside the document and the resources. The command line returns them unchanged, so
// contract.ts does not export them.

import * as z from "zod";
import { list, textMatching, object, Timestamp } from "./schema-parts.ts";

const MAX_ROWS = { max: 20_000 };

/**
 * These schemas do not check values that reading alone would find wrong: only platform operators may write a backup.
 */
const backupMembers = {
  keys: list(
    object(
      // A key with any other id could not be revoked.
      {
        id: textMatching(/^[0-9A-Za-z]{10}$/, "must be ten of 0-9, A-Z and a-z"),
        hash: z.string(),
        name: z.string(),
        created: Timestamp,
      },
      { scopes: z.string(), profile: z.string(), expires: z.int(), retires: z.int(), parent: z.string() },
    ),
    MAX_ROWS,
  ),
  suspensions: list(
    object({ kind: z.string(), name: z.string(), note: z.string(), since: Timestamp, by_operator: z.int() }),
    MAX_ROWS,
  ),
  secrets: list(object({ name: z.string(), sealed: z.string(), updated: Timestamp }), MAX_ROWS),
} as const;

/**
 * Keys hold only hashes. Secrets stay sealed: a Worker with the same SECRETS_KEY opens them, for a tenant of the
 * same name.
 */
export const BackupRestore = object(backupMembers);
/** `approved`: digests of approved definitions, by upstream. */
export const BackupShape = object({ ...backupMembers, approved: z.record(z.string(), z.array(z.string())) });
export const RestoreResult = object({ rows: z.int() });
