import { describe, expect, it } from "vitest";
import { promptResult, toolResult } from "../../src/handlers/results.ts";
import { resourceContents } from "../../src/handlers/resource-contents.ts";
import { compileSchema } from "../../src/handlers/schema.ts";
import type { PromptReturn } from "../../src/handlers/results.ts";

const text = (value: string) => ({ type: "text", text: value }) as const;

describe("toolResult", () => {
  const image = { type: "image", data: "AA==", mimeType: "image/png" } as const;
  const whole: [string, unknown, unknown][] = [
    ["a text", "hi", { content: [text("hi")] }],
    ["an empty text", "", { content: [text("")] }],
    ["one block", image, { content: [image] }],
    ["blocks", [text("a"), image], { content: [text("a"), image] }],
    ["no blocks", [], { content: [] }],
    ["a result with a text", { content: "hi" }, { content: [text("hi")] }],
    ["a result with one block", { content: image }, { content: [image] }],
    ["an empty result", { content: [] }, { content: [] }],
    ["an error", { content: "no", isError: true }, { content: [text("no")], isError: true }],
    [
      "structured content, mirrored as text",
      { structuredContent: { a: [1] } },
      { content: [text('{"a":[1]}')], structuredContent: { a: [1] } },
    ],
    ["structured null", { structuredContent: null }, { content: [text("null")], structuredContent: null }],
    [
      "structured content beside its own text",
      { content: "one", structuredContent: 1 },
      { content: [text("one")], structuredContent: 1 },
    ],
    ["an object", { hello: 1 }, { content: [text('{"hello":1}')], structuredContent: { hello: 1 } }],
    ["an empty object", {}, { content: [text("{}")], structuredContent: {} }],
    ["_meta", { content: "x", _meta: { "a/b": 1 } }, { content: [text("x")], _meta: { "a/b": 1 } }],
    [
      "bytes, in base64",
      [
        { type: "image", data: Uint8Array.of(0), mimeType: "image/png" },
        text("between"),
        { type: "audio", data: Uint8Array.of(0), mimeType: "audio/wav" },
        { type: "resource", resource: { uri: "note:a", blob: Uint8Array.of(0) } },
      ],
      {
        content: [
          image,
          text("between"),
          { type: "audio", data: "AA==", mimeType: "audio/wav" },
          { type: "resource", resource: { uri: "note:a", blob: "AA==" } },
        ],
      },
    ],
    [
      "every other block",
      [
        { type: "audio", data: "AA==", mimeType: "audio/wav" },
        { type: "resource_link", uri: "note:a", name: "a" },
        { type: "resource", resource: { uri: "note:a", text: "" } },
        { type: "resource", resource: { uri: "note:a", blob: "" } },
      ],
      { content: expect.objectContaining({ length: 4 }) },
    ],
  ];
  it.each(whole)("sends %s", async (_what, returned, result) => {
    expect(await toolResult(returned, undefined)).toEqual({ result });
  });

  it("drops members that are no part of a result", async () => {
    const returned = { content: "x", secret: "internal" };
    expect(await toolResult(returned, undefined)).toEqual({ result: { content: [text("x")] } });
  });

  const broken: [string, unknown, string][] = [
    ["nothing", undefined, "must return a text, content or an object"],
    ["a class that writes itself as a text", new Date(0), "must return a text, content or an object"],
    ["a result that only says that it failed", { isError: true }, "must return a text, content or an object"],
    ["a number", 7, "handler must return a text"],
    ["null", null, "handler must return a text"],
    ["an unknown block", { type: "video" }, "unknown type of content block: video"],
    ["a block named like an inherited member", { type: "constructor" }, "constructor"],
    ["a text block without text", [{ type: "text" }], "a text block needs text"],
    ["an image without its type", [{ type: "image", data: "AA==" }], "an? image block needs mimeType"],
    ["a link without a name", [{ type: "resource_link", uri: "note:a" }], "needs name"],
    [
      "an embedded resource without a body",
      [{ type: "resource", resource: { uri: "note:a" } }],
      "resource.text or resource.blob",
    ],
    ["a list with a hole", [text("a"), null], "a content block must be an object with a type"],
    ["rows of a database", [{ id: 1 }], "an object with a type: write . items"],
    ["content that is no content", { content: 7 }, "a content block must be an object with a type"],
  ];
  it.each(broken)("refuses %s", async (_what, returned, why) => {
    expect(await toolResult(returned, undefined)).toEqual({ broken: expect.stringMatching(why) });
  });

  describe("with an output schema", () => {
    const output = compileSchema({ type: "object", properties: { n: { type: "number" } }, required: ["n"] });

    it("sends structured content that fits", async () => {
      const result = { content: [text('{"n":1}')], structuredContent: { n: 1 } };
      expect(await toolResult({ structuredContent: { n: 1 } }, output)).toEqual({ result });
    });

    it("refuses what breaks it and says where", async () => {
      expect(await toolResult({ structuredContent: { n: "1" } }, output)).toEqual({
        broken: "structuredContent: n: expected number, received string",
      });
      expect(await toolResult("text only", output)).toEqual({
        broken: "handler must return structuredContent, because output is set",
      });
    });

    it("takes an object as the structured content, whatever members of a block or of content it has", async () => {
      expect(await toolResult({ n: 1 }, output)).toEqual({
        result: { content: [text('{"n":1}')], structuredContent: { n: 1 } },
      });
      for (const note of [
        { n: 1, content: "of a note" },
        { n: 1, type: "car" },
        { n: 1, isError: false },
      ]) {
        expect(await toolResult(note, output)).toMatchObject({ result: { structuredContent: note } });
      }
      expect(await toolResult({ m: 1 }, output)).toEqual({ broken: expect.stringContaining("structuredContent: ") });
    });

    it("takes only a result where the schema has a member by which one is known", async () => {
      const schema = compileSchema({ type: "object", properties: { isError: { type: "boolean" } } });
      expect(await toolResult({ isError: true, content: "no" }, schema)).toEqual({
        result: { content: [text("no")], isError: true },
      });
      expect(await toolResult({ isError: false }, schema)).toHaveProperty("broken");
      expect(await toolResult({ structuredContent: { isError: true } }, schema)).toHaveProperty("result");
    });

    it("takes a list where the schema says one", async () => {
      const list = compileSchema({ type: "array", items: { type: "number" } });
      expect(await toolResult([1, 2], list)).toMatchObject({ result: { structuredContent: [1, 2] } });
    });

    it("asks nothing of an error", async () => {
      expect(await toolResult({ content: "no", isError: true }, output)).toHaveProperty("result");
    });
  });
});

