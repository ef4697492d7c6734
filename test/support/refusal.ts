// What a refusal looks like on the wire: one JSON-RPC error that the official schema knows, in the shape of its era.

import { expect } from "vitest";
import type { Json } from "./mcp-client.ts";
import { expectOfficial } from "./official-schema.ts";
import { sendRaw, type RawReply, type Written } from "./raw-http.ts";

/** A line of a stack trace, as V8 writes it, in a text or in a JSON string. */
export const STACK = /(?:\n|\\n)\s+at .+:\d+:\d+/;

export interface Expected {
  readonly status: number;
  readonly code: number;
  /** Left out: no id could be read, which era 2025 says with null and 2026-07-28 by leaving it away. */
  readonly id?: unknown;
}

/** The error object of the refusal. */
export function expectRefusal(reply: RawReply, revision: string, { status, code, id }: Expected): Json {
  expect({ status: reply.status, text: reply.text }).toMatchObject({ status });
  expect(reply.headers["content-type"]).toBe("application/json");
  expect(reply.text).not.toMatch(STACK);
  const message = JSON.parse(reply.text) as Json & { error?: Json };
  expectOfficial(revision, message, { direction: "server" });
  const error = message.error ?? {};
  expect({ code: error.code, text: reply.text }).toMatchObject({ code });
  if (id !== undefined) expect(message.id).toBe(id);
  else if (revision === "2026-07-28") expect(message).not.toHaveProperty("id");
  else expect(message.id).toBeNull();
  return error;
}

export function sendWritten(url: string, { headers, body }: Written): Promise<RawReply> {
  return sendRaw(url, { headers, body: JSON.stringify(body) });
}
