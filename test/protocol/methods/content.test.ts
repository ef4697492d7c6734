import { describe, expect, test } from "vitest";
import { REVISION_FEATURES } from "../../../src/protocol/revisions.ts";
import { adaptBlock, adaptBlocks } from "../../../src/protocol/methods/content.ts";

const OLDEST = REVISION_FEATURES["2024-11-05"];

describe("content", () => {
  test("without a list of objects is left to the check of results", () => {
    for (const value of [undefined, null, "text", 5, {}]) expect(adaptBlocks(value, OLDEST)).toBe(value);
    expect(adaptBlocks([null, "text", 5], OLDEST)).toEqual([null, "text", 5]);
  });

  test("of an unknown type is passed on", () => {
    const block = { type: "hologram", data: "x" };
    expect(adaptBlock(block, OLDEST)).toBe(block);
  });

  test("is copied, never changed", () => {
    const audio = Object.freeze({ type: "audio", data: "QUJD", mimeType: "audio/wav" });
    const link = Object.freeze({ type: "resource_link", uri: "x:a", name: "a" });
    expect(adaptBlocks(Object.freeze([audio, link]), OLDEST)).toEqual([
      { type: "resource", resource: expect.objectContaining({ mimeType: "audio/wav", blob: "QUJD" }) },
      { type: "text", text: "a <x:a>" },
    ]);
  });
});

test("audio that falls back has a URI that names no resource of a server", () => {
  const { resource } = adaptBlock({ type: "audio", data: "QUJD", mimeType: "audio/wav" }, OLDEST) as {
    resource: { uri: string };
  };
  expect(resource.uri).toMatch(/^urn:/);
});

test.each([
  [{ name: "a" }, "a <x:a>"],
  [{ name: "a", title: "A" }, "A <x:a>"],
  [{ name: "a", description: "first" }, "a <x:a>: first"],
  [{ name: "a", title: "A", description: "first" }, "A <x:a>: first"],
  [{ name: "a", description: 5 }, "a <x:a>"],
])("a link with %j reads %j", (about, text) => {
  expect(adaptBlock({ type: "resource_link", uri: "x:a", ...about }, OLDEST)).toEqual({ type: "text", text });
});
