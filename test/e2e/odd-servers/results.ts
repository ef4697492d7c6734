// Results and errors that are not as the schema has them.

import type { Json } from "../../support/mcp-client.ts";
import { WORDS, type OddKind, type OddRow } from "./odd-row.ts";
import { at, everywhere, onCall, resultIn } from "./odd-request.ts";

const TEXT = { type: "text", text: "went" };

/** The results of calls. */
const CALLED: readonly (readonly [id: string, what: string, result: unknown])[] = [
  ["content-missing", "content is missing", {}],
  ["content-null", "content: null", { content: null }],
  ["content-text", "content is a text", { content: "went" }],
  ["content-object", "content is one block", { content: TEXT }],
  ["content-unknown", "a block of an unknown type", { content: [TEXT, { type: "chart", data: [1, 2] }] }],
  ["content-untyped", "a block without a type", { content: [TEXT, { text: "more" }] }],
  ["content-null-block", "null beside a block", { content: [TEXT, null] }],
  ["content-number", "text is a number", { content: [{ type: "text", text: 5 }] }],
  ["content-textless", "a text block without text", { content: [TEXT, { type: "text" }] }],
  [
    "image-bad",
    "an image that is no base64",
    { content: [TEXT, { type: "image", data: "%%", mimeType: "image/png" }] },
  ],
  ["link-bare", "a link without a name", { content: [TEXT, { type: "resource_link", uri: "odd://x" }] }],
  ["embedded-bare", "a resource without a URI", { content: [TEXT, { type: "resource", resource: { text: "x" } }] }],
  ["priority-high", 'priority: "high"', { content: [{ ...TEXT, annotations: { priority: "high" } }] }],
  ["annotations-null", "annotations: null", { content: [{ ...TEXT, annotations: null }] }],
  ["block-meta-null", "_meta: null in a block", { content: [{ ...TEXT, _meta: null }] }],
  ["is-error-text", 'isError: "false"', { content: [TEXT], isError: "false" }],
  ["is-error-null", "isError: null", { content: [TEXT], isError: null }],
  ["structured-null", "structuredContent: null", { content: [TEXT], structuredContent: null }],
  ["structured-list", "structuredContent: []", { content: [TEXT], structuredContent: [1, 2] }],
  ["structured-text", "structuredContent is a text", { content: [TEXT], structuredContent: "went" }],
  ["meta-null", "_meta: null", { content: [TEXT], _meta: null }],
  ["meta-text", "_meta is a text", { content: [TEXT], _meta: "x" }],
  ["more-members", "members that nobody knows", { content: [TEXT], cost: 5, usage: { tokens: 3 } }],
  ["tool-result", "toolResult, as in 2024-10-07", { toolResult: "went" }],
  ["result-type", 'resultType: "complete" in 2025', { content: [TEXT], resultType: "complete" }],
  ["result-null-call", "result: null", null],
  ["result-list-call", "the result is a list", [TEXT]],
  ["result-text", "the result is a text", "went"],
  ["result-true", "the result is true", true],
];

/** Members of the message itself. */
const MESSAGES: readonly (readonly [id: string, what: string, change: Json])[] = [
  ["error-null", "error: null beside a result", { error: null }],
  ["jsonrpc-missing", "jsonrpc is missing", { jsonrpc: undefined }],
  ["jsonrpc-one", 'jsonrpc: "1.0"', { jsonrpc: "1.0" }],
  ["jsonrpc-number", "jsonrpc: 2.0", { jsonrpc: 2 }],
  ["message-method", "a method beside a result", { method: "tools/call" }],
  ["message-method-null", "method: null beside a result", { method: null }],
  ["message-params", "params: null beside a result", { params: null }],
  ["message-more", "members that nobody knows, in the message", { timestamp: 1, server: "odd" }],
  ["message-meta", "_meta beside the result", { _meta: {} }],
];

