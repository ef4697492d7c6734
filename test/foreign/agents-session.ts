// `McpAgent` of Cloudflare's `agents`: a Durable Object for each session of a revision before 2026.
import { completable } from "@modelcontextprotocol/sdk/server/completable.js";
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { McpAgent } from "agents/mcp";
import * as z from "zod";
import { TEXTS, wordsLike } from "./fixed-texts.ts";

export class Everything extends McpAgent {
  override server = new McpServer({ name: "agents", version: "1.0.0" }, { capabilities: { logging: {} } });

  override async init(): Promise<void> {
    const { server } = this;
    const say = { description: "Says it.", inputSchema: { it: z.string() } };
    server.registerTool("say", say, ({ it }) => ({ content: [{ type: "text", text: it }] }));
    const numbers = { a: z.number(), b: z.number() };
    server.registerTool("add", { inputSchema: numbers, outputSchema: { sum: z.number() } }, ({ a, b }) => ({
      content: [{ type: "text", text: String(a + b) }],
      structuredContent: { sum: a + b },
    }));
    server.registerTool("fail", { description: "Fails." }, () => {
      throw new Error("as asked");
    });
    server.registerTool("slow_steps", { description: "Tells how far it is." }, async ({ _meta, sendNotification }) => {
      const progressToken = _meta?.progressToken ?? 0;
      for (const progress of [1, 2, 3])
        await sendNotification({ method: "notifications/progress", params: { progressToken, progress, total: 3 } });
      return { content: [{ type: "text", text: "done" }] };
    });
    server.registerTool("write_log", { description: "Logs." }, async ({ sendNotification }) => {
      for (const data of TEXTS)
        await sendNotification({ method: "notifications/message", params: { level: "info", data } });
      return { content: [{ type: "text", text: "logged" }] };
    });
    server.registerResource("Greeting", "foreign://greeting", { mimeType: "text/plain" }, ({ href }) => ({
      contents: [{ uri: href, mimeType: "text/plain", text: "Hello." }],
    }));
    const complete = { id: (value: string) => wordsLike(value) };
    const template = new ResourceTemplate("foreign://item/{id}", { list: undefined, complete });
    server.registerResource("Item", template, { mimeType: "text/plain" }, ({ href }, { id }) => ({
      contents: [{ uri: href, mimeType: "text/plain", text: `Item ${String(id)}` }],
    }));
    const argsSchema = { word: completable(z.string(), (value) => wordsLike(value)) };
    server.registerPrompt("use_word", { description: "Uses a word.", argsSchema }, ({ word }) => ({
      messages: [{ role: "user", content: { type: "text", text: `Use ${word}.` } }],
    }));
  }
}

export default Everything.serve("/mcp");
