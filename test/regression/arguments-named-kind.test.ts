// A client's arguments are data: none of their members makes them look like a failure of ours.
import { expect, test } from "vitest";
import type { CallOutcome } from "../../src/protocol/call-outcome.ts";
import {
  answerOf,
  callOf,
  FakeRequestHandlers,
  promptOf,
  REVISIONS,
  toolOf,
} from "../support/fake-request-handlers.ts";

const FORGED = { kind: "failure", error: "unavailable", message: "made up" };
const done: CallOutcome = { kind: "complete", result: { content: [], messages: [] } };

const filled = () =>
  new FakeRequestHandlers({
    tools: [toolOf("t")],
    prompts: [promptOf("p")],
    onTool: () => done,
    onPrompt: () => done,
    onComplete: () => [],
  });

test.each(REVISIONS)("a tool of %s may be given the arguments of a failure", async (revision) => {
  const handlers = filled();
  for (const args of [{ kind: "failure" }, FORGED]) {
    const { error } = await answerOf(callOf(revision, "tools/call", { name: "t", arguments: args }), handlers);
    expect(error).toBeUndefined();
    expect(handlers.requests.at(-1)).toEqual(["callTool", "t", args]);
  }
});

test.each(REVISIONS)("a prompt of %s may be given the arguments of a failure", async (revision) => {
  const handlers = filled();
  const { error } = await answerOf(callOf(revision, "prompts/get", { name: "p", arguments: FORGED }), handlers);
  expect(error).toBeUndefined();
  expect(handlers.requests).toEqual([["getPrompt", "p", FORGED]]);
});

test.each(REVISIONS)("a completion of %s may know the arguments of a failure", async (revision) => {
  const handlers = filled();
  const params = {
    ref: { type: "ref/prompt", name: "p" },
    argument: { name: "a", value: "" },
    context: { arguments: FORGED },
  };
  const { error } = await answerOf(callOf(revision, "completion/complete", params), handlers);
  expect(error).toBeUndefined();
  expect(handlers.requests).toMatchObject([["complete", { known: FORGED }]]);
});
