import * as fc from "fast-check";
import { describe, expect, inject, it } from "vitest";
import {
  encodeOverflow,
  findBrokenBudgets,
  bytesOf,
  truncateResult,
} from "../../../src/gateway/budget/truncate-result.ts";

type Json = Record<string, unknown>;

const URI = "tenantry://results/x";
const text = (length: number, letter = "a") => ({ type: "text", text: letter.repeat(length) });
const cut = (result: Json, most: number, hasSchema = false) => truncateResult(JSON.stringify(result), most, hasSchema);

describe("a result", () => {
  it("is left as it is where it fits, however its characters are written", () => {
    for (const letter of ["a", "é", "漢", "😀"]) {
      const result = { content: [text(200, letter)] };
      const bytes = new TextEncoder().encode(JSON.stringify(result.content)).byteLength;
      expect(cut(result, bytes)).toBeUndefined();
      expect(cut(result, bytes - 40)).toBeDefined();
    }
  });

  it("loses its last items, and no item in part", () => {
    const found = cut({ content: [text(400), text(400, "b"), text(400, "c")] }, 1000);
    expect(found?.items).toEqual([text(400), text(400, "b")]);
    expect(found?.summary).toBe("2 of 3 items are here");
    expect(found?.toOverflow(URI)).toEqual([{ uri: URI, mimeType: "text/plain", text: "c".repeat(400) }]);
  });

  it("has no items where the first is too long", () => {
    expect(cut({ content: [text(2000), text(1)] }, 1000)).toMatchObject({ items: [], result: {} });
  });

  it("becomes an error where the tool describes its output, and is whole in the rest", () => {
    const found = cut({ content: [text(10)], structuredContent: { a: "x".repeat(2000) }, _meta: { k: 1 } }, 1000, true);
    expect(found?.result).toEqual({ isError: true, _meta: { k: 1 } });
    expect(found?.items).toEqual([]);
    expect(found?.toOverflow(URI).map(({ mimeType }) => mimeType)).toEqual(["text/plain", "application/json"]);
  });

  it("stays an error, with the items that fit", () => {
    const found = cut({ content: [text(400), text(900)], isError: true }, 1000, true);
    expect(found).toMatchObject({ result: { isError: true }, items: [text(400)] });
  });

  it("is not cut where it asks for input", () => {
    expect(cut({ resultType: "input_required", requestState: "x".repeat(5000) }, 1000)).toBeUndefined();
    expect(cut({ resultType: "input_required", content: [text(5000)] }, 1000)).toBeUndefined();
  });

  it("keeps what every kind of item says", () => {
    const items = [
      { type: "image", data: "QUJD", mimeType: "image/png" },
      { type: "resource", resource: { uri: "file:///a", text: "a" } },
      { type: "resource_link", uri: "file:///b", name: "b" },
      "no item at all",
    ];
    expect(
      cut({ content: [text(2000), ...items] }, 1000)
        ?.toOverflow(URI)
        .slice(1),
    ).toEqual([
      { uri: URI, mimeType: "image/png", blob: "QUJD" },
      { uri: "file:///a", text: "a" },
      { uri: URI, mimeType: "application/json", text: JSON.stringify(items[2]) },
      { uri: URI, mimeType: "application/json", text: '"no item at all"' },
    ]);
  });

  it.each(["0", '""', "{}", "[]", '{"type":"text","text":""}', '{"type":"resource","resource":{}}'])(
    "of a MiB of %s has no rest that is many times as long",
    (item) => {
      const most = 256 * 1024;
      const many = Array.from({ length: (4 * most) / (item.length + 1) }, () => item);
      const found = truncateResult(`{"content":[${many.join()}]}`, 1000, false);
      if (!found) throw new Error("it was not cut");
      let made = 0;
      const rest = (uri: string) => {
        const contents = found.toOverflow(uri);
        made += contents.length;
        return contents;
      };
      expect(encodeOverflow({ ...found, toOverflow: rest }, URI, most)).toBeUndefined();
      expect(made * URI.length).toBeLessThan(most);
      expect(encodeOverflow({ ...found, toOverflow: () => [] }, URI, Infinity)).toBeDefined();
    },
  );

  it("loses nothing and is never longer than it may be, whatever its items are", () => {
    const item = fc.record({ type: fc.constant("text"), text: fc.string({ unit: "grapheme", maxLength: 400 }) });
    fc.assert(
      fc.property(fc.array(item, { maxLength: 30 }), fc.integer({ min: 1000, max: 5000 }), (content, most) => {
        const found = cut({ content }, most);
        if (!found) return;
        expect(new TextEncoder().encode(JSON.stringify(found.items)).byteLength).toBeLessThanOrEqual(most + 1);
        const rest = found.toOverflow(URI).map((one) => ({ type: "text", text: one["text"] }));
        expect([...found.items, ...rest]).toEqual(content);
        expect(rest.length).toBeGreaterThan(0);
      }),
      { seed: inject("seed") },
    );
  });
});

describe("a budget", () => {
  it.each([
    [{}, Infinity],
    [{ bytes: 1000 }, 1000],
    [{ tokens: 500 }, 2000],
    [{ bytes: 5000, tokens: 500 }, 2000],
  ])("of %o is %s bytes", (budget, bytes) => {
    expect(bytesOf(budget)).toBe(bytes);
  });

  it("has room for saying what was left out", () => {
    expect(findBrokenBudgets({ profiles: { p: { resultBudget: { bytes: 999, tokens: 249 } }, q: {} } })).toEqual([
      { field: "profiles.p.resultBudget.bytes", rule: "must be a number of at least 1000" },
      { field: "profiles.p.resultBudget.tokens", rule: "must be a number of at least 250" },
    ]);
  });
});
