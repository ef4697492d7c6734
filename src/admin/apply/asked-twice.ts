// Owns which calls of operators' requests to objects are made a second time, beside those of every request: where the platform
// says that they may be, as when it resets all objects. Refuses what would be another write.

import { REPEATABLE } from "../../tenants/isolate/asked-again.ts";

/** What changes nothing. */
const READS = [
  "policy.audit",
  "policy.incarnation",
  "policy.kept",
  "policy.keys",
  "policy.leftMs",
  "policy.read",
  "policy.secrets",
  "policy.staleMs",
  "changes.told",
  "content.usage",
  "limits.use",
  "usage.lines",
  "call-audit.page",
  "webhooks.queue",
  "gateway.readings",
  "gateway-review.approved",
  "gateway-review.waiting",
  "login.grants",
  "login.clients",
  "sessions.list",
  "directory.isDeclared",
  "directory.list",
  "directory.listDeclared",
  "operators.operatorByHash",
  "operators.operators",
  "operators.audit",
  "bases.base",
  "bases.bases",
  "bases.resolve",
  "bases.uses",
  "bases.blocks",
  "brakes.stopped",
  "fleet.run",
  "fleet.runs",
  "faults.faults",
];

/** What does the same once more: a key that is revoked already is waited for all the same. */
const WRITES = [
  "policy.revokeKey",
  "policy.suspend",
  "policy.resume",
  "policy.setSecret",
  "policy.deleteSecret",
  "login.endGrant",
  "login.endClient",
  "login.endPrincipal",
  "fleet.stop",
  "edits.deliver",
  "bases.take",
  "bases.settle",
  "bases.release",
  "bases.block",
  "bases.unblock",
  "brakes.push",
  "brakes.stopTenant",
  "brakes.releaseTenant",
  "directory.add",
  "directory.declare",
  "directory.mark",
];

/** A tenant's end, which goes on from where it was cut off. Of its entry in the audit log there may be two, rather than none. */
const ENDINGS = [
  "directory.endDeclared",
  "operators.record",
  "policy.closed",
  "content.close",
  "earlier-content.purge",
  "content.purge",
  "sessions.forget",
  "content.erase",
  "policy.erase",
  "operators.forgetTenant",
  "directory.remove",
  "directory.forget",
];

/** From now on, for a Worker that has an admin API. */
export function askOperatorsCallsTwice(): void {
  for (const call of [...READS, ...WRITES, ...ENDINGS]) REPEATABLE.add(call);
}
