import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeCursor, encodeCursor, paginate } from "../../src/protocol/cursor.ts";
import { SEED } from "../support/seed.ts";

describe("a cursor", () => {
  test("gives its position back to its own list", () => {
    fc.assert(
      fc.property(fc.string(), fc.string({ unit: "binary" }), (list, position) => {
        fc.pre(!list.includes("\n"));
        expect(decodeCursor(list, encodeCursor(list, position))).toBe(position);
      }),
      SEED,
    );
  });

  test("is refused by every other list", () => {
    const lists = ["tools", "prompts", "resources", "resourceTemplates", "stored"];
    for (const list of lists) {
      const cursor = encodeCursor(list, "5");
      expect(lists.filter((other) => decodeCursor(other, cursor) !== undefined)).toEqual([list]);
    }
  });

  test("is refused by a list whose name only starts alike", () => {
    expect(decodeCursor("tool", encodeCursor("tools", "1"))).toBeUndefined();
    expect(decodeCursor("tools", encodeCursor("tool", "1"))).toBeUndefined();
  });

  test("has only characters that need no escape in a URL or in JSON", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (position) => {
        expect(encodeCursor("tools", position)).toMatch(/^[\w\-.~!*'()]*$/);
      }),
      SEED,
    );
  });

  test.each(["", " ", "5", "tools", "tools\n", "~", "~4", "~ZZ", "~FF", "%", "dG9vbHM=", "tools~0"])(
    "%j was never made here",
    (cursor) => {
      expect(decodeCursor("prompts", cursor)).toBeUndefined();
    },
  );

  test("that is longer than any real one is refused", () => {
    const frame = encodeCursor("tools", "").length;
    expect(decodeCursor("tools", encodeCursor("tools", "1".repeat(8192 - frame)))).toHaveLength(8192 - frame);
    expect(decodeCursor("tools", encodeCursor("tools", "1".repeat(8193 - frame)))).toBeUndefined();
  });

  test("made of anything is decoded or refused, without an exception", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.stringMatching(/^[~%0-9A-Fa-f]*$/)), (cursor) => {
        expect(["string", "undefined"]).toContain(typeof decodeCursor("tools", cursor));
      }),
      SEED,
    );
  });
});

describe("pages", () => {
  const items = (count: number) => Array.from({ length: count }, (_, at) => at);

  test("cover the list exactly once, whatever their size", () => {
    fc.assert(
      fc.property(fc.nat(40), fc.integer({ min: 1, max: 12 }), (count, size) => {
        const seen: number[] = [];
        let cursor: string | undefined;
        do {
          const page = paginate("tools", items(count), cursor, size);
          if (!page) throw new Error("a cursor of ours was refused");
          expect(page.items.length).toBeLessThanOrEqual(size);
          seen.push(...page.items);
          cursor = page.nextCursor;
        } while (cursor !== undefined);
        expect(seen).toEqual(items(count));
      }),
      SEED,
    );
  });

  test("end without a cursor when the last one is full", () => {
    expect(paginate("tools", items(4), undefined, 4)).toEqual({ items: items(4) });
    expect(paginate("tools", items(4), encodeCursor("tools", "2"), 2)).toEqual({ items: [2, 3] });
  });

  test("an empty list has one empty page", () => {
    expect(paginate("tools", [], undefined, 5)).toEqual({ items: [] });
  });

  test.each([
    ["another list's cursor", encodeCursor("prompts", "2")],
    ["the empty cursor", ""],
    ["a position before the start", encodeCursor("tools", "-1")],
    ["a position that is no integer", encodeCursor("tools", "1.5")],
    ["a position in another notation", encodeCursor("tools", "1e1")],
    ["no position", encodeCursor("tools", "")],
    ["the end of the list", encodeCursor("tools", "4")],
    ["a position far behind the end", encodeCursor("tools", "99999999999999999999")],
  ])("%s is refused", (_what, cursor) => {
    expect(paginate("tools", items(4), cursor, 2)).toBeUndefined();
  });

  test("a cursor whose page is gone because the list shrank is refused", () => {
    const { nextCursor } = paginate("tools", items(10), undefined, 5) ?? {};
    expect(paginate("tools", items(5), nextCursor, 5)).toBeUndefined();
  });
});
