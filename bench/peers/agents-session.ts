// `McpAgent` of `agents`: a Durable Object per session of a 2025 revision.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { McpAgent } from "agents/mcp";
import * as z from "zod";

export class AddAgent extends McpAgent {
  override server = new McpServer({ name: "bench", version: "1.0.0" });

  override async init(): Promise<void> {
    this.server.registerTool(
      "add",
      { description: "Adds two numbers.", inputSchema: { a: z.number(), b: z.number() } },
      ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }] }),
    );
  }
}

export default AddAgent.serve("/mcp/bench");
