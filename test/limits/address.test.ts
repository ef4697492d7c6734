import { expect, test } from "vitest";
import { addressOf } from "../../src/limits/address.ts";

const of = (address?: string) => addressOf(new Headers(address === undefined ? {} : { "cf-connecting-ip": address }));

test.each([
  ["203.0.113.7", "203.0.113.7"],
  ["::ffff:203.0.113.7", "203.0.113.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:0DB8:0001:0002::6", "2001:db8:1:2::/64"],
  ["2001:db8::6", "2001:db8:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
])("the address %s counts as %s", (address, counted) => {
  expect(of(address)).toBe(counted);
});

test("without an address that the platform saw, everybody counts as one", () => {
  expect(of()).toBe("");
});

test("a client's own header is not its address", () => {
  expect(addressOf(new Headers({ "x-forwarded-for": "203.0.113.9", "x-real-ip": "203.0.113.9" }))).toBe("");
});
