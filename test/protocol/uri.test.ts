import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MAX_URI_BYTES, parseUri } from "../../src/protocol/uri.ts";
import { SEED } from "../support/seed.ts";

function normal(text: string): string {
  const parsed = parseUri(text);
  if ("broken" in parsed) throw new Error(`${JSON.stringify(text)}: ${parsed.broken}`);
  return parsed.uri;
}

describe("the normal form", () => {
  test.each([
    ["file:///project/src/main.rs", "file:///project/src/main.rs"],
    ["test://template/123/data", "test://template/123/data"],
    ["urn:isbn:0451450523", "urn:isbn:0451450523"],
    ["mailto:a@example.com", "mailto:a@example.com"],
    ["note:", undefined],
    ["NOTE://A/b", "note://A/b"],
    ["FiLe:///A", "file:///A"],
    ["a+b-c.d:x", "a+b-c.d:x"],
    ["http://Example.COM/Path", "http://example.com/Path"],
    ["HTTPS://EXAMPLE.com:443/A?B#C", "https://example.com:443/A?B#C"],
    ["ws://H/a", "ws://h/a"],
    ["wss://H", "wss://h"],
    ["ftp://H/A", "ftp://h/A"],
    ["http://[2001:DB8::1]/x", "http://[2001:db8::1]/x"],
    ["http://H?Q=V", "http://h?Q=V"],
    ["http://H#F", "http://h#F"],
    ["file://HOST/a", "file://HOST/a"],
    ["memo://Team/a", "memo://Team/a"],
    ["http:NoAuthority/A", "http:NoAuthority/A"],
    ["x:%7euser", "x:~user"],
    ["x:%41%2d%5F%2E9", "x:A-_.9"],
    ["x:%2f%3a", "x:%2F%3A"],
    ["x:a%2fb", "x:a%2Fb"],
    ["x:%c3%a9", "x:%C3%A9"],
    ["x:é", "x:%C3%A9"],
    ["x:世界", "x:%E4%B8%96%E7%95%8C"],
    ["x:📁", "x:%F0%9F%93%81"],
    ["x:%2541", "x:%2541"],
    ["x:%20", "x:%20"],
    ["x:%FF", "x:%FF"],
    ["x:a?q=a%20b&c=%2B", "x:a?q=a%20b&c=%2B"],
    ["x:a//b", "x:a//b"],
    ["x:/a/", "x:/a/"],
    ["x:a..b/.c/d./...", "x:a..b/.c/d./..."],
    ["x:a?../..", "x:a?../.."],
    ["x:a#../..", "x:a#../.."],
  ])("of %j is %j", (text, expected) => {
    const parsed = parseUri(text);
    expect("uri" in parsed ? parsed.uri : undefined).toBe(expected);
  });

  test("two spellings of a reserved character are two names, of an unreserved one the same", () => {
    expect(normal("x:a%2Fb")).not.toBe(normal("x:a/b"));
    expect(normal("x:%61")).toBe(normal("x:a"));
  });

  test("case is preserved where it matters", () => {
    for (const [one, other] of [
      ["x://Host/a", "x://host/a"],
      ["http://h/A", "http://h/a"],
      ["x:a?Q", "x:a?q"],
      ["urn:A", "urn:a"],
    ] as const) {
      expect(normal(one)).not.toBe(normal(other));
    }
  });
});