describe("promptResult", () => {
  const message = { role: "user", content: text("hi") } as const;

  it.each<[string, PromptReturn]>([
    ["a text", "hi"],
    ["messages", [message]],
    ["a whole result", { messages: [message] }],
  ])("sends %s", (_what, returned) => {
    expect(promptResult(returned, "about")).toEqual({ result: { description: "about", messages: [message] } });
  });

  it("prefers the description that the handler gives", () => {
    const returned = { description: "mine", messages: [] };
    expect(promptResult(returned, "listed")).toEqual({ result: { description: "mine", messages: [] } });
    expect(promptResult([], undefined)).toEqual({ result: { messages: [] } });
  });

  it.each<[string, unknown, string]>([
    ["nothing", undefined, "handler must return messages"],
    ["a result without messages", { description: "x" }, "handler must return messages"],
    ["a message by the system", [{ ...message, role: "system" }], "role user or assistant"],
    ["a message of plain text", [{ role: "user", content: "hi" }], "a content block must be an object with a type"],
    ["a hole", [null], "role user or assistant"],
  ])("refuses %s", (_what, returned, why) => {
    expect(promptResult(returned as PromptReturn, "about")).toEqual({ broken: expect.stringContaining(why) });
  });
});

describe("resourceContents", () => {
  it("names the resource as the client asked for it", () => {
    expect(resourceContents("NOTE:a", "text/plain", "hi")).toEqual({
      contents: [{ uri: "NOTE:a", mimeType: "text/plain", text: "hi" }],
    });
  });

  it("writes bytes as Base64 and leaves an unknown type out", () => {
    expect(resourceContents("note:a", undefined, Uint8Array.of(255, 0))).toEqual({
      contents: [{ uri: "note:a", blob: "/wA=" }],
    });
  });
});
