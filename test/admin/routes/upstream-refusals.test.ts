import { describe, expect, it } from "vitest";
import { ask, newTenant } from "../../support/workerd/admin.ts";
import { upstreamAt } from "../../support/workerd/upstreams.ts";

describe("an upstream that is nowhere", () => {
  it.each([
    ["GET", ""],
    ["POST", "/test"],
    ["POST", "/refresh"],
    ["GET", "/pending"],
  ] as const)("is answered with the one that was meant: %s %s", async (method, what) => {
    const id = await newTenant({ upstreams: { tracker: { url: "https://mcp.example.com/mcp", enabled: false } } });
    const { status, body } = await ask(method, `/tenants/${id}/upstreams/trakcer${what}`);
    expect({ status, body }).toMatchObject({
      status: 404,
      body: { detail: "There is no upstream trakcer: did you mean tracker?" },
    });
  });
});

describe("a server that refuses with an error in its answer", () => {
  it.each([
    [401, "the server answered 401 (-32003)"],
    [403, "the server answered 403 (-32003)"],
    [500, "the server answered 500 (-32003)"],
    [200, "the server refused to list (-32003)"],
  ])("is shown to operators with its answer of %i and its words", async (status, reason) => {
    const shown = `${reason}; the server's message: words of the server`;
    const id = await newTenant();
    const url = upstreamAt(async (request) => {
      const { id: of } = await request.json<{ id: number }>();
      const error = { code: -32003, message: "words of the server" };
      return Response.json({ jsonrpc: "2.0", id: of, error }, { status });
    });
    const path = `/tenants/${id}/upstreams/tracker`;
    await ask("PUT", path, { json: { url, era: "2025" } });
    expect((await ask("POST", `${path}/test`)).body).toMatchObject({ works: false, fault: shown });
    expect((await ask("POST", `${path}/refresh`)).body).toMatchObject({ read: false, upstream: { why: shown } });
  });
});
