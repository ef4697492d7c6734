// What a completion is told of earlier choices is checked like every other param, and named by its whole path.
import { expect, test } from "vitest";
import { answerOf, callOf, FakeRequestHandlers, REVISIONS } from "../support/fake-request-handlers.ts";

const PARAMS = { ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "" } };

test.each(REVISIONS)("a context of %s that is no object is refused", async (revision) => {
  for (const context of ["b", [], 5]) {
    const handlers = new FakeRequestHandlers({ onComplete: () => [] });
    const { error } = await answerOf(callOf(revision, "completion/complete", { ...PARAMS, context }), handlers);
    expect(error).toMatchObject({ code: -32602, data: { path: "context" } });
    expect(handlers.requests).toEqual([]);
  }
});

test.each(REVISIONS)("chosen values of %s that are no strings are named below the context", async (revision) => {
  const params = { ...PARAMS, context: { arguments: { b: 5 } } };
  const { error } = await answerOf(callOf(revision, "completion/complete", params), new FakeRequestHandlers());
  expect(error).toMatchObject({ code: -32602, data: { path: expect.stringMatching(/^context\.arguments/) } });
});
