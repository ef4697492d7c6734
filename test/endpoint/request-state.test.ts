import { describe, expect, test } from "vitest";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { client2026, post, type Json } from "../support/mcp-client.ts";
import { write } from "../support/raw-http.ts";
import { expectRefusal, sendWritten } from "../support/refusal.ts";

const origin = fixtureOrigin();
const lab = `${origin}/mcp/lab`;

describe("requestState", () => {
  const ask = async (url: string, name: string, args: Json = {}) => {
    const client = client2026(url, { elicitation: {} });
    const { result } = await client.request("tools/call", { name, arguments: args });
    expect(result.resultType).toBe("input_required");
    return String(result.requestState);
  };
  const retry = (state: unknown, args: Json = { key: "a" }, name = "lab_pay") =>
    client2026(lab, { elicitation: {} }).request("tools/call", {
      name,
      arguments: args,
      requestState: state,
      inputResponses: { sure: { action: "accept", content: { yes: true } } },
    });
  const REFUSED = { code: -32602, data: { path: "requestState" } };

  test("is refused when any character was changed", async () => {
    const state = await ask(lab, "lab_pay", { key: "a" });
    for (const at of [0, state.indexOf("."), state.indexOf(".") + 1, Math.floor(state.length / 2), state.length - 1]) {
      const changed = `${state.slice(0, at)}${state[at] === "A" ? "B" : "A"}${state.slice(at + 1)}`;
      expect(await retry(changed)).toMatchObject({ status: 200, error: REFUSED });
    }
    for (const changed of [
      `${state}A`,
      state.slice(0, -1),
      ` ${state}`,
      `${state}=`,
      state.toUpperCase(),
      "",
      ".",
      "a.b",
    ]) {
      expect(await retry(changed)).toMatchObject({ status: 200, error: REFUSED });
    }
    expect((await retry(state)).error).toBeUndefined();
  });

  test("is refused when it is no text, or longer than any of ours", async () => {
    for (const state of [null, 5, true, {}, ["a"], "x".repeat(100_000)]) {
      expect(await retry(state)).toMatchObject({ status: 200, error: REFUSED });
    }
  });

  test("is refused with other arguments, by another tool, by another tenant and by another method", async () => {
    const state = await ask(lab, "lab_pay", { key: "a" });
    expect((await retry(state, { key: "b" })).error).toMatchObject(REFUSED);
    expect((await retry(state, { key: "a", more: 1 })).error).toMatchObject(REFUSED);
    expect((await retry(state, { key: "a" }, "lab_rounds")).error).toMatchObject(REFUSED);
    const foreign = await ask(`${origin}/mcp/conformance`, "test_input_required_result_request_state");
    expect((await retry(foreign)).error).toMatchObject(REFUSED);
    const prompt = await client2026(lab, { elicitation: {} }).request("prompts/get", {
      name: "lab_letter",
      arguments: { key: "a" },
      requestState: state,
    });
    expect(prompt.error).toMatchObject(REFUSED);
  });

  test("is not the id of a session, and a session is no state", async () => {
    const begun = await post(
      lab,
      write("2025-11-25", "initialize", {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "t", version: "1" },
      }).body,
    );
    const session = String(begun.headers.get("mcp-session-id"));
    expect((await retry(session)).error).toMatchObject(REFUSED);
    const state = await ask(lab, "lab_pay", { key: "a" });
    const { headers, body } = write("2025-11-25", "tools/list");
    expectRefusal(await sendWritten(lab, { headers: { ...headers, "mcp-session-id": state }, body }), "2025-11-25", {
      status: 404,
      code: -32600,
      id: 1,
    });
  });

  test("needs answers that are an object", async () => {
    for (const inputResponses of [[], "yes", null, 5]) {
      const params = { name: "lab_pay", arguments: { key: "a" }, inputResponses };
      const { error } = await client2026(lab, { elicitation: {} }).request("tools/call", params);
      expect(error).toMatchObject({ code: -32602, data: { path: "inputResponses" } });
    }
  });
});
