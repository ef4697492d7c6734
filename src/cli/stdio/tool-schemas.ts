// The tool arguments that are mirrored into headers, learned from lists that pass through or fetched on demand. Tools
// with invalid annotations are removed from lists, as required of HTTP clients.

import { resultOf, type ResponseMessage } from "../../mcp-client/message.ts";
import { createHeaders2026 } from "../../mcp-client/prepared-request.ts";
import { readResponse } from "../../mcp-client/mcp-reply.ts";
import { send2026 } from "../../mcp-client/stateless-2026.ts";
import { collectParamHeaders, type ParamHeader } from "../../protocol/headers.ts";
import { isObject } from "../../protocol/jsonrpc.ts";
import { mcpErrorMessage } from "../terminal/mcp-error.ts";
import type { LocalRequest } from "./local-message.ts";
import type { BridgeOptions } from "./bridge-options.ts";

const MAX_TOOLS = 10_000;
const MAX_PAGES = 100;

export class ToolSchemas {
  readonly #options: BridgeOptions;
  readonly #headersByTool = new Map<string, readonly ParamHeader[]>();

  constructor(options: BridgeOptions) {
    this.#options = options;
  }

  /** The called tool's arguments that belong in headers. */
  async paramHeadersFor(call: LocalRequest): Promise<readonly ParamHeader[]> {
    const name = String(call.params.name);
    if (!this.#headersByTool.has(name)) await this.load(call);
    return this.#headersByTool.get(name) ?? [];
  }

  /** Learns from a page of tools/list, and returns it without tools that must not be called. */
  recordPage(response: ResponseMessage): ResponseMessage {
    const result = resultOf(response);
    if (result === undefined || !Array.isArray(result.tools)) return response;
    const tools = result.tools.filter((tool) => this.#accept(tool));
    if (tools.length === result.tools.length) return response;
    const text = JSON.stringify({ ...response.value(), result: { ...result, tools } });
    return { ...response, text, result: JSON.stringify({ ...result, tools }) };
  }

  #accept(tool: unknown): boolean {
    if (!isObject(tool) || typeof tool.name !== "string") return true;
    const paramHeaders = isObject(tool.inputSchema) ? collectParamHeaders(tool.inputSchema) : [];
    if ("broken" in paramHeaders) {
      this.#options.log(`tool ${tool.name} is left out: ${paramHeaders.broken}`);
      return false;
    }
    if (this.#headersByTool.size < MAX_TOOLS || this.#headersByTool.has(tool.name))
      this.#headersByTool.set(tool.name, paramHeaders);
    return true;
  }

  /** Fetches all of tools/list with the caller's parameters. If that fails, the call is sent without such headers. */
  async load(call: LocalRequest): Promise<void> {
    try {
      let cursor: unknown;
      for (let page = 0; page < MAX_PAGES; page += 1) {
        cursor = await this.#loadPage(call, cursor);
        if (cursor === undefined) break;
      }
    } catch (error) {
      this.#options.log(`tools/list: ${mcpErrorMessage(error, this.#options.endpoint)}`);
      return;
    }
    // An unlisted name may still be callable. Remember the name, so that it is looked up only once.
    const name = String(call.params.name);
    if (!this.#headersByTool.has(name) && this.#headersByTool.size < MAX_TOOLS) this.#headersByTool.set(name, []);
  }

  async #loadPage({ params, revision = "" }: LocalRequest, cursor: unknown): Promise<unknown> {
    const { endpoint, signal } = this.#options;
    const { progressToken: _, ..._meta } = isObject(params._meta) ? params._meta : {};
    const request = { method: "tools/list", params: { _meta, ...(cursor !== undefined && { cursor }) } };
    const id = "tenantry-tools";
    const text = JSON.stringify({ jsonrpc: "2.0", id, ...request });
    const headers = createHeaders2026(revision, request);
    const response = await readResponse(await send2026(endpoint, { ...request, id, text, headers }, { signal }));
    return resultOf(this.recordPage(response))?.nextCursor;
  }
}
