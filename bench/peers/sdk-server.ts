// The official server SDK for 2026-07-28, by its own request handler and nothing around it.
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
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

export default createMcpHandler(createServer);
