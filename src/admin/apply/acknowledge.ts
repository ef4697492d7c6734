// Owns what is answered when something of a tenant was ended or given back: when that is so everywhere.

import type { WriteResult } from "../../tenants/authority/policy-records.ts";
import type { Desk, RouteAnswer } from "../route.ts";
import { expectTold, fromNow, isoTime, untilInForce } from "./in-force.ts";
import { readRecord, type Managed } from "./tenant-access.ts";

/** Waits even if it was so already: the answer to an earlier try may have been lost. `desk`: for what takes something away. */
export async function acknowledge(managed: Managed, done: WriteResult, desk?: Desk): Promise<RouteAnswer> {
  const changed = done.state === "written";
  const { revision } = done.state === "absent" ? await readRecord(managed) : done;
  const effectiveAt = fromNow(changed ? done.leftMs : await managed.policy.leftMs());
  await untilInForce(effectiveAt);
  if (desk) await expectTold(managed.stub());
  return { body: { revision, changed, effectiveAt: isoTime(effectiveAt) } };
}
