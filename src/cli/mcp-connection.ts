// A conversation with any MCP endpoint: in era 2026, which needs no handshake, or in whatever older way the server speaks.

import { withOlderFallback } from "../mcp-client/connect.ts";
import { openLink2026, openCatalogLink, type LinkConfig, type UpstreamLink } from "../gateway/upstream-link.ts";

/** The first request finds out which it is. It is sent once more to a server that did not understand it. */
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
