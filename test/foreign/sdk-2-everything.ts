// A server of the official SDK v2 that offers one of everything.
import { completable, McpServer, ResourceTemplate } from "@modelcontextprotocol/server";
import * as z from "zod";
import { TEXTS, wordsLike } from "./fixed-texts.ts";

export function everything(): McpServer {
  const server = new McpServer({ name: "sdk-2", version: "1.0.0" }, { capabilities: { logging: {} } });
  server.registerTool("say", { description: "Says it.", inputSchema: z.object({ it: z.string() }) }, ({ it }) => ({
    content: [{ type: "text", text: it }],
  }));
  const sum = z.object({ sum: z.number() });
  const numbers = z.object({ a: z.number(), b: z.number() });
  server.registerTool("add", { title: "Add", inputSchema: numbers, outputSchema: sum }, ({ a, b }) => ({
    content: [{ type: "text", text: String(a + b) }],
    structuredContent: { sum: a + b },
  }));
  server.registerTool("fail", { description: "Fails." }, () => {
    throw new Error("as asked");
  });
  server.registerTool("slow_steps", { description: "Tells how far it is." }, async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    if (progressToken !== undefined) {
      for (const progress of [1, 2, 3])
        await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: 3 } });
    }
    return { content: [{ type: "text", text: "done" }] };
  });
  server.registerTool("write_log", { description: "Logs." }, async ({ mcpReq }) => {
    for (const data of TEXTS) await mcpReq.log("info", data);
    return { content: [{ type: "text", text: "logged" }] };
  });
  server.registerResource("Greeting", "foreign://greeting", { mimeType: "text/plain" }, ({ href }) => ({
    contents: [{ uri: href, mimeType: "text/plain", text: "Hello." }],
  }));
  const list = undefined;
  const complete = { id: (value: string) => wordsLike(value) };
  const template = new ResourceTemplate("foreign://item/{id}", { list, complete });
  server.registerResource("Item", template, { mimeType: "text/plain" }, ({ href }, { id }) => ({
    contents: [{ uri: href, mimeType: "text/plain", text: `Item ${String(id)}` }],
  }));
  const argsSchema = z.object({ word: completable(z.string(), (value) => wordsLike(value)) });
  server.registerPrompt("use_word", { description: "Uses a word.", argsSchema }, ({ word }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Use ${word}.` } }],
  }));
  return server;
}
