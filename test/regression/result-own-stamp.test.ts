// A handler's result does not speak for the protocol: the members that era 2026 stamps on are written once, by us.
import { expect, test } from "vitest";
import { encodeOutcome } from "../../src/protocol/dispatch.ts";
import { REVISION_2026 } from "../../src/protocol/revisions.ts";

test.each([
  [{ resultType: "input_required" }],
  [{ resultType: "task", _meta: { a: 1 } }],
  [{ ttlMs: 99, cacheScope: "public" }],
  [{ ttlMs: 99 }],
  [{ cacheScope: "public" }],
])("%j in a result changes nothing", (own) => {
  const result = { messages: [], ...own };
  const cache = { ttlMs: 0, cacheScope: "private" } as const;
  const server = { name: "fake", version: "1" };
  const { json } = encodeOutcome(1, { kind: "complete", result, cache }, REVISION_2026, server);
  expect(JSON.parse(json)).toMatchObject({ result: { resultType: "complete", ttlMs: 0, cacheScope: "private" } });
  for (const member of ["resultType", "ttlMs", "cacheScope", "_meta"]) {
    expect(json.split(`"${member}":`)).toHaveLength(2);
  }
});
