// RFC 6570 backwards: the variables for which a template gives a URI.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseUriTemplate, type UriTemplate } from "../../src/protocol/uri-template.ts";
import { SEED } from "../support/seed.ts";

function templateOf(text: string): UriTemplate {
  const parsed = parseUriTemplate(text);
  if ("broken" in parsed) throw new Error(`${text}: ${parsed.broken}`);
  return parsed;
}

const match = (template: string, uri: string) => templateOf(template).match(uri);

describe("a template", () => {
  test("names its variables in order and what every match starts with", () => {
    const template = templateOf("test://template/{id}/data{?lang,page}");
    expect(template.variables).toEqual(["id", "lang", "page"]);
    expect(template.literalPrefix).toBe("test://template/");
    expect(templateOf("{+all}").literalPrefix).toBe("");
    expect(templateOf("x:fixed").variables).toEqual([]);
  });

  test.each([
    ["x:{a}/{b}", "a"],
    ["{a}", "a"],
    ["x:{a,b}", undefined],
    ["x:{+a}", undefined],
    ["x:{/a}", undefined],
    ["x:{?a}{b}", undefined],
    ["x:fixed", undefined],
  ])("%s has the leading variable %s: the one whose plain value follows the prefix", (text, name) => {
    expect(templateOf(text).leadingVariable).toBe(name);
  });

  test("modifiers belong to the expression, not to the name", () => {
    expect(templateOf("x:{a:3}{/b*}{?c_1,d.e,%41}").variables).toEqual(["a", "b", "c_1", "d.e", "%41"]);
  });

  test.each([
    "x:{",
    "x:}",
    "x:{a",
    "x:a}",
    "x:{{a}}",
    "x:{a{b}}",
    "x:{}",
    "x:{+}",
    "x:{a,}",
    "x:{,a}",
    "x:{a b}",
    "x:{a-b}",
    "x:{a:}",
    "x:{a:12345}",
    "x:{a:x}",
    "x:{a**}",
    "x:{a*:3}",
    "x:{=a}",
    "x:{!a}",
    "x:{@a}",
    "x:{|a}",
    "x:{a}/{a}",
    "x:{a,a}",
  ])("%s is refused", (text) => {
    expect(parseUriTemplate(text)).toEqual({ broken: expect.stringMatching(/./) });
  });

  test("has a bounded number of variables", () => {
    const many = (count: number) => Array.from({ length: count }, (_, at) => `{v${at}}`).join("/");
    expect(templateOf(many(32)).variables).toHaveLength(32);
    expect(parseUriTemplate(many(33))).toHaveProperty("broken");
  });
});

