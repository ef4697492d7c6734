import { describe, expect, it } from "vitest";
import { Deadline } from "../../../src/gateway/call-deadline.ts";
import { createQuestionHandler } from "../../../src/gateway/forward-question.ts";
import { ResponseBudget } from "../../../src/gateway/guard/response-budget.ts";
import { Redaction } from "../../../src/gateway/guard/redaction.ts";
import { LATEST_2025 } from "../../../src/protocol/revisions.ts";
import type { ClientResponse, ClientRequester } from "../../../src/protocol/mcp-request.ts";
import { NULL_SINK } from "../../../src/endpoint/call-output.ts";
import { MEMORY_BUDGET } from "../../../src/tenants/cache/memory-budget.ts";

const MIB = 1024 * 1024;

/** An upstream that asks, and a person who answers all at once. */
function asking() {
  const room = new ResponseBudget(crypto.randomUUID());
  const deadline = new Deadline(60_000, NULL_SINK.cancelled);
  const answered = Promise.withResolvers<void>();
  let put = 0;
  const clientRequester: ClientRequester = {
    nonce: undefined,
    memos: {},
    request: async (questions) => {
      put += 1;
      await answered.promise;
      return new Map(
        questions.map(({ digest }): [string, ClientResponse] => [digest, { result: { action: "accept" } }]),
      );
    },
    cancel: () => {},
  };
  const answer = createQuestionHandler(clientRequester, {
    call: { revision: LATEST_2025, capabilities: { elicitation: {} } },
    deadline,
    redaction: Redaction.create([]),
    responseBudget: room,
  });
  const { signal } = new AbortController();
  const ask = (length: number) =>
    answer({ method: "elicitation/create", params: { message: "x".repeat(length) }, signal });
  return { ask, room, deadline, put: () => put, answered };
}

describe("unanswered questions of an upstream", () => {
  it("hold half of what an isolate holds at most, and nothing once they are answered", async () => {
    const { ask, room, deadline, put, answered } = asking();
    const before = MEMORY_BUDGET.total;
    const all = Array.from({ length: 32 }, () => ask(MIB).catch(String));
    await expect.poll(put).toBeGreaterThan(5);
    expect(MEMORY_BUDGET.total - before).toBeGreaterThan(20 * MIB);
    expect(MEMORY_BUDGET.total - before).toBeLessThanOrEqual(32 * MIB + 1000);
    answered.resolve();
    const said = await Promise.all(all);
    expect(said.filter((one) => typeof one === "string").length).toBeGreaterThan(10);
    expect(said.filter((one) => typeof one === "object")).toHaveLength(put());
    expect(MEMORY_BUDGET.total).toBe(before);
    room.release();
    deadline.end();
  });

  it("are not counted if they are short", async () => {
    const { ask, deadline, answered } = asking();
    const before = MEMORY_BUDGET.total;
    const all = Array.from({ length: 10 }, () => ask(100));
    await Promise.resolve();
    expect(MEMORY_BUDGET.total).toBe(before);
    answered.resolve();
    expect(await Promise.all(all)).toHaveLength(10);
    deadline.end();
  });
});
