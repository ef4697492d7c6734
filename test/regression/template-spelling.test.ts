// A template matches whatever it expands to, however its own characters are spelled and its variables are called.
import { describe, expect, test } from "vitest";
import { parseUri } from "../../src/protocol/uri.ts";
import { parseUriTemplate } from "../../src/protocol/uri-template.ts";

/** As a read goes: the URI in normal form against the template as it was defined. */
function match(template: string, uri: string): Record<string, string> | undefined {
  const parsed = parseUriTemplate(template);
  if ("broken" in parsed) throw new Error(parsed.broken);
  const normal = parseUri(uri);
  if ("broken" in normal) throw new Error(normal.broken);
  return parsed.match(normal.uri);
}

describe("the template's own characters", () => {
  test.each([
    ["NOTE://a/{id}", "NOTE://a/1"],
    ["note://café/{id}", "note://café/1"],
    ["note://caf%c3%a9/{id}", "note://caf%C3%A9/1"],
    ["note://%7Euser/{id}", "note://~user/1"],
    ["https://Example.com/{id}", "https://Example.com/1"],
  ])("of %s match %s", (template, uri) => {
    expect(match(template, uri)).toEqual({ id: "1" });
  });

  test("give the prefix of every match", () => {
    const parsed = parseUriTemplate("NOTE://Café/{id}");
    expect(parsed).toHaveProperty("literalPrefix", "note://Caf%C3%A9/");
  });

  test.each(["x:a b/{id}", 'x:"{id}"', "x:<{id}>", "x:%zz{id}", "x:%4{id}", "x:%00{id}"])(
    "of %s can stand in no URI and are refused",
    (template) => {
      expect(parseUriTemplate(template)).toHaveProperty("broken");
    },
  );
});

describe("variables", () => {
  test.each(["constructor", "toString", "valueOf", "__proto__", "hasOwnProperty"])("may be called %s", (name) => {
    for (const [template, uri] of [
      [`x:{${name}}`, "x:1"],
      [`x:a{?${name}}`, `x:a?${name}=1`],
      [`x:{;a,${name}}`, `x:;${name}=1`],
    ] as const) {
      expect(Object.entries(match(template, uri) ?? {})).toEqual([[name, "1"]]);
    }
  });

  test.each(["x:{a..b}", "x:{.a.}", "x:{a.}", "x:{%zz}", "x:{a%4}", "x:{a:0}", "x:{a:07}"])(
    "are spelled as RFC 6570 says: %s is refused",
    (template) => {
      expect(parseUriTemplate(template)).toHaveProperty("broken");
    },
  );
});

describe("values", () => {
  test("of path parameters may be empty, as RFC 6570 writes them", () => {
    expect(match("x:r{;a}", "x:r;a")).toEqual({ a: "" });
    expect(match("x:r{;a,b}", "x:r;a;b=2")).toEqual({ a: "", b: "2" });
    expect(match("x:r{?a}", "x:r?a")).toBeUndefined();
  });

  test("of an exploded list are read from a query as from a path", () => {
    expect(match("x:r{?a*}", "x:r?a=1&a=2&a=3")).toEqual({ a: "1,2,3" });
    expect(match("x:r{;a*,b}", "x:r;a=1;a=2;b=3")).toEqual({ a: "1,2", b: "3" });
    expect(match("x:r{?a}", "x:r?a=1&a=2")).toBeUndefined();
  });
});
