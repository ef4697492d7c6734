// Owns which calls of operators' requests to objects are made a second time, beside those of every request: where the platform
// says that they may be, as when it resets all objects. Refuses what would be another write.

import { askAgain } from "../../tenants/isolate/asked-again.ts";

/** What changes nothing. */
const READS = {
  policy: "audit countKeys incarnation kept key keyPage leftMs read secrets",
  changes: "told",
  content: "usage",
  limits: "use",
  usage: "lines",
  "call-audit": "page",
  webhooks: "queue",
  gateway: "readings",
  "gateway-review": "approved waiting",
  login: "grants clients",
  sessions: "list",
  directory: "isDeclared list listDeclared named",
  operators: "operatorByHash operators audit",
  bases: "base bases resolve uses",
  rollouts: "blocks rollout rollouts onItsWay",
  faults: "faults",
};

/** What does the same once more: a key that is revoked already is waited for all the same. */
const WRITES = {
  policy: "addKey rotateKey revokeKey suspend suspendLate resume setSecret deleteSecret takeBlocks",
  login: "endGrant endClient endPrincipal",
  edits: "deliver",
  bases: "take settle release",
  rollouts: "block unblock suspendLate resumed report handOver stop",
  directory: "add declare markDeleting noteBlocks release",
  operators: "removeOperator",
};

/** A tenant's end, which goes on from where it was cut off. Of its entry in the audit log there may be two, rather than none. */
const ENDINGS = {
  directory: "endDeclared remove",
  operators: "record forgetTenant",
  policy: "close erase",
  content: "close purge erase",
  sessions: "forget",
};

/** From now on, for a Worker that has an admin API. */
export function askOperatorsCallsTwice(): void {
  for (const calls of [READS, WRITES, ENDINGS]) askAgain(calls);
}
