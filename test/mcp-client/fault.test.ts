// What a fault says: whether to try later and when, and one sentence without secrets.

import { describe, expect, test } from "vitest";
import {
  describeFault,
  isTransientFault,
  McpFault,
  retryAfterMs,
  httpStatusOf,
  type Fault,
  type HttpFacts,
} from "../../src/mcp-client/fault.ts";
import { parseServerMessage, type ResponseMessage } from "../../src/mcp-client/message.ts";
import { isNeverConnected, platformCode } from "../../src/mcp-client/platform-code.ts";

const http = (status: number, more: Partial<HttpFacts> = {}): HttpFacts => ({ status, contentType: "", ...more });

function error(code: number, message = "No"): ResponseMessage {
  return parseServerMessage(JSON.stringify({ jsonrpc: "2.0", id: 1, error: { code, message } })) as ResponseMessage;
}

const FAULTS: readonly {
  readonly fault: Fault;
  readonly passes: boolean;
  readonly says: string;
}[] = [
  { fault: { kind: "cancelled", sent: "no" }, passes: false, says: "cancelled" },
  { fault: { kind: "cancelled", sent: "perhaps" }, passes: false, says: "cancelled" },
  { fault: { kind: "unreachable", code: "ENOTFOUND", sent: "no" }, passes: true, says: "ENOTFOUND" },
  {
    fault: { kind: "lost", stage: "headers", code: "ECONNRESET", sent: "perhaps" },
    passes: true,
    says: "before an answer (ECONNRESET)",
  },
  {
    fault: { kind: "lost", stage: "body", code: undefined, sent: "yes" },
    passes: true,
    says: "during the answer",
  },
  {
    fault: { kind: "timeout", stage: "headers", afterMs: 5, sent: "perhaps" },
    passes: true,
    says: "no answer began within 5 ms",
  },
  {
    fault: { kind: "timeout", stage: "silence", afterMs: 5, sent: "yes" },
    passes: true,
    says: "paused for more than 5 ms",
  },
  { fault: { kind: "timeout", stage: "total", afterMs: 5, sent: "yes" }, passes: true, says: "complete" },
  {
    fault: { kind: "tooLarge", what: "message", limitBytes: 9, sent: "yes" },
    passes: false,
    says: "a message is longer than 9 bytes",
  },
  {
    fault: { kind: "tooLarge", what: "message", limitContainers: 9, sent: "yes" },
    passes: false,
    says: "a message has more than 9 objects and lists",
  },
  {
    fault: { kind: "tooLarge", what: "stream", limitLines: 9, sent: "yes" },
    passes: false,
    says: "a stream has more than 9 lines",
  },
  {
    fault: { kind: "redirect", http: http(307), location: "https://x.example/?secret", sent: "yes" },
    passes: false,
    says: "another URL (307)",
  },
  ...[401, 405].map((status) => ({
    fault: { kind: "status", http: http(status), sent: "yes" } as const,
    passes: false,
    says: `answered ${status} (no content type)`,
  })),
  { fault: { kind: "status", http: http(429), sent: "yes" }, passes: true, says: "429" },
  ...[400, 404].map((status) => ({
    fault: { kind: "status", http: http(status), sent: "yes" } as const,
    passes: false,
    says: String(status),
  })),
  ...[500, 503].map((status) => ({
    fault: { kind: "status", http: http(status), sent: "yes" } as const,
    passes: true,
    says: String(status),
  })),
  {
    fault: { kind: "notMcp", http: http(200, { contentType: "text/html" }), sent: "yes" },
    passes: false,
    says: "200 (text/html), not MCP",
  },
  {
    fault: { kind: "refused", http: http(200), error: error(-32602, "Unknown tool: x"), sent: "yes" },
    passes: false,
    says: "Unknown tool: x (-32602)",
  },
  ...[-32020, -32021, -32022].map((code) => ({
    fault: { kind: "refused", http: http(400), error: error(code), sent: "yes" } as const,
    passes: false,
    says: `No (${code})`,
  })),
  // With a success, the same number is what some tool of an older server says.
  {
    fault: { kind: "refused", http: http(200), error: error(-32020, ""), sent: "yes" },
    passes: false,
    says: "error without a message (-32020)",
  },
  {
    fault: { kind: "refused", http: http(401), error: error(-32600), sent: "yes" },
    passes: false,
    says: "No",
  },
  {
    fault: { kind: "refused", http: http(503), error: error(-32603), sent: "yes" },
    passes: true,
    says: "No",
  },
  {
    fault: { kind: "sessionGone", http: http(404), error: undefined, sent: "yes" },
    passes: false,
    says: "does not know the session",
  },
  {
    fault: { kind: "unanswered", http: http(200), sent: "yes" },
    passes: false,
    says: "without a response",
  },
  {
    fault: { kind: "unresumable", lastFault: { kind: "status", http: http(405), sent: "yes" }, sent: "yes" },
    passes: false,
    says: "cannot be resumed: the server answered 405",
  },
  {
    fault: { kind: "violation", rule: "wrongId", detail: "another id", sent: "yes" },
    passes: false,
    says: "(wrongId): another id",
  },
];

