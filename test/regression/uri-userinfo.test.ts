// Only scheme and host of a URI are the same in either case; RFC 3986 section 6.2.2.1.
import { expect, test } from "vitest";
import { parseUri } from "../../src/protocol/uri.ts";

test("a name and a password before the host keep their case", () => {
  expect(parseUri("https://User:Pass@Example.com:80/A")).toEqual({ uri: "https://User:Pass@example.com:80/A" });
  expect(parseUri("ftp://Ann@H/")).not.toEqual(parseUri("ftp://ann@H/"));
});

test("escapes in a host stay in capitals", () => {
  expect(parseUri("http://caf%c3%a9.EXAMPLE/")).toEqual({ uri: "http://caf%C3%A9.example/" });
});
