// The route for a tenant's recorded calls, as a hash chain. Needs the feature callAudit().

import type { RecordedCall } from "../../deployment/record-readers.ts";
import { requireTenant } from "../services/tenant-handle.ts";
import type { CallAuditLine, Infer } from "../contract.ts";
import { respondLines } from "../respond-lines.ts";
import { missingFeature } from "../problem.ts";
import { defineRoutes } from "../route.ts";
import { CALL_AUDIT_ENDPOINTS } from "../endpoints/record-endpoints.ts";

type CallLine = Infer<typeof CallAuditLine>;

export const callAuditRoutes = defineRoutes(CALL_AUDIT_ENDPOINTS, {
  "GET /tenants/{id}/calls": async (context) => {
    const audit = context.options.features?.find((feature) => feature.callAudit)?.callAudit;
    if (!audit) throw missingFeature("Recorded calls need the feature callAudit()");
    const { stub } = await requireTenant(context, context.params.id);
    const reader = audit(stub());
    const { head } = await reader.page(Number.MAX_SAFE_INTEGER);
    const { last, after = last === undefined ? 0 : Math.max(0, head.sequence - last) } = context.query;
    let position: number | undefined;
    return respondLines(async () => {
      if (position !== undefined && position >= head.sequence) return [];
      const { anchor, calls } = await reader.page(position ?? after);
      // The next entries may have been deleted meanwhile.
      const isAnchored = position === undefined ? anchor.sequence >= after : anchor.sequence > position;
      const lines: CallLine[] = isAnchored ? [{ kind: "anchor", ...anchor }] : [];
      lines.push(...calls.filter(({ sequence }) => sequence <= head.sequence).map(toLine));
      position = calls.at(-1)?.sequence ?? head.sequence;
      if (position >= head.sequence) lines.push({ kind: "head", ...head });
      return lines;
    });
  },
});

function toLine({ sequence, hash, text }: RecordedCall): CallLine {
  let entry: unknown = null;
  try {
    entry = JSON.parse(text);
  } catch {
    // The entry is not valid JSON, so somebody changed it: its hash does not match.
  }
  return { kind: "call", sequence, hash, entry };
}
