// Pages of resources/list: a page that is the last says so, and no resource is listed twice.

import { describe, expect, test } from "vitest";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { mcpClient, ERAS, type Json } from "../support/mcp-client.ts";

const origin = fixtureOrigin();

describe.each(ERAS)("resources/list in era $era", ({ revision }) => {
  test("has no nextCursor when its only page is exactly full", async () => {
    const client = await mcpClient(revision, `${origin}/mcp/full-page`);
    const { result } = await client.request("resources/list");
    expect(result.resources).toHaveLength(100);
    expect(result).not.toHaveProperty("nextCursor");
  });

  test("shows a URI once that is both in code and stored: the one that is read", async () => {
    const client = await mcpClient(revision, `${origin}/mcp/flow`);
    const { result } = await client.request("resources/list");
    const named = (result.resources as Json[]).filter(({ uri }) => uri === "flow://both").map(({ name }) => name);
    expect(named).toEqual(["In code"]);
  });
});

describe.each(ERAS)("a made-up cursor of resources/list in era $era", ({ revision }) => {
  test.each(["-5", "", "1e2", "0x10", "999999"])("is refused with -32602: code %j", async (place) => {
    const client = await mcpClient(revision, `${origin}/mcp/archive`);
    const cursor = encodeURIComponent(`resources\ncode ${place}`).replaceAll("%", "~");
    const { error } = await client.request("resources/list", { cursor });
    expect(error).toMatchObject({ code: -32602, data: { path: "cursor" } });
  });
});
