// `requestState` of an upstream reached its client as the upstream wrote it, and whoever had it could go on with it: with another
// key, for another tool, in another tenant that has the same upstream. The upstream, which knows the gateway's credential alone,
// could not tell.

import { describe, expect, test } from "vitest";
import { bearer, fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, startGatewayWorker } from "../support/gateway-tenant.ts";
import { mcpClient, type Json, type Reply } from "../support/mcp-client.ts";
import { OneToolUpstream, textResult, callInEnvelope } from "./one-tool-upstream.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "state");
const GO = { name: "up__go", arguments: { a: 1 } };
const ASKED = {
  one: { method: "elicitation/create", params: { message: "?", requestedSchema: { type: "object", properties: {} } } },
};
const ANSWERED = { one: { action: "accept", content: {} } };
const CAPABILITIES = { elicitation: {} };

/** Asks once, and then says what state came back. */
const asking = () =>
  OneToolUpstream.start("2026", (exchange) => {
    const { requestState, inputResponses } = exchange.message["params"] as Json;
    if (inputResponses === undefined && requestState === undefined)
      exchange.result({ resultType: "input_required", requestState: "STATE-of-A", inputRequests: ASKED });
    else exchange.result(textResult(exchange, String(requestState)));
  });

async function tenantWith(up: OneToolUpstream) {
  const tenant = await gatewayTenant(origin, admin, { up: up.entry });
  const caller = async (revision = "2026-07-28") => {
    const { token } = await admin.key(tenant.id);
    const client = await mcpClient(revision, tenant.url, CAPABILITIES, bearer(token));
    return (params: Json): Promise<Reply> => client.request("tools/call", params);
  };
  return { tenant, caller };
}

test("whoever was asked goes on, and the upstream has its state as it wrote it", async () => {
  const { caller } = await tenantWith(await asking());
  const call = await caller();
  const { requestState } = (await call(GO)).result;
  expect(requestState).not.toContain("STATE-of-A");
  const { result } = await call({ ...GO, requestState, inputResponses: ANSWERED });
  expect(result["content"]).toEqual([{ type: "text", text: "STATE-of-A" }]);
});

describe("a state is refused", () => {
  test.each<[string, (question: Json) => Json]>([
    ["with another key", (params) => params],
    ["with other arguments", (params) => ({ ...params, arguments: { a: 2 } })],
    ["that was made up", (params) => ({ ...params, requestState: "STATE-of-A" })],
    ["that is a number", (params) => ({ ...params, requestState: 5 })],
    ["of 300 KB", (params) => ({ ...params, requestState: "x".repeat(300_000) })],
  ])("%s", async (what, changed) => {
    const up = await asking();
    const { caller } = await tenantWith(up);
    const call = await caller();
    const { requestState } = (await call(GO)).result;
    const before = up.endpoint.names.length;
    const by = what === "with another key" ? await caller() : call;
    const { error } = await by(changed({ ...GO, requestState, inputResponses: ANSWERED }));
    expect(error).toMatchObject({ code: -32602, data: { path: "requestState" } });
    expect(up.endpoint.names).toHaveLength(before);
  });

  test("in another tenant that has the same upstream", async () => {
    const up = await asking();
    const call = await (await tenantWith(up)).caller();
    const other = await (await tenantWith(up)).caller();
    const { requestState } = (await call(GO)).result;
    const { error } = await other({ ...GO, requestState, inputResponses: ANSWERED });
    expect(error).toMatchObject({ code: -32602, data: { path: "requestState" } });
  });

  test("in an envelope, where it was made up", async () => {
    const { tenant } = await tenantWith(await asking());
    const params = { name: "go", arguments: { a: 1 }, requestState: "STATE-of-A", inputResponses: ANSWERED };
    const { error } = await callInEnvelope(origin, tenant.id, { capabilities: CAPABILITIES, params });
    expect(error).toMatchObject({ code: -32602 });
  });
});

test("what a client of era 2025 sends in these members does not reach the upstream", async () => {
  const { caller } = await tenantWith(await asking());
  const call = await caller("2025-11-25");
  const { error } = await call({ ...GO, requestState: "STATE-of-A", inputResponses: ANSWERED });
  expect(error?.message).toContain("asks a question that only a client of 2026-07-28 can answer");
});
