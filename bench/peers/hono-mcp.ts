// @hono/mcp over the SDK of the 2025 revisions, stateless: a server and a transport per request, since both hold the
// state of one exchange.
import { StreamableHTTPTransport } from "@hono/mcp";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { Hono } from "hono";
import * as z from "zod";

function createServer(): McpServer {
  const server = new McpServer({ name: "bench", version: "1.0.0" });
  server.registerTool(
    "add",
    { description: "Adds two numbers.", inputSchema: { a: z.number(), b: z.number() } },
    ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }] }),
  );
  return server;
}

const app = new Hono();

app.all("/mcp/bench", async (c) => {
  const transport = new StreamableHTTPTransport();
  await createServer().connect(transport);
  return transport.handleRequest(c);
});

export default app;
