import { describe, expect, test } from "vitest";
import { isFailure } from "../../../src/protocol/methods/params.ts";
import { parseListenFilter } from "../../../src/protocol/methods/subscriptions.ts";

const listenTo = (resourceSubscriptions: unknown) => parseListenFilter({ notifications: { resourceSubscriptions } });
const longUris = (many: number, characters: number) =>
  Array.from({ length: many }, (_, at) => `note:${String(at).padEnd(characters - 5, "x")}`);

describe("a subscription", () => {
  test("is a thousand URIs of a common length", () => {
    const read = listenTo(longUris(1000, 130));
    expect(isFailure(read) ? read : read.uris.size).toBe(1000);
  });

  test("has a bound in characters, because it is held for as long as the stream is", () => {
    expect(isFailure(listenTo(longUris(64, 2048)))).toBe(false);
    expect(listenTo(longUris(65, 2048))).toMatchObject({ error: "invalidParams" });
  });
});
