// Owns which calls of operators' requests to a tenant's objects are made a second time, beside those of every request: where the
// platform says that they may be, as when it resets all objects. Refuses what would be another write.

import { REPEATABLE } from "../../tenants/isolate/asked-again.ts";

/** What changes nothing, or the same once more: a key that is revoked already is waited for all the same. */
const OF_OPERATORS = [
  "policy.audit",
  "policy.incarnation",
  "policy.kept",
  "policy.keys",
  "policy.leftMs",
  "policy.read",
  "policy.revokeKey",
  "policy.staleMs",
  "changes.told",
  "content.usage",
  "edits.deliver",
];

/** From now on, for a Worker that has an admin API. */
export function askOperatorsCallsTwice(): void {
  for (const call of OF_OPERATORS) REPEATABLE.add(call);
}
