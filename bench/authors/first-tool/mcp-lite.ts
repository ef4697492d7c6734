import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { McpServer, StreamableHttpTransport } from "mcp-lite";
import * as z from "zod";

const server = new McpServer({
  name: "shop",
  version: "1.0.0",
  schemaAdapter: (schema) => z.toJSONSchema(schema as z.ZodType),
});

server.tool("quote_shipping", {
  description: "What it costs to send a parcel.",
  inputSchema: z.object({ weightKg: z.number().positive().max(30) }),
  outputSchema: z.object({ price: z.number(), currency: z.string() }),
  handler: ({ weightKg }) => {
    const quote = { price: 5 + weightKg, currency: "EUR" };
    return { content: [{ type: "text", text: JSON.stringify(quote) }], structuredContent: quote };
  },
});

const handle = toNodeHandler({ fetch: new StreamableHttpTransport().bind(server) });
createServer((request, response) => void handle(request, response)).listen(Number(process.env["PORT"]));
