import { expect, it } from "vitest";
import { causeOf, describeReadFault, operatorDetail } from "../../src/gateway/read-failure.ts";
import type { Fault } from "../../src/mcp-client/fault.ts";
import type { ResponseMessage } from "../../src/mcp-client/message.ts";

const redirect = (location: string | undefined): Fault => ({
  kind: "redirect",
  http: { status: 307, contentType: "" },
  location,
  sent: "yes",
});

it.each([
  ["https://user:pass@Else.Example.com:8443/secret/mcp?token=t#f", "else.example.com:8443"],
  ["https://else.example.com:443/", "else.example.com"],
  ["http://10.0.0.1/mcp", "10.0.0.1"],
  ["https://[2001:db8::1]:9/", "[2001:db8::1]:9"],
  ["https://ünïcode.example/", "xn--ncode-cta3g.example"],
  [`https://${"a".repeat(262)}/`, undefined],
  ["https://a'b.example/", undefined],
  ["https://key-12345678.example/", undefined],
  ["javascript:alert(1)", undefined],
  ["data:text/html,x", undefined],
  ["ftp://files.example/", undefined],
  [undefined, undefined],
])("operators see a redirect to %s as %s", (location, told) => {
  const detail = told === undefined ? undefined : `the target is ${told}`;
  expect(operatorDetail(redirect(location), ["KEY-12345678", "e"])).toBe(detail);
});

it("operators see the host at which a stream wants messages, callers do not", () => {
  const fault: Fault = {
    kind: "violation",
    rule: "foreignEndpoint",
    detail: "it is of another origin",
    location: "http://10.0.0.1:8080/messages?token=t",
    sent: "yes",
  };
  expect(operatorDetail(fault, [])).toBe("the target is 10.0.0.1:8080");
  expect(describeReadFault(fault, 1)).toBe("the server broke the protocol (foreignEndpoint): it is of another origin");
});

it("operators see the text of an HTTP error in one line", () => {
  const fault: Fault = {
    kind: "status",
    http: { status: 500, contentType: "" },
    reason: "the shelf\n fell",
    sent: "yes",
  };
  expect(operatorDetail(fault, [])).toBe("the server's message: the shelf fell");
  expect(operatorDetail({ ...fault, reason: undefined }, [])).toBeUndefined();
});

it("operators see nothing more of other faults", () => {
  expect(operatorDetail({ kind: "cancelled", sent: "no" }, [])).toBeUndefined();
});

const http = (status: number) => ({ status, contentType: "" });
const error = { error: { code: -32000, message: "no" } } as unknown as ResponseMessage;

it.each<readonly [string, Fault]>([
  ["reading-too-slow", { kind: "cancelled", sent: "perhaps" }],
  ["connection-lost", { kind: "lost", sent: "perhaps", stage: "headers", code: undefined }],
  ["web-page", { kind: "notMcp", sent: "yes", http: http(200) }],
  ["no-mcp", { kind: "violation", sent: "yes", rule: "wrongId", detail: "x" }],
])("a fault has the code %s", (code, fault) => {
  expect(causeOf(fault)).toBe(code);
});

it.each([
  [401, "credential-refused"],
  [404, "no-endpoint"],
  [406, "request-refused"],
  [429, "overloaded"],
  [500, "server-failed"],
  [503, "overloaded"],
])("status %i has the code %s, with a JSON-RPC error in the answer and without", (status, code) => {
  expect(causeOf({ kind: "status", sent: "yes", http: http(status) })).toBe(code);
  expect(causeOf({ kind: "refused", sent: "yes", http: http(status), error })).toBe(code);
});

it("a JSON-RPC error in a success is the refusal of a list", () => {
  expect(causeOf({ kind: "refused", sent: "yes", http: http(200), error })).toBe("list-refused");
});
