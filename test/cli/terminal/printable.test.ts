// Which characters reach a terminal, and what stands in the place of the others.

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { toYaml } from "../../../src/cli/admin/document-file.ts";
import { createOutput } from "../../../src/cli/terminal/output.ts";
import { escapedJson, isPrintable, oneLine, printable, printableJson } from "../../../src/cli/terminal/printable.ts";
import { SEED } from "../../support/seed.ts";

const harmful = fc.constantFrom(
  ..."\u0000\u001b\u007f\u0085\u009b\u061c\u200e\u200f\u2028\u202e\u2066\u2069\r\n\t a".split(""),
);
const oddText = fc.string({ unit: fc.oneof(harmful, fc.string({ unit: "grapheme", minLength: 1, maxLength: 1 })) });

function written(env: Record<string, string>, isTTY: boolean) {
  let text = "";
  const stream = { isTTY, write: (chunk: string | Uint8Array) => void (text += chunk.toString()) };
  return { output: createOutput(stream, env), text: () => text };
}

test.each(["\u001b", "\u202e", " ", "\r\n", "\t", "\ud800"])(
  "a text of 300,000 times %j is made printable in linear time",
  { timeout: 10_000 },
  (piece) => {
    const text = piece.repeat(300_000);
    expect(isPrintable(printable(text))).toBe(true);
    expect(oneLine(text)).not.toMatch(/[\r\n\t]/);
    expect(JSON.parse(printableJson(text))).toBe(text);
  },
);

test("many spaces are kept in the line that they are in, and dropped around a line end", () => {
  const spaces = " ".repeat(100_000);
  expect(oneLine(`a${spaces}b`)).toBe(`a${spaces}b`);
  expect(oneLine(`a${spaces}\r\n${spaces}\u2028b`)).toBe("a b");
});

test("made printable once, a text stays as it is; line ends of every system become one", () => {
  fc.assert(
    fc.property(oddText, (text) => {
      expect(isPrintable(printable(text))).toBe(true);
      expect(printable(printable(text))).toBe(printable(text));
      expect(oneLine(text)).not.toMatch(/[\r\n\t\u2028\u2029]/);
    }),
    SEED,
  );
  expect(printable("a\r\nb\rc")).toBe("a\nb␍c");
});

test("JSON and YAML that are printed hold what they held, and nothing that steers a terminal", async () => {
  await fc.assert(
    fc.asyncProperty(fc.dictionary(oddText, fc.array(oddText)), async (value) => {
      const json = printableJson(value);
      const yaml = await toYaml(value);
      expect([isPrintable(json), isPrintable(yaml)]).toEqual([true, true]);
      expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(Object.entries(parse(yaml) as object)).toEqual(Object.entries(value));
    }),
    SEED,
  );
  expect(escapedJson('{"a":"\u202e"}')).toBe('{"a":"\\u202e"}');
  for (const blank of ["", " ", " \n", "\n ", " \n\n  "])
    expect(parse(await toYaml({ "": [blank] }))).toEqual({ "": [blank] });
});

test("colours are ours: asked for by name, only where a person sits, and never taken from a text", () => {
  const line = { color: "green", text: "+ \u001b[31mred" } as const;
  const terminal = written({ TERM: "xterm" }, true);
  terminal.output.lines(["plain \u001b[31m", line]);
  expect(terminal.text()).toBe("plain ␛[31m\n\u001b[32m+ ␛[31mred\u001b[0m\n");
  for (const [env, isTTY] of [
    [{}, false] as const,
    [{ NO_COLOR: "1" }, true] as const,
    [{ TERM: "dumb" }, true] as const,
  ]) {
    const plain = written(env, isTTY);
    plain.output.lines([line]);
    expect(plain.text()).toBe("+ ␛[31mred\n");
  }
});

test("a line is redrawn only where a person sits", () => {
  const pipe = written({}, false);
  pipe.output.redraw("half");
  expect(pipe.text()).toBe("");
  const terminal = written({}, true);
  terminal.output.redraw("half\n\u009b");
  expect(terminal.text()).toBe("\r\u001b[2Khalf \ufffd");
});
