// Where a redirect led, as operators are told: a host, and nothing else that the server wrote.

import { expect, it } from "vitest";
import { ledTo } from "../../../src/gateway/guard/led-to.ts";
import type { Fault } from "../../../src/mcp-client/fault.ts";

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
  expect(ledTo(redirect(location), ["KEY-12345678", "e"])).toBe(told);
});

it("is told of no other fault", () => {
  expect(ledTo({ kind: "cancelled", sent: "no" }, [])).toBeUndefined();
});
