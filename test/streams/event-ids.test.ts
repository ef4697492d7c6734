// Where a notification stream goes on from travels through its client: it is read back as it was, and tells strangers
// nothing of what changed meanwhile.

import { expect, it } from "vitest";
import type { KeyRing } from "../../src/auth/seal.ts";
import { eventIdOf, parseEventId } from "../../src/endpoint/event-ids.ts";

const ring: KeyRing = [{ id: "one", secret: crypto.getRandomValues(new Uint8Array(32)) }];
const digests = { tools: "r1K-8uju1h", prompts: "1234567890", resources: "" };
const stateAt = (definitions: number, content: number) => ({ versions: { definitions, content }, digests });

it("an event id says how far each log of changes was told", async () => {
  expect(await parseEventId(ring, await eventIdOf(ring, stateAt(3, 71)))).toEqual(stateAt(3, 71));
});

it("an event id is as long for a large version as for a small one, and shows neither", async () => {
  const [small, large] = [await eventIdOf(ring, stateAt(1, 2)), await eventIdOf(ring, stateAt(123_456_789, 987_654))];
  expect(small).toHaveLength(large.length);
  expect(large).not.toMatch(/123456789|987654/);
});

it.each(["", "n.", "n.1.2", "n.x.a.b.c", "n.1.2.3.a.b.c", "c-1", "n.1234567890123456.a.b.c"])(
  "%j is no event id of such a stream",
  async (id) => {
    expect(await parseEventId(ring, id)).toBeUndefined();
  },
);
