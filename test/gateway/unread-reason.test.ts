// What operators are told of an upstream beside why it could not be read: where a redirect led, a host and nothing else of it, or
// the server's words.

import { expect, it } from "vitest";
import { operatorDetail } from "../../src/gateway/unread-reason.ts";
import type { Fault } from "../../src/mcp-client/fault.ts";

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
])("%s is told as %s", (location, told) => {
  const detail = told === undefined ? undefined : `it leads to ${told}`;
  expect(operatorDetail(redirect(location), ["KEY-12345678", "e"])).toBe(detail);
});

it("the words of an HTTP error are told in one line", () => {
  const fault: Fault = {
    kind: "status",
    http: { status: 500, contentType: "" },
    reason: "the shelf\n fell",
    sent: "yes",
  };
  expect(operatorDetail(fault, [])).toBe("it says: the shelf fell");
  expect(operatorDetail({ ...fault, reason: undefined }, [])).toBeUndefined();
});

it("nothing is told of other faults", () => {
  expect(operatorDetail({ kind: "cancelled", sent: "no" }, [])).toBeUndefined();
});
