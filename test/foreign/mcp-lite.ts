// mcp-lite, in sessions, served by Hono's Request and Response through Node, as its README has it.
import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { InMemoryClientRequestAdapter, InMemorySessionAdapter, McpServer, StreamableHttpTransport } from "mcp-lite";
import * as z from "zod";

const server = new McpServer({
  name: "mcp-lite",
  version: "1.0.0",
  schemaAdapter: (schema) => z.toJSONSchema(schema as z.ZodType),
});

server.tool("say", {
  description: "Says it.",
  inputSchema: z.object({ it: z.string() }),
  handler: ({ it }) => ({ content: [{ type: "text", text: it }] }),
});
server.tool("add", {
  description: "Adds two numbers.",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  outputSchema: z.object({ sum: z.number() }),
  handler: ({ a, b }) => ({
    content: [{ type: "text", text: String(a + b) }],
    structuredContent: { sum: a + b },
  }),
});
server.tool("fail", {
  description: "Fails.",
  handler: () => ({ isError: true, content: [{ type: "text", text: "as asked" }] }),
});
server.tool("slow_steps", {
  description: "Tells how far it is.",
  handler: async (_args, context) => {
    for (const progress of [1, 2, 3]) await context.progress?.({ progress, total: 3 });
    return { content: [{ type: "text", text: "done" }] };
  },
});
server.resource("foreign://greeting", { name: "Greeting", mimeType: "text/plain" }, async ({ href }) => ({
  contents: [{ uri: href, type: "text", mimeType: "text/plain", text: "Hello." }],
}));
server.resource("foreign://item/{id}", { name: "Item", mimeType: "text/plain" }, async ({ href }, { id }) => ({
  contents: [{ uri: href, type: "text", mimeType: "text/plain", text: `Item ${id}` }],
}));
server.prompt("use_word", {
  description: "Uses a word.",
  arguments: [{ name: "word", required: true }],
  handler: ({ word }: { word: string }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Use ${word}.` } }],
  }),
});

const transport = new StreamableHttpTransport({
  sessionAdapter: new InMemorySessionAdapter({ maxEventBufferSize: 1024 }),
  clientRequestAdapter: new InMemoryClientRequestAdapter(),
});
const handle = toNodeHandler({ fetch: transport.bind(server) });
createServer((request, response) => void handle(request, response)).listen(Number(process.env["PORT"]), "127.0.0.1");
