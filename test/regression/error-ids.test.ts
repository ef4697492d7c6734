// The id of an error is the id of the request it answers, or in era 2026 none at all.
import { expect, test } from "vitest";
import { classify, type InboundHeaders } from "../../src/protocol/classify.ts";
import { encodeFailure } from "../../src/protocol/dispatch.ts";
import { parseMessage } from "../../src/protocol/jsonrpc.ts";
import { expectOfficial } from "../support/official-schema.ts";

const HEADERS: InboundHeaders = { version: null, session: null, method: null, name: null };

function refusal(body: unknown, version: string | null) {
  const classified = classify(body, { ...HEADERS, version });
  if (classified.kind !== "rejected") throw new Error(`not refused: ${classified.kind}`);
  const { era, id, failure } = classified;
  return { era, message: JSON.parse(encodeFailure(id, failure, era).json) as Record<string, unknown> };
}

test.each([null, "2026-07-28"])(
  "an id of null is answered with null, as the founding documents ask (%s)",
  (version) => {
    const body = { jsonrpc: "2.0", id: null, method: "tools/list" };
    expect(refusal(body, version).message).toHaveProperty("id", null);
  },
);

test("an id that is no id is null in era 2025 and left out in era 2026", () => {
  const body = { jsonrpc: "2.0", id: true, method: "tools/list" };
  expect(refusal(body, null).message).toHaveProperty("id", null);
  const { message } = refusal(body, "2026-07-28");
  expect(message).not.toHaveProperty("id");
  expectOfficial("2026-07-28", message, { direction: "server" });
});

test.each([
  ["2026-07-28", undefined],
  ["v9", null],
])("a response refused under %s is answered without its id, which is no id of a request", (version, id) => {
  const { message } = refusal({ jsonrpc: "2.0", id: 5, result: {} }, version);
  expect(message.id).toBe(id);
});

test("a batch that claims 2026-07-28 is answered as that revision reads it", () => {
  const params = { _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } };
  const { era, message } = refusal([{ jsonrpc: "2.0", id: 1, method: "tools/list", params }], null);
  expect(era).toBe("2026");
  expectOfficial("2026-07-28", message, { direction: "server" });
});

test("an integer that JSON.parse rounds is no id, because its echo would be another one", () => {
  const parsed: unknown = JSON.parse('{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}');
  expect(parseMessage(parsed)).toMatchObject({ kind: "invalid", id: undefined });
});