test("a description is short, however much the server has to say", () => {
  const fault: Fault = { kind: "refused", http: http(200), error: error(1, "no words ".repeat(100_000)), sent: "yes" };
  expect(describeFault(fault)).toMatch(/^(no words )+no …$/);
  expect(describeFault(fault).length).toBeLessThanOrEqual(500);
});

test.each(FAULTS)("$fault.kind, sent: $fault.sent; later: $passes", ({ fault, passes, says }) => {
  expect(isTransientFault(fault)).toBe(passes);
  expect(describeFault(fault)).toContain(says);
  expect(describeFault(fault)).not.toContain("secret");
  expect(new McpFault(fault).message).toBe(describeFault(fault));
  expect(httpStatusOf(fault)).toBe("http" in fault ? fault.http.status : undefined);
});

describe("the time after which a server wants to be asked again", () => {
  const NOW = Date.UTC(2026, 10, 22, 12, 0, 0);
  const after = (retryAfter: string) =>
    retryAfterMs({ kind: "status", http: http(503, { retryAfter }), sent: "yes" }, NOW);

  test.each([
    ["0", 0],
    ["7", 7000],
    [" 7 ", 7000],
    ["Sun, 22 Nov 2026 12:00:30 GMT", 30_000],
    ["Sun, 22 Nov 2026 11:00:00 GMT", 0],
    ["", undefined],
    ["soon", undefined],
  ])("is read from %j as %s", (text, milliseconds) => {
    expect(after(text)).toBe(milliseconds);
  });

  test("is unknown where nothing was answered", () => {
    expect(retryAfterMs({ kind: "cancelled", sent: "no" }, NOW)).toBeUndefined();
  });
});

describe("the platform's word for an error", () => {
  const named = (code: string, cause?: unknown) => Object.assign(new Error("x", { cause }), { code });

  test("is found on the error or on what caused it, however deep, and not in a circle", () => {
    expect(platformCode(new TypeError("fetch failed", { cause: named("ECONNRESET") }))).toBe("ECONNRESET");
    expect(platformCode(named("A", named("B")))).toBe("A");
    const circle = new Error("round");
    circle.cause = circle;
    expect(platformCode(circle)).toBeUndefined();
    expect(platformCode("text")).toBeUndefined();
    expect(platformCode(undefined)).toBeUndefined();
  });

  test.each([
    "ECONNREFUSED",
    "UND_ERR_CONNECT_TIMEOUT",
    "CERT_HAS_EXPIRED",
    "SELF_SIGNED_CERT_IN_CHAIN",
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  ])("%s says that nothing was sent", (code) => {
    expect(isNeverConnected(code)).toBe(true);
  });

  test.each(["ECONNRESET", "UND_ERR_HEADERS_TIMEOUT", "", undefined])(
    "%s leaves open whether something was sent",
    (code) => {
      expect(isNeverConnected(code)).toBe(false);
    },
  );
});