/** Errors of calls, with the words where a client could find them. */
const ERRORS: readonly (readonly [id: string, what: string, error: unknown, more?: Json])[] = [
  ["error-result-null", "result: null beside an error", { code: -32000, message: WORDS }, { result: null }],
  ["error-result", "a result beside an error", { code: -32000, message: WORDS }, { result: { content: [TEXT] } }],
  ["error-code-text", "the code is a text", { code: "-32000", message: WORDS }],
  ["error-code-name", "the code is a name", { code: "INTERNAL", message: WORDS }],
  ["error-code-null", "the code is null", { code: null, message: WORDS }],
  ["error-code-missing", "no code", { message: WORDS }],
  ["error-code-half", "the code is 1.5", { code: 1.5, message: WORDS }],
  ["error-code-http", "the code is 500", { code: 500, message: WORDS }],
  ["error-code-zero", "the code is 0", { code: 0, message: WORDS }],
  ["error-message-missing", "no message", { code: -32000 }],
  ["error-message-null", "message: null", { code: -32000, message: null, data: WORDS }],
  ["error-message-object", "the message is an object", { code: -32000, message: { text: WORDS } }],
  ["error-data-null", "data: null", { code: -32000, message: WORDS, data: null }],
  ["error-more", "members that nobody knows, in an error", { code: -32000, message: WORDS, stack: "at x" }],
  ["error-text", "the error is a text", WORDS],
  ["error-empty", "the error is {}", {}],
  ["error-list", "the error is a list", [WORDS]],
];

const JSON_RPC = "jsonrpc-";

const rows: readonly OddRow[] = [
  ...CALLED.map(([id, what, result]) => ({ id, what, odd: onCall((asked) => asked.result(result)) })),
  {
    id: "is-error-bare",
    what: "isError without content",
    odd: onCall((asked) => asked.result({ isError: true })),
  },
  {
    id: "twice-member",
    what: "every answer has its id twice",
    // A second reader might take the other one.
    worse: "the message has a field twice",
    odd: everywhere((asked, usual) => {
      const id = JSON.stringify(asked.id);
      asked.send(JSON.stringify(usual).replace("{", `{"id":${id},`));
    }),
  },
  ...MESSAGES.map(([id, what, change]) => ({
    id,
    what: id.startsWith(JSON_RPC) ? `${what}, everywhere` : what,
    odd: at(id.startsWith(JSON_RPC) ? ["initialize", "tools/list", "tools/call"] : ["tools/call"], (asked) =>
      asked.json({ ...asked.usual, ...change }),
    ),
  })),
  ...ERRORS.map(([id, what, error, more = {}]) => ({
    id,
    what,
    words: WORDS,
    odd: onCall((asked) => asked.json({ jsonrpc: "2.0", id: asked.id, error, ...more })),
  })),
  {
    id: "neither",
    what: "neither a result nor an error",
    odd: onCall((asked) => asked.json({ jsonrpc: "2.0", id: asked.id })),
  },
  ...(
    [
      ["messages-missing", "prompts/get without messages", {}],
      ["messages-one", "prompts/get with one message", { messages: { role: "user", content: TEXT } }],
      ["message-content-text", "a message whose content is a text", { messages: [{ role: "user", content: "went" }] }],
      ["message-content-list", "a message whose content is a list", { messages: [{ role: "user", content: [TEXT] }] }],
      ["message-role", 'a message of role "system"', { messages: [{ role: "system", content: TEXT }] }],
      [
        "description-null",
        "prompts/get with description: null",
        {
          description: null,
          messages: [{ role: "user", content: TEXT }],
        },
      ],
    ] as const
  ).map(([id, what, result]) => ({
    id,
    what,
    also: ["get"] as const,
    odd: at(["prompts/get"], (asked) => asked.result(result)),
  })),
  ...(
    [
      ["contents-missing", "resources/read without contents", () => ({})],
      ["contents-one", "resources/read with one object", (own: Json) => ({ contents: own })],
      ["contents-bare", "contents without a URI", () => ({ contents: [{ text: "went" }] })],
      [
        "contents-type-null",
        "contents with mimeType: null",
        (own: Json) => ({ contents: [{ ...own, mimeType: null }] }),
      ],
      ["contents-both", "contents with text and blob: null", (own: Json) => ({ contents: [{ ...own, blob: null }] })],
      ["contents-empty", "contents with neither text nor blob", (own: Json) => ({ contents: [{ uri: own["uri"] }] })],
    ] as const
  ).map(([id, what, resultOf]) => ({
    id,
    what,
    also: ["read"] as const,
    odd: at(["resources/read"], (asked) => asked.result(resultOf((resultIn(asked)["contents"] as Json[])[0] ?? {}))),
  })),
];

export const RESULTS: OddKind = { kind: "results", rows };
