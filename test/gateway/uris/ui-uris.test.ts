import { describe, expect, it } from "vitest";
import { toListedUri, toOwnUri, renameResultUris, renameToolUi } from "../../../src/gateway/uris/ui-uris.ts";

const listed = (uri: string) => toListedUri("up", uri);
const renamed = (json: string) => renameResultUris(json, listed);

describe("the name of a user interface", () => {
  it.each([
    ["ui://weather/panel.html", "ui://up/weather/panel.html"],
    ["UI://weather", "ui://up/weather"],
    ["ui://up/panel", "ui://up/up/panel"],
    ["ui://weather/{city}", "ui://up/weather/{city}"],
  ])("%s has the upstream in its authority, %s, and leads back", (own, here) => {
    expect(listed(own)).toBe(here);
    expect(toOwnUri("up", here)).toBe(own.replace("UI", "ui"));
  });

  it.each(["file:///ui://x", "https://up/ui://", "uix://a", "ui:a"])("is not %s", (uri) => {
    expect([listed(uri), toOwnUri("up", uri)]).toEqual([uri, uri]);
  });

  it("leads nowhere for another upstream", () => {
    expect(toOwnUri("up", "ui://upper/panel")).toBe("ui://upper/panel");
    expect(toOwnUri("up", "ui://other/up/panel")).toBe("ui://other/up/panel");
  });
});

describe("a result in which user interfaces stand", () => {
  it.each([
    ["its _meta", '{"_meta":{"ui":{"resourceUri":"ui://a"}}}', '{"_meta":{"ui":{"resourceUri":"ui://up/a"}}}'],
    ["the older form", '{"_meta":{"ui/resourceUri":"ui://a"}}', '{"_meta":{"ui/resourceUri":"ui://up/a"}}'],
    [
      "a link",
      '{"content":[{"type":"resource_link","uri":"ui://a"}]}',
      '{"content":[{"type":"resource_link","uri":"ui://up/a"}]}',
    ],
    [
      "what is embedded",
      '{"content":[1,{"resource":{"uri":"ui://a"}}]}',
      '{"content":[1,{"resource":{"uri":"ui://up/a"}}]}',
    ],
    ["a prompt", '{"messages":[{"content":{"uri":"ui://a"}}]}', '{"messages":[{"content":{"uri":"ui://up/a"}}]}'],
    [
      "what was read",
      '{"contents":[{"uri":"ui://a","text":"ui://a"}]}',
      '{"contents":[{"uri":"ui://up/a","text":"ui://a"}]}',
    ],
    ["escapes", '{"contents":[{"uri":"\\u0075i:\\/\\/a"}]}', '{"contents":[{"uri":"ui://up/a"}]}'],
  ])("has them renamed in %s", (_where, before, after) => {
    expect(renamed(before)).toBe(after);
  });

  it("keeps every other character", () => {
    const before =
      ' { "x" : 1.50e2,"content" : [ {"uri" :  "ui://a" , "n":12345678901234567890} ],"content2":["ui://a"],\n"x":"\\u00e9" } ';
    expect(renamed(before)).toBe(before.replace('"ui://a" ,', '"ui://up/a" ,'));
    expect(renameResultUris(renamed(before), (uri) => toOwnUri("up", uri))).toBe(before);
  });

  it.each([
    '{"structuredContent":{"uri":"ui://a","content":[{"uri":"ui://a"}]}}',
    '{"content":{"uri":"ui://a"},"contents":"ui://a","_meta":["ui://a"]}',
    '{"content":[{"text":"ui://a"},["ui://a"],"ui://a",{"resource":["ui://a"]}]}',
    '["ui://a"]',
    '"ui://a"',
    "",
  ])("is not renamed where it names nothing: %s", (json) => {
    expect(renamed(json)).toBe(json);
  });

  it("is renamed in linear time", () => {
    const many = JSON.stringify({ content: Array.from({ length: 50_000 }, () => ({ uri: "ui://a" })) });
    const began = performance.now();
    expect(renamed(many)).toHaveLength(many.length + 50_000 * 3);
    expect(performance.now() - began).toBeLessThan(5000);
  });
});

describe("the definition of a tool", () => {
  it("names its user interface as it is listed here, and keeps all else of its _meta", () => {
    const wire = {
      name: "a",
      _meta: { ui: { resourceUri: "ui://a", visibility: ["app"] }, "ui/resourceUri": "ui://a", x: 1 },
    };
    const here = { ui: { resourceUri: "ui://up/a", visibility: ["app"] }, "ui/resourceUri": "ui://up/a", x: 1 };
    expect(renameToolUi(wire, listed)).toEqual({ name: "a", _meta: here });
    const other = { name: "a", _meta: { ui: "ui://a", "ui/resourceUri": 5 } };
    expect(renameToolUi(other, listed)).toEqual(other);
  });
});
