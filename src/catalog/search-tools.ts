// The built-in read-only tools `search` and `fetch` over a tenant's stored resources, for clients that offer only tools
// to their model. Shapes: https://platform.openai.com/docs/mcp

import { parseUri } from "../protocol/uri.ts";
import { defineTool, type Tool } from "../handlers/tool.ts";

const READ_ONLY = { readOnlyHint: true, idempotentHint: true, openWorldHint: false } as const;
const LIMIT = 10;

const searchTool = defineTool({
  name: "search",
  title: "Search",
  description: "Searches everything stored here. Returns ids; call fetch with one of them to read the whole text.",
  annotations: READ_ONLY,
  input: {
    type: "object",
    properties: { query: { type: "string", description: "Words to look for." } },
    required: ["query"],
    additionalProperties: false,
  },
  output: {
    type: "object",
    properties: {
      results: {
        type: "array",
        items: {
          type: "object",
          properties: { id: { type: "string" }, title: { type: "string" }, url: { type: "string" } },
          required: ["id", "title", "url"],
        },
      },
    },
    required: ["results"],
  },
  handler: async ({ query }, ctx) => {
    const found = await ctx.resources.search(query, { limit: LIMIT });
    const results = found.map(({ uri, title, name }) => ({ id: uri, title: title ?? name, url: uri }));
    return { structuredContent: { results } };
  },
});

const fetchTool = defineTool({
  name: "fetch",
  title: "Fetch",
  description: "Reads one stored document by the id that search returned.",
  annotations: READ_ONLY,
  input: {
    type: "object",
    properties: { id: { type: "string", description: "An id from search." } },
    required: ["id"],
    additionalProperties: false,
  },
  output: {
    type: "object",
    properties: {
      id: { type: "string" },
      title: { type: "string" },
      text: { type: "string" },
      url: { type: "string" },
      metadata: { type: "object" },
    },
    required: ["id", "title", "text", "url"],
  },
  handler: async ({ id }, ctx) => {
    const found = "uri" in parseUri(id) ? await ctx.resources.read(id) : undefined;
    if (!found) return { isError: true, content: `Nothing is stored under ${id}. Use search to find ids.` };
    const { uri, title, name, mimeType, size, lastModified } = found;
    const text = found.text ?? `(${mimeType}, ${size} bytes: read it as the resource ${uri})`;
    return {
      structuredContent: { id: uri, title: title ?? name, text, url: uri, metadata: { mimeType, lastModified } },
    };
  },
});

/** Listed and callable only if the tenant or the profile turns search on. */
export const searchTools: readonly Tool[] = [searchTool, fetchTool].map((tool) => ({ ...tool, only: "search" }));
