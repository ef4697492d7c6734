// Owns the route for the calls that a tenant has recorded, as lines that can be held against each other. Refuses a Worker
// that records none.

import type { RecordedCall } from "../../deployment/record-readers.ts";
import { findManaged } from "../apply/tenant-access.ts";
import type { RecordedLine, Infer } from "../contract.ts";
import { respondLines } from "../json-lines.ts";
import { lackingFeature } from "../problem.ts";
import { routes } from "../route.ts";
import { CALL_AUDIT_ENDPOINTS } from "../endpoints/record-endpoints.ts";

type Line = Infer<typeof RecordedLine>;

export const callAuditRoutes = routes(CALL_AUDIT_ENDPOINTS, {
  "GET /tenants/{id}/calls": async (call) => {
    const audit = call.options.features?.find((feature) => feature.callAudit)?.callAudit;
    if (!audit) throw lackingFeature("Recorded calls need the feature callAudit()");
    const { stub } = await findManaged(call, call.params.id);
    const reader = audit(stub());
    const { head } = await reader.page(Number.MAX_SAFE_INTEGER);
    const { last, after = last === undefined ? 0 : Math.max(0, head.sequence - last) } = call.query;
    let at: number | undefined;
    return respondLines(async () => {
      if (at !== undefined && at >= head.sequence) return [];
      const { anchor, calls } = await reader.page(at ?? after);
      // What was to come next may have gone meanwhile.
      const isAnchored = at === undefined ? anchor.sequence >= after : anchor.sequence > at;
      const lines: Line[] = isAnchored ? [{ kind: "anchor", ...anchor }] : [];
      lines.push(...calls.filter(({ sequence }) => sequence <= head.sequence).map(shown));
      at = calls.at(-1)?.sequence ?? head.sequence;
      if (at >= head.sequence) lines.push({ kind: "head", ...head });
      return lines;
    });
  },
});

function shown({ sequence, hash, text }: RecordedCall): Line {
  let entry: unknown = null;
  try {
    entry = JSON.parse(text);
  } catch {
    // Somebody has changed it: its hash does not fit.
  }
  return { kind: "call", sequence, hash, entry };
}
