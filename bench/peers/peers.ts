// The other servers `--peers` measures: each has one `add` tool and answers the same call, in the revision it speaks.
// The Workers beside this file need the packages of this folder; nothing else in the project does.
import type { Bindings } from "../runtime.ts";
import { load2025, load2026, loadInSession } from "../scenarios.ts";
import type { Scenario } from "../scenarios.ts";

interface Peer extends Scenario {
  entry: string;
  bindings?: Bindings;
}

export const PEERS: Peer[] = [
  { name: "mcp-lite, 2025-06-18", entry: "peers/mcp-lite.ts", prepare: async () => load2025("2025-06-18") },
  { name: "@hono/mcp, 2025-11-25", entry: "peers/hono-mcp.ts", prepare: async () => load2025("2025-11-25") },
  { name: "SDK 2 createMcpHandler, 2026", entry: "peers/sdk-server.ts", prepare: async () => load2026 },
  { name: "agents createMcpHandler, 2026", entry: "peers/agents-handler.ts", prepare: async () => load2026 },
  {
    name: "agents McpAgent, session",
    entry: "peers/agents-session.ts",
    bindings: { durableObjects: { MCP_OBJECT: "AddAgent" } },
    prepare: async (send) => loadInSession(send, "2025-11-25"),
  },
];
