// The host that a request names: however a client spells it, it is one host, so that nobody passes for another.

import { describe, expect, it } from "vitest";
import { isHostAllowed, hostnameOf } from "../../src/auth/origin.ts";

const NAMES = ["acme.mcp.example.com", "ACME.mcp.Example.com"];
const ENDS = ["", ".", "..", ":", ":0", ":80", ":65536", ":0080", ".:", ".:80", "..:", "..:8362"];
const SPELLINGS = NAMES.flatMap((name) => ENDS.map((end) => name + end));

const from = (host?: string) => new Headers(host === undefined ? {} : { host });

describe("a host", () => {
  it("has one name, however it is spelt", () => {
    for (const host of SPELLINGS) {
      expect([host, hostnameOf(host)]).toEqual([host, "acme.mcp.example.com"]);
      expect(isHostAllowed(from(host), { HOSTS: "other.example, Acme.mcp.example.com" })).toBe(true);
      expect(isHostAllowed(from(host), { HOSTS: "mcp.example.com" })).toBe(false);
    }
  });

  it.each([
    ["[::1]", "[::1]"],
    ["[::1]:8362", "[::1]"],
    ["[::1]:", "[::1]"],
    ["127.0.0.1:8362", "127.0.0.1"],
    ["a.b:80x", "a.b:80x"],
    ["a..b", "a..b"],
    ["", ""],
    [".", ""],
  ])("written %s has the name %s", (host, name) => {
    expect(hostnameOf(host)).toBe(name);
  });

  it("is read once, however many dots it has: the square of so many would not end in the time of a test", () => {
    const host = `${".".repeat(500_000)}x`;
    expect(hostnameOf(host)).toBe(host);
  });

  it("that is not named is allowed only where every host is", () => {
    expect([isHostAllowed(from(), {}), isHostAllowed(from(), { HOSTS: "a.example" })]).toEqual([true, false]);
  });
});
