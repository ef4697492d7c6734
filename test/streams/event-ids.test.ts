// A stream that began under release 0.1.0 is resumed under a release with two logs of changes: its event id has one
// version, from which both logs went on.

import { expect, it } from "vitest";
import { eventIdOf, stateOf } from "../../src/http/notifications.ts";

const digests = { tools: "r1K-8uju1h", prompts: "1234567890", resources: "" };

it("an event id of one version means that version of both logs", () => {
  expect(stateOf("n.71.r1K-8uju1h.1234567890.")).toEqual({ versions: { definitions: 71, content: 71 }, digests });
});

it("an event id of two versions says how far each log was told", () => {
  const state = { versions: { definitions: 3, content: 71 }, digests };
  expect(stateOf(eventIdOf(state))).toEqual(state);
});

it.each(["", "n.", "n.1.2", "n.x.a.b.c", "n.1.2.3.a.b.c", "c-1", "n.1234567890123456.a.b.c"])(
  "%j is no event id of such a stream",
  (id) => {
    expect(stateOf(id)).toBeUndefined();
  },
);
