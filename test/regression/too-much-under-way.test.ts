// Of more than 128 requests of a tenant under way in an isolate, the next were told that a healthy upstream could not be
// reached. It was the Worker's own bound, and it is busy for a moment.

import { describe, expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, startGatewayWorker } from "../support/gateway-tenant.ts";
import { ERAS, type Json, type Reply } from "../support/mcp-client.ts";
import { OneToolUpstream, textResult, callInEnvelope } from "./one-tool-upstream.ts";
import { startTokenEndpoint } from "../support/token-endpoint.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "busy");
/** docs/outbound.md, `connections`. */
const MOST = 128;
const REQUEST_COUNT = 140;
const GO = { name: "up__go", arguments: {} };

/** Its calls wait until it is told to answer them. */
async function slow(era: "2025" | "2026", more: Json = {}, secrets: Readonly<Record<string, string>> = {}) {
  let answers = false;
  const up = await OneToolUpstream.start(era, (exchange) => {
    if (answers) exchange.result(textResult(exchange, "done"));
  });
  const tenant = await gatewayTenant(origin, admin, { up: up.entry, ...more }, { secrets });
  const shown = () => admin.ask("GET", `/tenants/${tenant.id}/upstreams/up`);
  const goOn = () => {
    answers = true;
    for (const exchange of up.calls) exchange.result(textResult(exchange, "done"));
  };
  const read = () => admin.ask("POST", `/tenants/${tenant.id}/upstreams/up/refresh`);
  return { up, tenant, shown, read, goOn };
}

/** As many at once as are refused and more; the refused ones are answered while the others wait. */
async function burst(
  upstream: Awaited<ReturnType<typeof slow>>,
  call: () => Promise<Reply>,
  meanwhile: () => Promise<void> = async () => {},
) {
  const refused: Reply[] = [];
  let isOver = false;
  const all = Array.from({ length: REQUEST_COUNT }, async () => {
    const reply = await call();
    if (!isOver) refused.push(reply);
    return reply;
  });
  await expect.poll(() => upstream.up.calls.length + refused.length).toBe(REQUEST_COUNT);
  isOver = true;
  await meanwhile();
  const during = await upstream.shown();
  const read = await upstream.read();
  upstream.goOn();
  const replies = await Promise.all(all);
  return { refused, during, read, served: replies.filter((reply) => !refused.includes(reply)) };
}

describe.each(ERAS)(
  "a client of era $era that makes more calls of an upstream than may be under way",
  ({ revision }) => {
    test("is told of the others that it is busy and when to try again, and no upstream is blamed", async () => {
      const upstream = await slow("2026");
      const client = await upstream.tenant.client(revision);
      const before = await upstream.shown();
      const { refused, served, during, read } = await burst(upstream, () => client.request("tools/call", GO));
      expect([refused.length, served.length]).toEqual([REQUEST_COUNT - MOST, MOST]);
      for (const { result } of served) expect(result).toMatchObject({ content: [{ text: "done" }] });
      for (const { error, text, headers, status } of refused) {
        expect(error).toMatchObject({ code: -32603, data: { server: "up", retryAfter: 2 } });
        expect(error?.message).toMatch(/^Temporarily unavailable: too many requests/);
        expect(text).not.toMatch(/unreachable|Failed to connect/);
        expect([status, headers.get("retry-after")]).toEqual([200, "2"]);
      }
      expect(during).toMatchObject({ state: "fresh", why: null, nextRead: before["nextRead"] });
      expect(read).toMatchObject({ upstream: { state: "fresh", why: null } });
      expect((await client.request("tools/call", GO)).result).toMatchObject({ content: [{ text: "done" }] });
    });
  },
);

test("calls that would each begin a session are told so, too, and a later one begins it", async () => {
  const upstream = await slow("2025");
  const client = await upstream.tenant.client();
  const { refused, served } = await burst(upstream, () => client.request("tools/call", GO));
  expect(refused.length).toBeGreaterThanOrEqual(REQUEST_COUNT - MOST);
  for (const { error } of refused) expect(error).toMatchObject({ code: -32603, data: { server: "up", retryAfter: 2 } });
  for (const { result } of served) expect(result).toMatchObject({ content: [{ text: "done" }] });
  expect(await upstream.shown()).toMatchObject({ state: "fresh", why: null });
  expect((await client.request("tools/call", GO)).result).toMatchObject({ content: [{ text: "done" }] });
});

test("calls in an envelope are told so, too", async () => {
  const upstream = await slow("2026");
  const { refused } = await burst(upstream, () => callInEnvelope(origin, upstream.tenant.id, { capabilities: {} }));
  expect(refused).toHaveLength(REQUEST_COUNT - MOST);
  for (const { error } of refused) expect(error).toMatchObject({ code: -32603, data: { server: "up", retryAfter: 2 } });
});

test("an access token that another upstream needs is asked for meanwhile: its calls are not refused for the lack of one", async () => {
  const tokens = await startTokenEndpoint();
  tokens.answer = (count) => ({ body: { access_token: `token-${count}`, token_type: "Bearer", expires_in: 0.001 } });
  const other = await OneToolUpstream.start("2026", (exchange) => exchange.result(textResult(exchange, "done")));
  const auth = { kind: "client_credentials", tokenUrl: tokens.url, clientId: "t", clientSecret: "{{secret:UP}}" };
  const upstream = await slow("2026", { other: { ...other.entry, auth } }, { UP: "s3cret" });
  const client = await upstream.tenant.client();
  const call = () => client.request("tools/call", { name: "other__go", arguments: {} });
  const { refused } = await burst(
    upstream,
    () => client.request("tools/call", GO),
    async () => {
      expect((await call()).error).toMatchObject({ code: -32603, data: { server: "other", retryAfter: 2 } });
    },
  );
  expect(refused).toHaveLength(REQUEST_COUNT - MOST);
  expect((await call()).result).toMatchObject({ content: [{ text: "done" }] });
});
