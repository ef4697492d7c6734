import { FastMCP } from "fastmcp";
import * as z from "zod";

const server = new FastMCP({ name: "shop", version: "1.0.0" });

server.addTool({
  name: "quote_shipping",
  description: "What it costs to send a parcel.",
  parameters: z.object({ weightKg: z.number().positive().max(30) }),
  outputSchema: z.object({ price: z.number(), currency: z.string() }),
  execute: async ({ weightKg }) => ({ price: 5 + weightKg, currency: "EUR" }),
});

await server.start({ transportType: "httpStream", httpStream: { port: Number(process.env["PORT"]) } });
