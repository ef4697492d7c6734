// A conversation with any MCP endpoint: in era 2026, which needs no handshake, or in whatever older way the server speaks.

import { orOlder } from "../../mcp-client/connect.ts";
import { beginLink2026, surveyLink, type LinkHow, type UpstreamLink } from "../../gateway/upstream-link.ts";

/** The first request finds out which it is. It is sent once more to a server that did not understand it. */
export function openConnection(how: Omit<LinkHow, "way">, signal: AbortSignal): Pick<UpstreamLink, "ask" | "close"> {
  let link: UpstreamLink | undefined;
  return {
    ask: async (asked, asking) => {
      if (link) return link.ask(asked, asking);
      const newest = beginLink2026({ ...how, way: "2026" });
      try {
        const answered = await newest.ask(asked, asking);
        link = newest;
        return answered;
      } catch (error) {
        link = await orOlder(error, async () => surveyLink(how, "2025", { signal }));
        return link.ask(asked, asking);
      }
    },
    close: async () => link?.close(),
  };
}
