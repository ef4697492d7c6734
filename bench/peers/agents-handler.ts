// The stateless handler of `agents` for 2026-07-28, set up as its documentation does.
import { McpServer } from "@modelcontextprotocol/server";
import { createMcpHandler } from "agents/mcp/server";
import * as z from "zod";

function createServer(): McpServer {
  const server = new McpServer({ name: "bench", version: "1.0.0" });
  server.registerTool(
    "add",
    { description: "Adds two numbers.", inputSchema: z.object({ a: z.number(), b: z.number() }) },
    ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }] }),
  );
  return server;
}

const handle = createMcpHandler(createServer, { route: "/mcp/bench" });

export default {
  fetch: (request: Request, env: unknown, context: ExecutionContext): Promise<Response> =>
    handle(request, env, context),
};
