// FastMCP for TypeScript over Streamable HTTP, in sessions, as its README has it.
import { FastMCP } from "fastmcp";
import * as z from "zod";
import { TEXTS, wordsLike } from "./fixed-texts.ts";

const server = new FastMCP({ name: "fastmcp", version: "1.0.0", logger: { ...console, log: () => {} } });

server.addTool({
  name: "say",
  description: "Says it.",
  parameters: z.object({ it: z.string() }),
  annotations: { readOnlyHint: true, title: "Say" },
  execute: async ({ it }) => it,
});
server.addTool({
  name: "add",
  description: "Adds two numbers.",
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }] }),
});
server.addTool({
  name: "fail",
  description: "Fails.",
  execute: async () => {
    throw new Error("as asked");
  },
});
server.addTool({
  name: "slow_steps",
  description: "Tells how far it is.",
  execute: async (_args, { reportProgress }) => {
    for (const progress of [1, 2, 3]) await reportProgress({ progress, total: 3 });
    return "done";
  },
});
server.addTool({
  name: "write_log",
  description: "Logs.",
  execute: async (_args, { log }) => {
    for (const data of TEXTS) log.info(data);
    return "logged";
  },
});
server.addResource({
  uri: "foreign://greeting",
  name: "Greeting",
  mimeType: "text/plain",
  load: async () => ({ text: "Hello." }),
});
server.addResourceTemplate({
  uriTemplate: "foreign://item/{id}",
  name: "Item",
  mimeType: "text/plain",
  arguments: [{ name: "id", required: true, complete: async (value) => ({ values: wordsLike(value) }) }],
  load: async ({ id }) => ({ text: `Item ${id}` }),
});
server.addPrompt({
  name: "use_word",
  description: "Uses a word.",
  arguments: [{ name: "word", required: true, complete: async (value) => ({ values: wordsLike(value) }) }],
  load: async ({ word }) => `Use ${word}.`,
});

await server.start({
  transportType: "httpStream",
  httpStream: { port: Number(process.env["PORT"]), host: "127.0.0.1", endpoint: "/mcp" },
});
