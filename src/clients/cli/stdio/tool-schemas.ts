// Owns which arguments of which tool are mirrored into headers: learned from the lists that pass by, or asked for.
// Refuses tools whose annotations are wrong, as a client on HTTP must: they are taken out of the list.

import { resultOf, type ResponseMessage } from "../../../mcp-client/message.ts";
import { headers2026 } from "../../../mcp-client/outgoing.ts";
import { responseOf } from "../../../mcp-client/mcp-reply.ts";
import { send2026 } from "../../../mcp-client/stateless-2026.ts";
import { collectParamHeaders, type ParamHeader } from "../../../protocol/headers.ts";
import { isObject } from "../../../protocol/jsonrpc.ts";
import { mcpReason } from "../terminal/mcp-problem.ts";
import type { LocalRequest } from "./local-message.ts";
import type { Wiring } from "./wiring.ts";

const MAX_TOOLS = 10_000;
const MAX_PAGES = 100;

export class ToolSchemas {
  readonly #wiring: Wiring;
  readonly #known = new Map<string, readonly ParamHeader[]>();

  constructor(wiring: Wiring) {
    this.#wiring = wiring;
  }

  /** Which arguments the called tool wants in headers. */
  async mirroredBy(call: LocalRequest): Promise<readonly ParamHeader[]> {
    const name = String(call.params.name);
    if (!this.#known.has(name)) await this.ask(call);
    return this.#known.get(name) ?? [];
  }

  /** Learns from a page of tools/list, and returns it without the tools that must not be called. */
  learn(response: ResponseMessage): ResponseMessage {
    const result = resultOf(response);
    if (result === undefined || !Array.isArray(result.tools)) return response;
    const tools = result.tools.filter((tool) => this.#accept(tool));
    if (tools.length === result.tools.length) return response;
    const text = JSON.stringify({ ...response.value(), result: { ...result, tools } });
    return { ...response, text, result: JSON.stringify({ ...result, tools }) };
  }

  #accept(tool: unknown): boolean {
    if (!isObject(tool) || typeof tool.name !== "string") return true;
    const mirrored = isObject(tool.inputSchema) ? collectParamHeaders(tool.inputSchema) : [];
    if ("broken" in mirrored) {
      this.#wiring.log(`tool ${tool.name} is left out: ${mirrored.broken}`);
      return false;
    }
    if (this.#known.size < MAX_TOOLS || this.#known.has(tool.name)) this.#known.set(tool.name, mirrored);
    return true;
  }

  /** Reads all of tools/list in the name of the caller. Where that fails, the call is sent without such headers. */
  async ask(call: LocalRequest): Promise<void> {
    try {
      let cursor: unknown;
      for (let page = 0; page < MAX_PAGES; page += 1) {
        cursor = await this.#askPage(call, cursor);
        if (cursor === undefined) break;
      }
    } catch (error) {
      this.#wiring.log(`tools/list: ${mcpReason(error, this.#wiring.endpoint)}`);
      return;
    }
    // A name that is listed nowhere may still be callable; it is remembered, so that it is looked for only once.
    const name = String(call.params.name);
    if (!this.#known.has(name) && this.#known.size < MAX_TOOLS) this.#known.set(name, []);
  }

  async #askPage({ params, revision = "" }: LocalRequest, cursor: unknown): Promise<unknown> {
    const { endpoint, signal } = this.#wiring;
    const { progressToken: _, ..._meta } = isObject(params._meta) ? params._meta : {};
    const asked = { method: "tools/list", params: { _meta, ...(cursor !== undefined && { cursor }) } };
    const id = "tenantry-tools";
    const text = JSON.stringify({ jsonrpc: "2.0", id, ...asked });
    const headers = headers2026(revision, asked);
    const response = await responseOf(await send2026(endpoint, { ...asked, id, text, headers }, { signal }));
    return resultOf(this.learn(response))?.nextCursor;
  }
}
