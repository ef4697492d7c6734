import { assert, boolean, jsonValue, property, string } from "fast-check";
import { describe, expect, inject, it } from "vitest";
import { Redaction } from "../../../src/gateway/guard/redaction.ts";

const seed = inject("seed");
/** As it is in a header: without white space at its ends. */
const SECRET = string({ minLength: 8, maxLength: 12 }).filter((text) => text.trim() === text);

/** The same JSON, with every letter, digit and mark of a string that is not escaped yet as an escape. */
function escaped(json: string): string {
  const each = (text: string) =>
    text.replaceAll(/\\u[\da-f]{4}|\\.|[^\\]/g, (char) =>
      char.length > 1 ? char : `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
  return json.replaceAll(/"((?:[^"\\]|\\.)*)"/g, (_whole, inner: string) => `"${each(inner)}"`);
}

describe("a text of an upstream", () => {
  it("is the same, byte for byte, where no credential is in it", () => {
    const text = '{ "n": 12345678901234567890, "s": "\\u00e9", "10": 1.50 }';
    expect(new Redaction(["s3cret-token"]).json(text)).toBe(text);
    expect(new Redaction([]).json(text)).toBe(text);
  });

  it.each([
    ["in a string", "s3cret-token", '{"a":"Bearer s3cret-token!"}', '{"a":"Bearer [redacted]!"}'],
    ["in a name", "s3cret-token", '{"s3cret-token":1}', '{"[redacted]":1}'],
    ["with quotes and backslashes", 'a"b\\c"d-e', '{"a":"a\\"b\\\\c\\"d-e"}', '{"a":"[redacted]"}'],
    ["with escaped slashes", "ab/cd/ef/", '{"a":"ab\\/cd\\/ef\\/"}', '{"a":"[redacted]"}'],
    ["in escapes that it needs not", "ab+cd=ef<g", '{"a":"\\u0061b\\u002Bcd\\u003def\\u003cg"}', '{"a":"[redacted]"}'],
    ["behind a backslash of its own", "u0061bcdefgh", '{"a":"\\\\u0061bcdefgh","b":1}', '{"a":"\\\\[redacted]","b":1}'],
    [
      "without the line end of the file that it came from",
      "s3cret-token\n",
      '{"a":"s3cret-token"}',
      '{"a":"[redacted]"}',
    ],
    ["as a number", "12345678", '{"a":12345678,"b":"x12345678"}', '{"a":"[redacted]","b":"x[redacted]"}'],
    ["behind an escape", "nabcdefg", '{"a":"\\nabcdefg","b":"nabcdefg"}', '{"a":"\\nabcdefg","b":"[redacted]"}'],
    ["twice", "s3cret-t", '["s3cret-t","s3cret-t"]', '["[redacted]","[redacted]"]'],
  ])("loses a credential %s", (_where, secret, text, wanted) => {
    expect(new Redaction([secret]).json(text)).toBe(wanted);
  });

  it("keeps its escapes where no credential is in it", () => {
    const text = '{"a":"\\u002b\\/ s3cret"}';
    expect(new Redaction(["s3cret-token"]).json(text)).toBe(text);
  });

  it.each(["\\/", "\\u0061", "\\ud83d", "\\\\", "\\u002f\\/"])(
    "is looked through in linear time, with many of the escape %s",
    (escape) => {
      const text = `{"content":[{"type":"text","text":"${escape.repeat((1024 * 1024) / escape.length)}"}]}`;
      const took = (work: () => unknown) => {
        const began = performance.now();
        work();
        return performance.now() - began;
      };
      const redaction = Redaction.create(["a credential of the tenant", "another one"]);
      const read = took(() => JSON.stringify(JSON.parse(text)));
      expect(redaction.json(text)).toBe(text);
      expect(Math.min(...[1, 2, 3].map(() => took(() => redaction.json(text))))).toBeLessThan(10 * read + 50);
    },
  );

  it("hides a secret from every parser, also in a repeated member", () => {
    const twice = '{"a":"\\u0073uper-secret-value","a":"x"}';
    expect(Redaction.create(["super-secret-value"]).json(twice)).toBe('{"a":"[redacted]","a":"x"}');
  });

  it("loses the longer one of two whole", () => {
    expect(new Redaction(["abcdefgh", "abcdefghijk"]).json('"abcdefghijk"')).toBe('"[redacted]"');
  });

  it("keeps what is too short to be a credential", () => {
    expect(new Redaction(["content"]).json('{"content":1}')).toBe('{"content":1}');
  });

  it("is JSON still, without the credential in any string, whatever both are", () => {
    const cases = property(SECRET, jsonValue(), boolean(), (secret, around, isEscaped) => {
      const plain = JSON.stringify({ around, said: `<${secret}>`, [`${secret}!`]: [secret] });
      const text = isEscaped ? escaped(plain) : plain;
      const cut = new Redaction([secret]).json(text);
      const strings: string[] = [];
      JSON.parse(cut, (name, value: unknown) => {
        strings.push(name);
        if (typeof value === "string") strings.push(value);
        return value;
      });
      // The word in its place may make it up again with what stands beside it.
      expect(strings.filter((one) => one.replaceAll("[redacted]", "").includes(secret))).toEqual([]);
    });
    assert(cases, { seed, numRuns: 500 });
  });

  it("is what it was as a value, where no credential is in it", () => {
    const value = { a: [1, "x"] };
    expect(new Redaction(["s3cret-token"]).value(value)).toBe(value);
  });
});
