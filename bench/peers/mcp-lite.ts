// mcp-lite in stateless mode, set up as its README does.
import { McpServer, StreamableHttpTransport } from "mcp-lite";
import * as z from "zod";

const server = new McpServer({
  name: "bench",
  version: "1.0.0",
  schemaAdapter: (schema) => z.toJSONSchema(schema as z.ZodType),
});

server.tool("add", {
  description: "Adds two numbers.",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  handler: ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }] }),
});

const handle = new StreamableHttpTransport().bind(server);

export default { fetch: (request: Request): Promise<Response> => handle(request) };
