import { describe, expect, test } from "vitest";
import { encodeOutcome } from "../../../src/protocol/dispatch.ts";
import { VERSIONS_2025 } from "../../../src/protocol/revisions.ts";
import type { JsonObject } from "../../../src/protocol/jsonrpc.ts";
import { initialize } from "../../../src/protocol/methods/lifecycle.ts";
import { answerOf, callOf, FakeRequestHandlers, NOW, sessionOf } from "../../support/fake-request-handlers.ts";
import { expectOfficial } from "../../support/official-schema.ts";

const CLIENT = { name: "c", version: "1" };

function begin(params: JsonObject, handlers = new FakeRequestHandlers()) {
  const begun = initialize(params, handlers);
  if (begun.kind === "failure") throw new Error(begun.message);
  return begun;
}

describe("initialize", () => {
  test.each([...VERSIONS_2025, "2024-10-07"])("of %s is answered in its revision", (protocolVersion) => {
    const { result, negotiation } = begin({ protocolVersion, capabilities: {}, clientInfo: CLIENT });
    expect(result).toMatchObject({ protocolVersion, serverInfo: { name: "fake", version: "1.2.3" } });
    const { json } = encodeOutcome(
      1,
      { kind: "complete", result },
      negotiation.revision,
      new FakeRequestHandlers().server,
    );
    const message = JSON.parse(json) as JsonObject;
    expectOfficial(negotiation.revision.version, message, { direction: "server", method: "initialize" });
    expect(message.result).not.toHaveProperty("resultType");
    expect(message.result).not.toHaveProperty("_meta");
  });

  test.each(["1.0", "2026-07-28", "2099-01-01", ""])("of %j is answered 2025-11-25", (protocolVersion) => {
    expect(begin({ protocolVersion }).result.protocolVersion).toBe("2025-11-25");
  });

  test.each([undefined, null, 5, ["2025-11-25"]])("of the version %j is invalid params", (protocolVersion) => {
    expect(initialize({ protocolVersion }, new FakeRequestHandlers())).toMatchObject({
      kind: "failure",
      error: "invalidParams",
      data: { path: "protocolVersion" },
    });
  });

  test("takes loose capabilities and a missing client name", () => {
    const capabilities = { tools: true, sampling: {} };
    expect(begin({ protocolVersion: "1.0", capabilities }).capabilities).toEqual(capabilities);
    for (const none of [undefined, null, true, []]) {
      expect(begin({ protocolVersion: "1.0", capabilities: none }).capabilities).toEqual({});
    }
  });

  test("carries instructions only when there are any", () => {
    const params = { protocolVersion: "2025-11-25" };
    expect(begin(params).result).not.toHaveProperty("instructions");
    expect(begin(params, new FakeRequestHandlers({ instructions: "Be kind." })).result.instructions).toBe("Be kind.");
  });

  test("declares an object for each thing that is served", () => {
    const { capabilities } = begin({ protocolVersion: "2025-11-25" }).result as { capabilities: JsonObject };
    for (const name of ["tools", "prompts", "resources", "completions", "logging"]) {
      expect(capabilities[name]).toEqual(expect.any(Object));
    }
    expect(capabilities).not.toHaveProperty("tasks");
    expect(capabilities).not.toHaveProperty("extensions");
  });

  test.each(VERSIONS_2025)("declares the author's extensions, in %s", (protocolVersion) => {
    const extensions = { "com.example/charts": { version: 1 } };
    const { result, negotiation } = begin({ protocolVersion }, new FakeRequestHandlers({ extensions }));
    expect(result.capabilities).toMatchObject({ extensions, tools: {} });
    const { json } = encodeOutcome(
      1,
      { kind: "complete", result },
      negotiation.revision,
      new FakeRequestHandlers().server,
    );
    expectOfficial(protocolVersion, JSON.parse(json) as JsonObject, { direction: "server", method: "initialize" });
  });
});

describe("server/discover", () => {
  test("declares the author's extensions", async () => {
    const extensions = { "com.example/charts": { version: 1 } };
    const handlers = new FakeRequestHandlers({ extensions });
    const { result, message } = await answerOf(callOf("2026-07-28", "server/discover"), handlers);
    expectOfficial("2026-07-28", message, { direction: "server", method: "server/discover" });
    expect(result["capabilities"]).toMatchObject({ extensions });
  });

  test("shows the version, the capabilities, the server and how long that holds", async () => {
    const handlers = new FakeRequestHandlers({ instructions: "Be kind." });
    const { result, message } = await answerOf(callOf("2026-07-28", "server/discover"), handlers);
    expectOfficial("2026-07-28", message, { direction: "server", method: "server/discover" });
    expect(result).toMatchObject({
      resultType: "complete",
      supportedVersions: ["2026-07-28"],
      instructions: "Be kind.",
      ttlMs: 5000,
      cacheScope: "public",
      _meta: { "io.modelcontextprotocol/serverInfo": { name: "fake", version: "1.2.3" } },
    });
    expect(result.capabilities).not.toHaveProperty("tasks");
  });

  test("declares exactly the methods that are served", async () => {
    const handlers = new FakeRequestHandlers();
    const { result } = await answerOf(callOf("2026-07-28", "server/discover"), handlers);
    const declared = result.capabilities as JsonObject;
    for (const [capability, method] of [
      ["tools", "tools/list"],
      ["prompts", "prompts/list"],
      ["resources", "resources/list"],
      ["completions", "completion/complete"],
    ] as const) {
      const { error } = await answerOf(callOf("2026-07-28", method), handlers);
      expect(error?.code !== -32601).toBe(capability in declared);
    }
  });

  test("carries instructions only when there are any", async () => {
    const { result } = await answerOf(callOf("2026-07-28", "server/discover"), new FakeRequestHandlers());
    expect(result).not.toHaveProperty("instructions");
  });
});

describe("ping", () => {
  test.each(VERSIONS_2025)("in %s is answered as that revision reads it", async (revision) => {
    const { result, message } = await answerOf(callOf(revision, "ping"), new FakeRequestHandlers());
    expect(result).toEqual(revision === "2024-11-05" ? { _meta: { timestamp: NOW } } : {});
    expectOfficial(revision, message, { direction: "server", method: "ping" });
  });

  test("to a client that asked for no official revision carries the time at top level", async () => {
    const call = callOf("2025-11-25", "ping", {}, { session: sessionOf(true) });
    expect((await answerOf(call, new FakeRequestHandlers())).result).toEqual({ timestamp: NOW });
  });
});
