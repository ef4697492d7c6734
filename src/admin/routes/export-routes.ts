// Owns a tenant's export: its own document, then a line for each resource, as they are found. Bodies are got one by
// one, by hash, so that an export can be broken off and gone on with.

import type { RemoteContent } from "../../content/store/content-tables.ts";
import type { ExportLine, Infer } from "../contract.ts";
import { aboutOf } from "./resource-routes.ts";
import { routes } from "../route.ts";
import { findManaged, placementOf, readRecord } from "../apply/tenant-access.ts";
import { EXPORT_ENDPOINTS } from "../endpoints/tenant-endpoints.ts";

const PAGE = 500;

export const exportRoutes = routes(EXPORT_ENDPOINTS, {
  "GET /tenants/{id}/export": async (call) => {
    const managed = await findManaged(call, call.params.id);
    const { id, own, revision } = await readRecord(managed);
    const first: Line = {
      kind: "tenant",
      id,
      ...placementOf(managed),
      revision,
      document: own as Extract<Line, { kind: "tenant" }>["document"],
    };
    return new Response(linesOf(first, managed.content), {
      headers: { "content-type": "application/x-ndjson" },
    });
  },
});

type Line = Infer<typeof ExportLine>;

function linesOf(first: Line, content: RemoteContent): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const encode = (lines: readonly Line[]) => encoder.encode(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  let after: string | null = null;
  return new ReadableStream<Uint8Array>({
    start: (controller) => {
      controller.enqueue(encode([first]));
    },
    pull: async (controller) => {
      const rows = await content.list({ prefix: "", tag: null, after, limit: PAGE });
      const last = rows.at(-1);
      if (last) {
        after = last.uri;
        controller.enqueue(encode(rows.map((row): Line => ({ kind: "resource", ...aboutOf(row) }))));
      }
      if (rows.length < PAGE) controller.close();
    },
  });
}
