import { format as library } from "@cfworker/json-schema";
import { describe, expect, it } from "vitest";
import { isOfFormat } from "../../src/handlers/text-formats.ts";

const TEXTS: Readonly<Record<string, readonly string[]>> = {
  date: ["2024-02-29", "1900-02-29", "2023-04-31", "0000-01-01", "2023-00-10", "2023-13-01", "2023-02-32", "2023-2-3"],
  time: ["12:30:45Z", "23:59:60Z", "22:59:60-01:00", "00:59:60+01:00", "12:59:60Z", "24:00:00Z", "12:00:00", "1:0:0Z"],
  "date-time": ["2023-02-28T12:30:45Z", "2023-02-28 12:30:45.5+01:00", "2023-02-30T12:30:45Z", "2023-02-28T12:30:45"],
  duration: ["P1Y2M3DT4H5M6S", "P1W", "P1W1D", "P", "PT", "P1YT", "P1Y3D", "P1M3D", "PT1H5S", "P2DT5M", "T1S"],
  uri: [
    "http://a.b/c?d=e#f",
    "mailto:a@b.c",
    "mailto:",
    "http://[::1]:80/",
    "http://[v1.a:b]/",
    "http://[1::g]/",
    'a:"',
  ],
  "uri-reference": ["", "../x", "//h/p", "?q", "#f", 'a"b', '#"', "\\a", "a%", "a b", "http://[::]"],
  "uri-template": [
    "http://a/{b}",
    "{+a,b*}",
    "{a:3}",
    "{a:0}",
    "{a:10000}",
    "{",
    "}",
    "{a..b}",
    "a b",
    "%zz",
    "%41{%41}",
  ],
  email: [
    "a@b.c",
    ".a@b.c",
    "a.@b.c",
    "a..b@c.d",
    '"a b"@c.d',
    "a@[1.2.3.4]",
    "a@[IPv6:::1]",
    "a@[::1]",
    "a@b@c",
    "a@b..c",
  ],
  hostname: ["a.b.c", "-a", "a-", "a--b", "a_b", "a.", "a".repeat(63), "a".repeat(64), `${"a.".repeat(126)}ab`],
  ipv4: ["1.2.3.4", "255.255.255.255", "256.1.1.1", "1.2.3", "1.2.3.4.", "1.2.3.4.5", "01.2.3.4"],
  ipv6: [
    "::",
    "1::",
    "1:2:3:4:5:6:7::",
    "1::2:3:4:5:6:7:8",
    "::1.2.3.4",
    "::1.2.3",
    "1:2:3:4:5:6:7:1.2.3.4",
    "1::2::3",
    "::1%e",
  ],
  regex: ["a", "[", "\\Z", "\\\\Z", "\\p{L}", "\\a"],
  uuid: [
    "2eb8aa08-aa98-11ea-b4aa-73b441d16380",
    "2EB8AA08-AA98-11EA-B4AA-73B441D16380",
    "2eb8aa08aa9811eab4aa73b441d16380",
  ],
  "json-pointer": ["", "/a", "/~0~1", "/~2", "a", "//"],
  "json-pointer-uri-fragment": ["#", "#/a", "#/~0", "#/~", "#/%41", "#/a b", "/a", "#a"],
  "relative-json-pointer": ["0", "1/a", "0#", "01", "-1", "1/~2"],
};

describe("formats of texts", () => {
  it.each(Object.entries(TEXTS))("takes and refuses of %s what the library does", (format, texts) => {
    // Each text, and each that differs from it by one character.
    const near = texts.flatMap((text) => [
      text,
      ...Array.from(text).flatMap((_, at) =>
        ["", '"', "0", "9", ":", "z", "/", "~"].map((put) => text.slice(0, at) + put + text.slice(at + 1)),
      ),
    ]);
    const differing = near.filter((text) => isOfFormat(format, text) !== library[format]?.(text));
    // An address of IPv6 with an octet such as `01`, which RFC 3986 does not know.
    expect(differing.filter((text) => !/\[.*\.0\d/.test(text))).toEqual([]);
  });

  it("accepts any value of an unknown format, and has every format of the library", () => {
    expect(isOfFormat("colour", "red")).toBe(true);
    expect(Object.keys(library).filter((format) => format !== "url" && !(format in TEXTS))).toEqual([]);
  });

  it("reads a URL of the web in a time that does not grow with its letters", () => {
    expect(isOfFormat("url", `https://${"a".repeat(10_000)}.org`)).toBe(true);
    expect(["http://a", "mailto:a@b.c", "https://"].map((text) => isOfFormat("url", text))).toEqual([
      true,
      false,
      false,
    ]);
  });
});