describe("matching", () => {
  test.each<[string, string, Record<string, string> | undefined]>([
    ["x:fixed", "x:fixed", {}],
    ["x:fixed", "x:fixed2", undefined],
    ["x:fixed", "y:fixed", undefined],
    ["test://template/{id}/data", "test://template/123/data", { id: "123" }],
    ["test://template/{id}/data", "test://template//data", undefined],
    ["test://template/{id}/data", "test://template/1/2/data", undefined],
    ["test://template/{id}/data", "test://template/123", undefined],
    ["x:{a}", "x:a%2Fb", { a: "a/b" }],
    ["x:{a}", "x:%E4%B8%96", { a: "世" }],
    ["x:{a}", "x:a%20b", { a: "a b" }],
    ["x:{a}", "x:%FF", undefined],
    ["x:{a}", "x:a,b", undefined],
    ["x:{a}", "x:a?b", undefined],
    ["x:{a,b}", "x:1,2", { a: "1", b: "2" }],
    ["x:{a,b}", "x:1", { a: "1" }],
    ["x:{a,b}", "x:1,2,3", undefined],
    ["x:{a,b}", "x:1,", undefined],
    ["x:{a,b}", "x:,2", undefined],
    ["x:{a*}", "x:1,2", { a: "1,2" }],
    ["x:{+path}", "x:a/b?c#d", { path: "a/b?c#d" }],
    ["x:{+path}/end", "x:a/b/end", { path: "a/b" }],
    ["x:{+a,b}", "x:1/2,3/4", { a: "1/2", b: "3/4" }],
    ["x:p{#frag}", "x:p#a/b", { frag: "a/b" }],
    ["x:p{#frag}", "x:p", {}],
    ["x:f{.ext}", "x:f.md", { ext: "md" }],
    ["x:f{.ext}", "x:f.tar.gz", { ext: "tar.gz" }],
    ["x:f{.a,b}", "x:f.tar.gz", { a: "tar", b: "gz" }],
    ["x:f{.ext}", "x:f", {}],
    ["x:r{/a}", "x:r/1", { a: "1" }],
    ["x:r{/a}", "x:r/1/2", undefined],
    ["x:r{/a,b}", "x:r/1/2", { a: "1", b: "2" }],
    ["x:r{/a*}", "x:r/1/2/3", { a: "1/2/3" }],
    ["x:r{/a}", "x:r", {}],
    ["x:r{;a,b}", "x:r;a=1;b=2", { a: "1", b: "2" }],
    ["x:r{;a,b}", "x:r;b=2", { b: "2" }],
    ["x:r{;a}", "x:r", {}],
    ["x:r{?a,b}", "x:r?a=1&b=2", { a: "1", b: "2" }],
    ["x:r{?a,b}", "x:r?b=2&a=1", { a: "1", b: "2" }],
    ["x:r{?a,b}", "x:r?b=2", { b: "2" }],
    ["x:r{?a,b}", "x:r", {}],
    ["x:r{?a}", "x:r?a=", { a: "" }],
    ["x:r{?a}", "x:r?a=1%26b%3D2", { a: "1&b=2" }],
    ["x:r{?a}", "x:r?c=1", undefined],
    ["x:r{?a}", "x:r?a=1&a=2", undefined],
    ["x:r{?a,b}", "x:r?a=1&a=2", undefined],
    ["x:r{?a}", "x:r?a=1=2", undefined],
    ["x:r{?a}", "x:r?=1", undefined],
    ["{;a}{;b}{;c}", ";c=1", { c: "1" }],
    ["{;a}{;b}{;c}", ";a=1;c=3", { a: "1", c: "3" }],
    ["x:r{?a}", "x:r?", undefined],
    ["x:r?f=1{&a,b}", "x:r?f=1&a=2", { a: "2" }],
    ["x:r?f=1{&a}", "x:r?f=1", {}],
    ["x:{a:3}", "x:abc", { a: "abc" }],
    ["x:{a:3}", "x:abcd", undefined],
    ["x:{a:1}", "x:%F0%9F%93%81", { a: "📁" }],
    ["x:{a}{b}", "x:12", { a: "1", b: "2" }],
    ["x:{a}{b}", "x:1", undefined],
    ["x:{a:2}{b}", "x:1234", { a: "12", b: "34" }],
    ["x:{a}-{b}", "x:1-2-3", { a: "1-2", b: "3" }],
    ["x:{a}{?q}", "x:1?q=2", { a: "1", q: "2" }],
    ["x:{+path}{?q}", "x:a/b?q=2", { path: "a/b?q=2" }],
  ])("%s and %s give %j", (template, uri, expected) => {
    expect(match(template, uri)).toEqual(expected);
  });

  test("a value never takes a delimiter that would make it two segments", () => {
    for (const delimiter of ["/", "?", "#", "&", ";", "=", ","]) {
      expect(match("x:{a}", `x:1${delimiter}2`)).toBeUndefined();
      expect(match("x:{a}", `x:1${encodeURIComponent(delimiter)}2`)).toEqual({ a: `1${delimiter}2` });
    }
  });
});

type Sign = "" | "+" | "#" | "." | "/" | ";" | "?" | "&";

interface Expression {
  readonly sign: Sign;
  readonly names: readonly string[];
}

const SEPARATORS: Readonly<Record<Sign, string>> = {
  "": ",",
  "+": ",",
  "#": ",",
  ".": ".",
  "/": "/",
  ";": ";",
  "?": "&",
  "&": "&",
};

