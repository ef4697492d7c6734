// Definitions and content that era 2025 cannot express as they are: the nearest thing it can, with nothing lost.
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/protocol/jsonrpc.ts";
import {
  answerOf,
  callOf,
  FakeRequestHandlers,
  promptOf,
  REVISIONS,
  toolOf,
} from "../support/fake-request-handlers.ts";
import { expectOfficial } from "../support/official-schema.ts";

describe.each(REVISIONS)("in %s", (revision) => {
  test("a property whose schema is true or false is listed as the revision allows", async () => {
    const schema = { type: "object", properties: { any: true, none: false, text: { type: "string" } } };
    const only = { type: "object", properties: { any: true } };
    const handlers = new FakeRequestHandlers({
      tools: [toolOf("t", { inputSchema: schema, outputSchema: schema }), toolOf("only", { inputSchema: only })],
    });
    const { result, message } = await answerOf(callOf(revision, "tools/list"), handlers);
    expectOfficial(revision, message, { direction: "server", method: "tools/list" });
    const [tool] = result.tools as [{ inputSchema: JsonObject }];
    const { any, none } = tool.inputSchema.properties as JsonObject;
    expect([any, none]).toEqual(revision === "2026-07-28" ? [true, false] : [{}, { not: {} }]);
    expect(schema.properties.any).toBe(true);
  });

  test("two audio messages of a prompt are two resources where audio is unknown", async () => {
    const audio = (data: string) => ({ role: "user", content: { type: "audio", data, mimeType: "audio/wav" } });
    const handlers = new FakeRequestHandlers({
      prompts: [promptOf("p")],
      onPrompt: () => ({ kind: "complete", result: { messages: [audio("QUJD"), audio("REVG")] } }),
    });
    const { result } = await answerOf(callOf(revision, "prompts/get", { name: "p" }), handlers);
    const contents = (result.messages as { content: JsonObject }[]).map(({ content }) => content);
    expect(new Set(contents.map((content) => JSON.stringify(content.resource ?? content.data))).size).toBe(2);
    const uris = contents.flatMap(({ resource }) => (resource ? [(resource as JsonObject).uri] : []));
    expect(new Set(uris).size).toBe(uris.length);
  });

  test("annotations stay with a block whose type falls back", async () => {
    const annotations = { audience: ["user"], priority: 0.5 };
    const content = [
      { type: "audio", data: "QUJD", mimeType: "audio/wav", annotations },
      { type: "resource_link", uri: "x:a", name: "a", annotations },
    ];
    const handlers = new FakeRequestHandlers({
      tools: [toolOf("t")],
      onTool: () => ({ kind: "complete", result: { content } }),
    });
    const { result, message } = await answerOf(callOf(revision, "tools/call", { name: "t" }), handlers);
    expectOfficial(revision, message, { direction: "server", method: "tools/call" });
    expect((result.content as JsonObject[]).map((block) => block.annotations)).toEqual([annotations, annotations]);
  });
});