describe("an invalid resource URI", () => {
  test.each([
    ["nothing", ""],
    ["no scheme", "/etc/passwd"],
    ["a relative reference", "a/b"],
    ["a network-path reference", "//host/a"],
    ["a scheme that starts with a digit", "1x:a"],
    ["a scheme with an underscore", "a_b:c"],
    ["a scheme with an escape", "a%62:c"],
    ["a scheme alone", "x:"],
    ["a colon alone", ":x"],
    ["white space in front", " x:a"],
    ["a line break at the end", "x:a\n"],
    ["an escaped null in the query", "x:a?b=%00"],
    ["a percent sign alone", "x:%"],
    ["a percent sign at the end", "x:a%4"],
    ["a percent sign before no digits", "x:%zz"],
    ["a percent sign before a percent sign", "x:%%41"],
    ["a percent sign before characters beyond ASCII", "x:%é"],
    ["half a surrogate pair", "x:\ud800"],
    ["a parent segment", "file:///a/../b"],
    ["a parent segment at the end", "file:///a/.."],
    ["a parent segment at the start", "x:../a"],
    ["a parent segment alone", "x:.."],
    ["a current segment", "file:///a/./b"],
    ["a current segment at the end", "x:a/."],
    ["an escaped parent segment", "file:///a/%2e%2e/b"],
    ["a half escaped parent segment", "file:///a/%2E./b"],
    ["an escaped current segment", "x:a/%2e"],
    ["a parent segment between escaped slashes", "x:a%2f..%2Fb"],
    ["an escaped parent segment between escaped slashes", "x:a%2f%2e%2e%2Fb"],
    ["a parent segment between escaped backslashes", "x:a%5C..%5cb"],
    ["a parent segment before a query", "x:a/..?b"],
    ["a parent segment before a fragment", "x:a/..#b"],
    ["a parent segment for a host", "x://../a"],
  ])("%s", (_what, text) => {
    expect(parseUri(text)).toEqual({ broken: expect.stringMatching(/^a (URI|percent sign) /) });
  });

  const CHARACTERS = [" ", "\n", "\t", "\u0000", "\u007f", '"', "<", ">", "\\", "^", "`", "{", "}", "|"];

  test.each([...CHARACTERS, "%00", "%0A", "%0d", "%1B", "%7F"])("a URI with %j in it", (character) => {
    expect(parseUri(`x:a${character}b`)).toEqual({ broken: expect.stringMatching(/^a (URI|percent sign) /) });
  });

  test("what is longer than 2 KiB, as written or once encoded", () => {
    expect(MAX_URI_BYTES).toBe(2048);
    expect(normal(`x:${"a".repeat(2046)}`)).toHaveLength(2048);
    expect(parseUri(`x:${"a".repeat(2047)}`)).toHaveProperty("broken");
    expect(normal(`x:${"é".repeat(341)}`)).toHaveLength(2048);
    expect(parseUri(`x:${"é".repeat(342)}`)).toHaveProperty("broken");
    expect(parseUri(`x:${"a".repeat(10_000_000)}`)).toHaveProperty("broken");
  });
});

describe("for any text", () => {
  const piece = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom("a", "Z", "9", "-", ".", "_", "~", "..", "//", "/", "?", "#", ":", "@") },
    { weight: 3, arbitrary: fc.constantFrom("%41", "%2e", "%2F", "%5c", "%25", "%7e", "%c3%A9", "%00", "%", "%4") },
    { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 3 }) },
  );
  const scheme = fc.constantFrom("x:", "HTTP://", "https://U@H", "File://", "urn:", "ws://É", "");
  const spelled = fc.tuple(scheme, fc.array(piece, { maxLength: 12 })).map(([head, rest]) => head + rest.join(""));

  test("the normal form is its own normal form", () => {
    let accepted = 0;
    fc.assert(
      fc.property(spelled, (text) => {
        const parsed = parseUri(text);
        if ("broken" in parsed) return;
        accepted += 1;
        expect(parseUri(parsed.uri)).toEqual({ uri: parsed.uri });
      }),
      { ...SEED, numRuns: 1000 },
    );
    expect(accepted).toBeGreaterThan(150);
  });

  test("the normal form is short ASCII without a dot segment or an escape of what needs none", () => {
    fc.assert(
      fc.property(spelled, (text) => {
        const parsed = parseUri(text);
        if ("broken" in parsed) return;
        expect(parsed.uri).toMatch(/^[a-z][a-z0-9+.-]*:[!-~]+$/);
        expect(parsed.uri.length).toBeLessThanOrEqual(MAX_URI_BYTES);
        expect(parsed.uri).not.toMatch(/%(4[1-9A-F]|[57][0-9A]|6[1-9A-F]|3[0-9]|2[DE]|5F|7E)/i);
        const path = parsed.uri.split(/[?#]/)[0] ?? "";
        expect(decodeURIComponent(path.replaceAll(/%[89A-F]./gi, "_")).split(/[/\\]/)).not.toContain("..");
      }),
      { ...SEED, numRuns: 1000 },
    );
  });

  test("escaping unreserved characters, and the case of escapes, change nothing", () => {
    const rest = fc.array(fc.constantFrom("a", "Z", "0", "-", "_", "~", "/", "?", "=", "%C3%A9", "%20"), {
      minLength: 1,
      maxLength: 20,
    });
    fc.assert(
      fc.property(rest, fc.infiniteStream(fc.nat(2)), (parts, how) => {
        const other = parts.map((part) => respell(part, how.next().value ?? 0)).join("");
        expect(normal(`x:a${other}`)).toBe(normal(`x:a${parts.join("")}`));
      }),
      { ...SEED, numRuns: 500 },
    );
  });

  /** The same part in another spelling of equal meaning. */
  function respell(part: string, how: number): string {
    if (part.startsWith("%")) return how === 0 ? part.toLowerCase() : part;
    if (how === 0 || !/[A-Za-z0-9\-_~]/.test(part)) return part;
    const hex = part.charCodeAt(0).toString(16);
    return `%${how === 1 ? hex : hex.toUpperCase()}`;
  }

  test("parsing ends in a name or a reason, never in an exception", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)) }),
        (text) => {
          const parsed = parseUri(`x:${text}`);
          expect("uri" in parsed || parsed.broken !== "").toBe(true);
        },
      ),
      { ...SEED, numRuns: 1000 },
    );
  });
});