const escaped = (char: string) =>
  Array.from(new TextEncoder().encode(char), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");

/** RFC 6570 section 3.2.1 for string values; an undefined value leaves its variable out. */
function expand({ sign, names }: Expression, values: Readonly<Record<string, string>>): string {
  const kept = sign === "+" || sign === "#" ? /[\w.~:/?#[\]@!$&'()*+,;=-]/ : /[\w.~-]/;
  const parts = names.flatMap((name) => {
    const value = values[name];
    if (value === undefined) return [];
    const text = Array.from(value, (char) => (kept.test(char) && char <= "\u007f" ? char : escaped(char))).join("");
    if (!";?&".includes(sign) || sign === "") return [text];
    return [sign === ";" && text === "" ? name : `${name}=${text}`];
  });
  if (parts.length === 0) return "";
  return (sign === "+" ? "" : sign) + parts.join(SEPARATORS[sign]);
}

const write = ({ sign, names }: Expression) => `{${sign}${names.join(",")}}`;

describe("expanding and then matching", () => {
  const signs = fc.constantFrom<Sign>("", "+", "#", ".", "/", ";", "?", "&");
  /** Values that the operator's own separator does not cut in two: of those the RFC itself keeps no trace. */
  const valueFor = (sign: Sign, maxLength = 6) => {
    const text = fc.string({ unit: "binary", minLength: 1, maxLength });
    if (sign === "+" || sign === "#") return text.map((value) => value.replaceAll(/[%,]/g, "_"));
    return sign === "." ? text.map((value) => value.replaceAll(".", "_")) : text;
  };

  test("gives the values back, for every operator", () => {
    const filled = signs.chain((sign) =>
      fc.record({ sign: fc.constant(sign), values: fc.array(valueFor(sign), { minLength: 1, maxLength: 4 }) }),
    );
    fc.assert(
      fc.property(filled, ({ sign, values }) => {
        const names = values.map((_, at) => `v${at}`);
        const given = Object.fromEntries(values.map((value, at) => [`v${at}`, value]));
        const expression = { sign, names };
        expect(match(`x:r${write(expression)}`, `x:r${expand(expression, given)}`)).toEqual(given);
      }),
      { ...SEED, numRuns: 400 },
    );
  });

  test("gives values that expand to the same URI again, for templates of several expressions", () => {
    const part = fc.record({
      literal: fc.constantFrom("", "/", "-", "x", "/a/", "="),
      sign: signs,
      // Longer ones, one after the other without a literal, take more steps than a match may have.
      values: fc.array(fc.option(valueFor("+", 2), { nil: undefined, freq: 4 }), { minLength: 1, maxLength: 3 }),
    });
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 3 }), (parts) => {
        const named = parts.map(({ literal, sign, values }, at) => ({
          literal,
          values,
          expression: { sign, names: values.map((_, index) => `v${at}_${index}`) },
        }));
        const template = `x:${named.map(({ literal, expression }) => literal + write(expression)).join("")}`;
        const spell = (known: Readonly<Record<string, string>>) =>
          `x:${named.map(({ literal, expression }) => literal + expand(expression, known)).join("")}`;
        const given = Object.fromEntries(
          named.flatMap(({ values, expression }) =>
            values.flatMap((value, index) => (value === undefined ? [] : [[expression.names[index], value] as const])),
          ),
        ) as Record<string, string>;
        const simple = named.some(
          ({ expression, values }) => /^[+]?$/.test(expression.sign) && values.every((v) => v === undefined),
        );
        fc.pre(!simple); // an empty value of a plain variable is no match here, so that routes do not overlap
        const uri = spell(given);
        const found = match(template, uri);
        expect(found, `${template} against ${uri}`).toBeDefined();
        // What a variable of reserved characters takes of its neighbour's is the same text, spelled without encoding.
        const takes = named.some(({ expression: { sign } }) => sign === "+" || sign === "#");
        const spelled = (text: string) => (takes ? decodeURIComponent(text) : text);
        expect(spelled(spell(found ?? {}))).toBe(spelled(uri));
      }),
      { ...SEED, numRuns: 400 },
    );
  });
});

describe("matching ends", () => {
  test("for any template and any URI, without an exception", () => {
    const expression = fc
      .tuple(fc.constantFrom("", "+", "#", ".", "/", ";", "?", "&"), fc.constantFrom("", "*", ":1", ":3"), fc.nat(9))
      .map(([sign, modifier, at]) => `{${sign}n${at}${modifier}}`);
    const template = fc.array(fc.oneof(expression, fc.constantFrom("a", "/", ",", "%41")), { maxLength: 6 });
    const uri = fc.array(fc.constantFrom("a", "/", ",", ";", "?", "&", "=", "#", ".", "n1=", "%41", "%FF", "%"), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(template, uri, (parts, chars) => {
        const parsed = parseUriTemplate(parts.join(""));
        if ("broken" in parsed) return;
        const found = parsed.match(chars.join(""));
        if (found) expect(parsed.variables).toEqual(expect.arrayContaining(Object.keys(found)));
      }),
      { ...SEED, numRuns: 1000 },
    );
  });

  test.each<[string, string, string]>([
    ["many greedy variables and a delimiter everywhere", greedy(8, "{+v#}/"), `x:${"/".repeat(500)}`],
    ["adjacent variables", greedy(32, "{v#}"), `x:${"a".repeat(2000)}%FF`],
    ["adjacent prefixes", greedy(32, "{v#:2}"), `x:${"a".repeat(300)}`],
    ["adjacent exploded segments", greedy(16, "{/v#*}"), `x:${"/a".repeat(200)}?`],
  ])("without a match for %s", (_what, template, uri) => {
    expect(match(`x:${template}!`, uri)).toBeUndefined();
  });

  /** `part` again and again, its `#` numbered. */
  function greedy(count: number, part: string): string {
    return Array.from({ length: count }, (_, at) => part.replace("#", String(at))).join("");
  }
});
