// Owns the shape of what a backup has beside the document and the resources. Refuses logic. The command line hands it back as it
// came, so contract.ts does not export it.

import { COUNT, list, matching, object, record, STRING } from "./shapes.ts";

const TIME = { type: "string", format: "date-time" } as const;

/** What only reading it would show to be wrong is not judged: operators of the platform alone may write it. */
const Rows = {
  keys: list(
    object(
      // By another id nobody could revoke it.
      { id: matching(/^[0-9A-Za-z]{10}$/, "ten of 0-9, A-Z and a-z"), hash: STRING, name: STRING, created: TIME },
      { scopes: STRING, profile: STRING, expires: COUNT, retires: COUNT, parent: STRING },
    ),
  ),
  suspensions: list(object({ kind: STRING, name: STRING, note: STRING, since: TIME, by_operator: COUNT })),
  secrets: list(object({ name: STRING, sealed: STRING, updated: TIME })),
} as const;

/** Keys by their hashes; secrets as a Worker with the same SECRETS_KEY opens them, for a tenant of the same name. */
export const PutBack = object(Rows);
/** `approved`: digests of definitions, by upstream. */
export const KeptShape = object({ ...Rows, approved: record(STRING, list(STRING)) });
export const PutBackDone = object({ rows: COUNT });
