// Era 2026 reserves the codes -32000 to -32099 and defines few of them: others of an upstream reached its clients.
// https://modelcontextprotocol.io/specification/2026-07-28/basic#error-codes

import { describe, expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, startGatewayWorker } from "../support/gateway-tenant.ts";
import { ERAS, type Json } from "../support/mcp-client.ts";
import { OneToolUpstream, callInEnvelope } from "./one-tool-upstream.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "codes");

const RESERVED = [-32000, -32001, -32002, -32005, -32019, -32023, -32042, -32050, -32099];
/** Of the call that was made here, not of the one that the client made. */
const OF_THE_HOP = [-32020, -32022];
const FREE = [-32600, -32601, -32602, -32603, -32700, -31999, -32100, -1, 0, 1, 4711];
const ILLEGAL = [1.5, "x", null];
const URI = "test://one";

/** Each call, and each reading of a resource, is refused as `refusal` says then. */
async function refusing(era: "2025" | "2026") {
  let refusal: Json = {};
  let status = 200;
  const refuse = (exchange: { message: Json; json: (body: Json, status: number) => void }) =>
    exchange.json({ jsonrpc: "2.0", id: exchange.message["id"], error: refusal }, status);
  const up = await OneToolUpstream.start(era, refuse, {
    capabilities: { resources: {} },
    first: (exchange) => {
      if (exchange.name === "resources/read") refuse(exchange);
      else if (exchange.name === "resources/list") {
        const cached = era === "2026" ? { resultType: "complete", ttlMs: 600_000, cacheScope: "public" } : {};
        exchange.result({ ...cached, resources: [{ uri: URI, name: "one" }] });
      } else return false;
      return true;
    },
  });
  const tenant = await gatewayTenant(origin, admin, { up: up.entry });
  const asking =
    (ask: () => Promise<{ status: number; error: unknown }>) =>
    async (code: unknown, more: Json = {}, withStatus = 200): Promise<{ status: number; error: unknown }> => {
      refusal = { code, message: "No.", ...more };
      status = withStatus;
      const answer = await ask();
      return { status: answer.status, error: answer.error };
    };
  const of = async (revision: string, capabilities: Json = {}) => {
    const client = await tenant.client(revision, capabilities);
    return {
      called: asking(() => client.request("tools/call", { name: "up__go", arguments: {} })),
      read: asking(() => client.request("resources/read", { uri: URI })),
    };
  };
  return { tenant, of, asking };
}

describe.each(ERAS)("an upstream of era $era", ({ era: upstreamEra }) => {
  test("shows clients of era 2026 no code that is reserved and not defined, and its own in data", async () => {
    const { called } = await (await refusing(upstreamEra)).of("2026-07-28");
    for (const code of [...RESERVED, ...OF_THE_HOP, ...ILLEGAL]) {
      const { status, error } = await called(code, { data: { more: 1 } });
      expect(status, String(code)).toBe(200);
      expect(error, String(code)).toMatchObject({
        code: -32603,
        message: "No.",
        data: { server: "up", more: 1, originalError: { message: "No.", data: { more: 1 } } },
      });
      const { originalError } = (error as { data: { originalError: Json } }).data;
      if (Number.isInteger(code)) expect(originalError["code"]).toBe(code);
    }
  });

  test("shows clients of era 2025 those as they are, apart from what is about the gateway's own request", async () => {
    const { called } = await (await refusing(upstreamEra)).of("2025-11-25");
    for (const code of RESERVED.filter((one) => one !== -32042)) {
      expect((await called(code)).error, String(code)).toMatchObject({ code, message: "No.", data: { server: "up" } });
    }
    for (const code of [...OF_THE_HOP, ...ILLEGAL]) {
      expect((await called(code)).error, String(code)).toMatchObject({ code: -32603, message: "No." });
    }
  });

  test.each(ERAS)("shows clients of era $era every other code as it is", async ({ revision }) => {
    const { called } = await (await refusing(upstreamEra)).of(revision);
    for (const code of FREE) expect((await called(code)).error, String(code)).toMatchObject({ code, message: "No." });
  });

  test("names the URI of a resource that is not there, in the client's code for it", async () => {
    const own = upstreamEra === "2025" ? -32002 : -32602;
    const up = await refusing(upstreamEra);
    for (const { era, revision } of ERAS) {
      const { read } = await up.of(revision);
      const code = era === "2025" ? -32002 : -32602;
      expect((await read(own, { data: { uri: URI } })).error).toMatchObject({
        code,
        message: "No.",
        data: { uri: URI },
      });
    }
  });
});

test("what a client of era 2026 lacks is told with the code for it, and to one of era 2025 without", async () => {
  const { of } = await refusing("2026");
  const data = { requiredCapabilities: { roots: {} } };
  const newer = await (await of("2026-07-28")).called(-32021, { data }, 400);
  expect(newer).toMatchObject({ status: 400, error: { code: -32021, data } });
  const older = await (await of("2025-11-25")).called(-32021, { data }, 400);
  expect(older).toMatchObject({ status: 200, error: { code: -32603, data } });
});

test("that a URL is to be visited first reaches a client of era 2025 whole", async () => {
  const { called } = await (await refusing("2025")).of("2025-11-25", { elicitation: { url: {} } });
  const elicitations = [{ mode: "url", elicitationId: "e", url: "https://example.com/", message: "?" }];
  expect((await called(-32042, { data: { elicitations } })).error).toMatchObject({
    code: -32042,
    data: { elicitations },
  });
});

test.each(ERAS)("in an envelope a message of era $era has the codes of that era", async ({ era }) => {
  const { tenant, asking } = await refusing("2026");
  const called = asking(() => callInEnvelope(origin, tenant.id, era === "2026" ? { capabilities: {} } : {}));
  const { error } = await called(-32050);
  expect(error).toMatchObject({ code: era === "2026" ? -32603 : -32050, data: { originalError: { code: -32050 } } });
});
