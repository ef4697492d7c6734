import { describe, expect, test } from "vitest";
import { VERSIONS_2025 } from "../../../src/protocol/revisions.ts";
import { LOG_LEVELS } from "../../../src/protocol/meta.ts";
import { answerOf, callOf, FakeRequestHandlers, sessionOf } from "../../support/fake-request-handlers.ts";
import { expectOfficial } from "../../support/official-schema.ts";

describe.each(VERSIONS_2025)("in %s", (revision) => {
  test("each level is remembered by the session", async () => {
    for (const level of LOG_LEVELS) {
      const session = sessionOf();
      const call = callOf(revision, "logging/setLevel", { level }, { session });
      const { message } = await answerOf(call, new FakeRequestHandlers());
      expect(message).toEqual({ jsonrpc: "2.0", id: 7, result: {} });
      expect(await session.logLevel()).toBe(level);
      expectOfficial(revision, message, { direction: "server", method: "logging/setLevel" });
    }
  });

  test.each([undefined, "verbose", "INFO", 3])("the level %j is refused and changes nothing", async (level) => {
    const session = sessionOf();
    await session.setLogLevel("error");
    const { error } = await answerOf(
      callOf(revision, "logging/setLevel", { level }, { session }),
      new FakeRequestHandlers(),
    );
    expect(error).toMatchObject({ code: -32602, data: { path: "level" } });
    expect(await session.logLevel()).toBe("error");
  });

  test("without a session the answer says that one is needed", async () => {
    const call = callOf(revision, "logging/setLevel", { level: "info" });
    const { status, error } = await answerOf(call, new FakeRequestHandlers());
    expect([status, error?.code]).toEqual([400, -32600]);
    expect(error?.message).toContain("initialize");
  });
});
