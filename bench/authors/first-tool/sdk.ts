import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";

function shop(): McpServer {
  const server = new McpServer({ name: "shop", version: "1.0.0" });
  server.registerTool(
    "quote_shipping",
    {
      description: "What it costs to send a parcel.",
      inputSchema: z.object({ weightKg: z.number().positive().max(30) }),
      outputSchema: z.object({ price: z.number(), currency: z.string() }),
    },
    ({ weightKg }) => {
      const quote = { price: 5 + weightKg, currency: "EUR" };
      return { content: [{ type: "text", text: JSON.stringify(quote) }], structuredContent: quote };
    },
  );
  return server;
}

const handle = toNodeHandler(createMcpHandler(shop));
createServer((request, response) => void handle(request, response)).listen(Number(process.env["PORT"]));
