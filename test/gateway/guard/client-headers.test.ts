import { describe, expect, it } from "vitest";
import { parseClientPlaceholder, clientHeaderValue, traceHeaders } from "../../../src/gateway/guard/client-headers.ts";
import { resolveHeaders } from "../../../src/gateway/upstream-config.ts";

const url = "https://mcp.example.com/mcp";
const secret = async (name: string) => (name === "TOKEN" ? "s3cret-token" : undefined);

async function sent(headers: Record<string, string>, client: Record<string, string>) {
  const read = (name: string) => new Headers(client).get(name);
  const filled = await resolveHeaders({ url, headers }, { tenant: "acme", env: {}, secret, clientHeader: read });
  return "missingSecret" in filled ? filled : filled.headers;
}

describe("a header of the client", () => {
  it.each(["X-User-Id", "user-agent", "traceparent"])("%s may be named", (name) => {
    expect(parseClientPlaceholder(`client:${name}`)).toBe(name.toLowerCase());
  });

  it.each([
    "Authorization",
    "cookie",
    "Proxy-Authorization",
    "Cf-Access-Jwt-Assertion",
    "mcp-session-id",
    "host",
    "content-length",
    "tenantry-hops",
    "",
    "a b",
  ])("%s may not be named", (name) => {
    expect(parseClientPlaceholder(`client:${name}`)).toBeUndefined();
  });

  it("goes where the map names it, and no other does", async () => {
    const headers = { "X-Trace": "{{client:x-trace}}", "X-Both": "{{client:X-User}}/{{secret:TOKEN}}", "X-Own": "1" };
    expect(await sent(headers, { "x-trace": "t", "x-user": "ann", "x-other": "no" })).toEqual({
      "x-trace": "t",
      "x-both": "ann/s3cret-token",
      "x-own": "1",
    });
  });

  it("leaves out the header that names it where the client did not send it", async () => {
    expect(await sent({ "X-Trace": "id={{client:x-trace}}", "X-Own": "1" }, {})).toEqual({ "x-own": "1" });
  });

  it("cannot ask for a secret", async () => {
    const headers = { "X-Two": "{{client:x-a}} {{secret:TOKEN}}" };
    expect(await sent(headers, { "x-a": "{{secret:TOKEN}}" })).toEqual({ "x-two": "{{secret:TOKEN}} s3cret-token" });
  });

  it("is left out where no request can carry it", () => {
    expect(clientHeaderValue(() => "\u00e9", "x-a")).toBeUndefined();
  });
});

describe("a trace context", () => {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const from = (headers: Record<string, string>) => traceHeaders((name) => headers[name] ?? null);

  it("passes as it is", () => {
    expect(from({ traceparent, tracestate: "a=1,b=2" })).toEqual({ traceparent, tracestate: "a=1,b=2" });
    expect(from({ traceparent })).toEqual({ traceparent });
  });

  it.each([
    { tracestate: "a=1" },
    { traceparent: "00-xyz", tracestate: "a=1" },
    { traceparent: traceparent.replace("00-", "ff-") },
    { traceparent: `00-${"0".repeat(32)}-b7ad6b7169203331-01` },
  ])("that is invalid does not pass: %o", (headers) => {
    expect(from(headers)).toEqual({});
  });
});
