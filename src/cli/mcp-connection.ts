// A connection to any MCP endpoint: era 2026, which needs no handshake, or an older era if the server needs it.

import { withOlderFallback } from "../mcp-client/connect.ts";
import { openLink2026, openCatalogLink, type LinkConfig, type UpstreamLink } from "../gateway/upstream-link.ts";

/** The first request detects the era. A server that did not understand the request gets it again. */
export function openConnection(
  options: Omit<LinkConfig, "transport">,
  signal: AbortSignal,
): Pick<UpstreamLink, "request" | "close"> {
  let link: UpstreamLink | undefined;
  return {
    request: async (request, askOptions) => {
      if (link) return link.request(request, askOptions);
      const link2026 = openLink2026({ ...options, transport: "2026" });
      try {
        const response = await link2026.request(request, askOptions);
        link = link2026;
        return response;
      } catch (error) {
        link = await withOlderFallback(error, async () => openCatalogLink(options, "2025", { signal }));
        return link.request(request, askOptions);
      }
    },
    close: async () => link?.close(),
  };
}
