// The tools against an API that this test plays.

import { runTool } from "tenantry/testing";
import { describe, expect, it } from "vitest";
import { cover, exportBooks, listBooks } from "../src/library-tools.ts";

const API = "https://library.example.com";

function answer(request: Request): Response {
  if (request.headers.get("authorization") !== "Bearer key-of-the-city") return new Response(null, { status: 401 });
  const { pathname, searchParams } = new URL(request.url);
  if (pathname === "/books") {
    const page = Number(searchParams.get("page"));
    const items = [{ id: `b${page}`, title: `Book ${page}` }];
    return Response.json(page < 2 ? { items, next: String(page + 1) } : { items });
  }
  if (pathname === "/books/b0/cover")
    return new Response(Uint8Array.of(1, 2), { headers: { "content-type": "image/gif" } });
  return new Response("a stack of the API", { status: pathname === "/books/broken/cover" ? 500 : 404 });
}

describe.each(["2025", "2026"] as const)("in era %s", (era) => {
  const city = { era, tenant: "city", settings: { api: API }, secrets: { api_key: "key-of-the-city" }, fetch: answer };

  it("gives a page, and says where the next one begins", async () => {
    const { structured } = await runTool(listBooks, {}, city);
    expect(structured).toEqual({ items: [{ id: "b0", title: "Book 0" }], next: "1" });
    expect((await runTool(listBooks, { page: "2" }, city)).structured).toEqual({
      items: [{ id: "b2", title: "Book 2" }],
    });
  });

  it("collects all pages into a file", async () => {
    const { links, progress } = await runTool(exportBooks, {}, city);
    expect(links).toMatchObject([
      { name: "books.csv", mimeType: "text/csv", text: 'b0,"Book 0"\nb1,"Book 1"\nb2,"Book 2"' },
    ]);
    expect(progress.map((one) => one.progress)).toEqual([1, 2, 3]);
  });

  it("gives a cover as an image of its own kind", async () => {
    const { result } = await runTool(cover, { id: "b0" }, city);
    expect(result["content"]).toEqual([{ type: "image", data: "AQI=", mimeType: "image/gif" }]);
  });

  it("tells the model what is not there, and whoever runs this what is broken", async () => {
    const missing = await runTool(cover, { id: "b7" }, city);
    expect(missing).toMatchObject({ isError: true, text: "The library does not have this.", errors: [] });
    const broken = await runTool(cover, { id: "broken" }, city);
    expect(broken.isError).toBe(true);
    expect(broken.text).not.toMatch(/500|stack/);
    expect(broken.errors).toMatchObject([{ message: "/books/broken/cover: 500" }]);
  });

  it.each(["https://other.example/", "..", "b0/../..", "b0?as=admin", "%2e%2e"])(
    "asks for no other path: %s",
    async (id) => {
      const { effects, isError } = await runTool(cover, { id }, city);
      expect([effects, isError]).toEqual([[], true]);
    },
  );
});
