// Owns which arguments of which tool are mirrored into headers: learned from the lists that pass by, or asked for.
// Refuses tools whose annotations are wrong, as a client on HTTP must: they are taken out of the list.

import { isObject, repeatedHeaders, sendMcp, type Json, type Received } from "../mcp-http.ts";
import { mirroredHeaders, mirroredParams, type MirroredParam } from "../mirrored-headers.ts";
import { isResponse, type Sent } from "./wire.ts";
import { reasonOf, type Wiring } from "./wiring.ts";

const MAX_TOOLS = 10_000;
const MAX_PAGES = 100;

export class ToolSchemas {
  readonly #wiring: Wiring;
  readonly #known = new Map<string, readonly MirroredParam[]>();

  constructor(wiring: Wiring) {
    this.#wiring = wiring;
  }

  /** `Mcp-Param-*` of a call. */
  async headersFor(call: Sent): Promise<Record<string, string>> {
    const name = String(call.params.name);
    if (!this.#known.has(name)) await this.ask(call);
    return mirroredHeaders(this.#known.get(name) ?? [], call.params.arguments);
  }

  /** A page of tools/list, without the tools that must not be called. */
  learn(received: Received): Received {
    const { result } = received.message;
    if (!isObject(result) || !Array.isArray(result.tools)) return received;
    const tools = result.tools.filter((tool) => this.#accept(tool));
    if (tools.length === result.tools.length) return received;
    const message = { ...received.message, result: { ...result, tools } };
    return { message, text: JSON.stringify(message) };
  }

  #accept(tool: unknown): boolean {
    if (!isObject(tool) || typeof tool.name !== "string") return true;
    const params = mirroredParams(tool.inputSchema);
    if ("broken" in params) {
      this.#wiring.log(`tool ${tool.name} is left out: ${params.broken}`);
      return false;
    }
    if (this.#known.size < MAX_TOOLS || this.#known.has(tool.name)) this.#known.set(tool.name, params);
    return true;
  }

  /** All of tools/list, as the client of this call would see it. What cannot be asked is not mirrored. */
  async ask(call: Sent): Promise<void> {
    try {
      let cursor: unknown;
      for (let page = 0; page < MAX_PAGES; page += 1) {
        cursor = await this.#askPage(call, cursor);
        if (cursor === undefined) break;
      }
    } catch (error) {
      this.#wiring.log(`tools/list: ${reasonOf(error)}`);
      return;
    }
    // Asked once: a name that is listed nowhere may still be callable, without headers.
    const name = String(call.params.name);
    if (!this.#known.has(name) && this.#known.size < MAX_TOOLS) this.#known.set(name, []);
  }

  async #askPage({ params, revision = "" }: Sent, cursor: unknown): Promise<unknown> {
    const { place, signal } = this.#wiring;
    const { progressToken: _, ..._meta } = params._meta as Json;
    const list = { _meta, ...(cursor !== undefined && { cursor }) };
    const method = "tools/list";
    const body = JSON.stringify({ jsonrpc: "2.0", id: "tenantry-tools", method, params: list });
    const headers = repeatedHeaders(revision, method, list);
    const answer = await sendMcp(place, { method: "POST", headers, body, signal });
    for await (const received of answer.messages) {
      if (!isResponse(received.message)) continue;
      const { result } = this.learn(received).message;
      return isObject(result) ? result.nextCursor : undefined;
    }
    throw new Error(answer.why);
  }
}
