// Clients write null for an optional argument that nobody filled in: prompts/get and completion/complete refused it.

import { describe, expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, startGatewayWorker } from "../support/gateway-tenant.ts";
import { mcpClient, ERAS, type Json } from "../support/mcp-client.ts";
import { OneToolUpstream, callInEnvelope } from "./one-tool-upstream.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "null");
const ARGUMENTS = [{ name: "who", required: true }, { name: "how" }];
const MESSAGES = [{ role: "user", content: { type: "text", text: "Greet {{who}} {{how}}." } }];
const REF = { type: "ref/prompt", name: "greet" };

/** Offers the prompt `greet`. */
async function prompting(era: "2025" | "2026") {
  const stamp = era === "2026" ? { resultType: "complete" } : {};
  const cached = era === "2026" ? { ttlMs: 600_000, cacheScope: "public" } : {};
  const results: Readonly<Record<string, Json>> = {
    "prompts/list": { ...stamp, ...cached, prompts: [{ name: "greet", arguments: ARGUMENTS }] },
    "prompts/get": { ...stamp, messages: MESSAGES },
    "completion/complete": { ...stamp, completion: { values: ["Ada"] } },
  };
  const up = await OneToolUpstream.start(era, () => {}, {
    capabilities: { prompts: {}, completions: {} },
    first: (exchange) => {
      const result = results[exchange.name];
      // In a session, whoever asks.
      if (result) exchange.result(result);
      return result !== undefined;
    },
  });
  const tenant = await gatewayTenant(origin, admin, { up: up.entry });
  const told = (method: string) => {
    const last = up.endpoint.exchanges.findLast(({ name }) => name === method);
    const { _meta, ...params } = (last?.message["params"] ?? {}) as Json;
    return params;
  };
  return { tenant, told };
}

describe.each(ERAS)("to a client of era $era, null", ({ era, revision }) => {
  test("for an optional argument of a tenant's own prompt is left out", async () => {
    const id = await admin.tenant({ prompts: { greet: { arguments: ARGUMENTS, messages: MESSAGES } } });
    const client = await mcpClient(revision, `${origin}/mcp/${id}`);
    const got = await client.request("prompts/get", { name: "greet", arguments: { who: "Ada", how: null } });
    expect(got.error).toBeUndefined();
    const without = await client.request("prompts/get", { name: "greet", arguments: { who: "Ada" } });
    expect(got.result).toEqual(without.result);
    const { error } = await client.request("prompts/get", { name: "greet", arguments: { who: null, how: "warmly" } });
    expect(error).toMatchObject({ code: -32602, message: "Invalid params: arguments.who is required" });
  });

  test("for what is to be completed of a tenant's own prompt is nothing yet", async () => {
    const id = await admin.tenant({ prompts: { greet: { arguments: ARGUMENTS, messages: MESSAGES } } });
    const client = await mcpClient(revision, `${origin}/mcp/${id}`);
    for (const value of [null, ""]) {
      const params = { ref: REF, argument: { name: "who", value }, context: { arguments: { how: null } } };
      const { result, error } = await client.request("completion/complete", params);
      expect(error).toBeUndefined();
      expect(result).toMatchObject({ completion: { values: [] } });
    }
  });

  describe.each(ERAS)("and an upstream of era $era", ({ era: upstreamEra }) => {
    test("is not sent an argument of a prompt that is null", async () => {
      const { tenant, told } = await prompting(upstreamEra);
      const client = await tenant.client(revision);
      const params = { name: "up__greet", arguments: { who: "Ada", how: null } };
      expect((await client.request("prompts/get", params)).error).toBeUndefined();
      expect(told("prompts/get")).toEqual({ name: "greet", arguments: { who: "Ada" } });
    });

    test("is sent an empty text for what is to be completed, and no null of what is known", async () => {
      const { tenant, told } = await prompting(upstreamEra);
      const client = await tenant.client(revision);
      const ref = { type: "ref/prompt", name: "up__greet" };
      const params = {
        ref,
        argument: { name: "who", value: null },
        context: { arguments: { how: null, when: "now" } },
      };
      const { result } = await client.request("completion/complete", params);
      expect(result).toMatchObject({ completion: { values: ["Ada"] } });
      expect(told("completion/complete")).toEqual({
        ref: REF,
        argument: { name: "who", value: "" },
        context: { arguments: { when: "now" } },
      });
    });
  });

  test("in an envelope reaches no upstream either", async () => {
    const { tenant, told } = await prompting("2026");
    const sendEnvelope = (method: string, params: Json) =>
      callInEnvelope(origin, tenant.id, { method, params, ...(era === "2026" && { capabilities: {} }) });
    const got = await sendEnvelope("prompts/get", { name: "greet", arguments: { who: "Ada", how: null } });
    expect(got.error).toBeUndefined();
    expect(told("prompts/get")).toEqual({ name: "greet", arguments: { who: "Ada" } });
    const argument = { name: "who", value: null };
    const { error } = await sendEnvelope("completion/complete", {
      ref: REF,
      argument,
      context: { arguments: { how: null } },
    });
    expect(error).toBeUndefined();
    expect(told("completion/complete")).toEqual({
      ref: REF,
      argument: { name: "who", value: "" },
      context: { arguments: {} },
    });
  });
});
