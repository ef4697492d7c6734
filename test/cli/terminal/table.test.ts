// How values look to a person.

import { describe, expect, test } from "vitest";
import {
  formatBytes,
  truncate,
  definitionList,
  shortJson,
  formatTable,
  displayWidth,
} from "../../../src/cli/terminal/table.ts";
import { oneLine, printable } from "../../../src/cli/terminal/printable.ts";

const pipe = { isTTY: false, columns: undefined };
const terminal = { isTTY: true, columns: 40 };

describe("a table", () => {
  test("aligns text left and numbers right, and shows nothing as a dash", () => {
    expect(
      formatTable(
        ["name", "count", "last"],
        [
          ["a", 1, null],
          ["bbb", 200, true],
        ],
        pipe,
      ),
    ).toBe("NAME  COUNT  LAST\na         1  -\nbbb     200  yes");
  });

  test("counts columns, not code units", () => {
    expect(
      formatTable(
        ["a", "b"],
        [
          ["日本", "x"],
          ["👩‍👩‍👧", "x"],
          ["é", "x"],
        ],
        pipe,
      )
        .split("\n")
        .slice(1),
    ).toEqual(["日本  x", "👩‍👩‍👧    x", "é     x"]);
  });

  test("is cut to the width of a terminal, never in a pipe", () => {
    const rows = [["name", "x".repeat(100)]];
    const lines = formatTable(["a", "b"], rows, terminal).split("\n");
    expect(lines[1]).toHaveLength(40);
    expect(lines[1]?.endsWith("…")).toBe(true);
    expect(formatTable(["a", "b"], rows, pipe)).toContain("x".repeat(100));
  });

  test("keeps every value on its line and without control characters", () => {
    expect(formatTable(["a"], [["one\r\n two\u001b[31m\u0000"]], pipe)).toBe("A\none two␛[31m␀");
  });

  test("of 100,000 rows does not take long", () => {
    const rows = Array.from({ length: 100_000 }, (_, row) => [`file:///${row}`, row]);
    expect(formatTable(["uri", "size"], rows, pipe).split("\n")).toHaveLength(100_001);
  });
});

test("facts leave out what is not there", () => {
  expect(
    definitionList([
      ["a", 1],
      ["long", "x"],
      ["gone", null],
      ["empty", ""],
    ]),
  ).toBe("a     1\nlong  x");
});

test.each([
  [0, "0 B"],
  [1023, "1023 B"],
  [1024, "1.0 KiB"],
  [10 * 1024, "10 KiB"],
  [25 * 1024 * 1024, "25 MiB"],
  [5 * 1024 ** 4, "5120 GiB"],
])("%i bytes are %s", (size, shown) => {
  expect(formatBytes(size)).toBe(shown);
});

test("cutting counts the dots and never splits a character", () => {
  expect(truncate("abc", 3)).toBe("abc");
  expect(truncate("abcd", 3)).toBe("ab…");
  expect(displayWidth(truncate("日本日本", 4))).toBeLessThanOrEqual(4);
  expect(shortJson({ a: "x".repeat(1000) })).toHaveLength(160);
  expect(shortJson(undefined)).toBe("nothing");
});

test("text keeps its lines and tabs but no other control character", () => {
  expect(printable("a\n\tb\r\u001b\u009b\u007f")).toBe("a\n\tb␍␛\ufffd\ufffd");
  expect(oneLine("a\r\n  b\tc")).toBe("a b c");
});
