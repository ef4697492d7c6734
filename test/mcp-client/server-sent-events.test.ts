// Server-sent events, however their bytes are cut: lines that end in three ways, data in several lines, ids and pauses.

import { describe, expect, test } from "vitest";
import { EventParser, type ServerSentEvent } from "../../src/mcp-client/server-sent-events.ts";

const MEBIBYTE = 1024 * 1024;

function parse(stream: string | Uint8Array, size: number, parser = new EventParser(MEBIBYTE)): ServerSentEvent[] {
  const bytes = typeof stream === "string" ? Buffer.from(stream) : stream;
  const events: ServerSentEvent[] = [];
  for (let at = 0; at < bytes.length; at += size) events.push(...parser.push(bytes.subarray(at, at + size)));
  return events;
}

const said = (events: readonly ServerSentEvent[]) => events.filter(({ data }) => data !== "");

const STREAM = [
  "\ufeffdata: marked",
  "",
  ": comment",
  "data: grüß",
  "data:  dich",
  "",
  "id: 1",
  "retry: 20",
  "data: first",
  "",
  "event: endpoint",
  "data:/post?sessionId=1",
  "",
  "event: message",
  "data",
  "data: second line",
  "",
  "id: bad\0id",
  "retry: soon",
  "unknown: field",
  "data: {\u2028}",
  "",
  "id: 2",
  "data:",
  "",
  "data: \ufeff mark",
  "",
  "data: never finished",
];

const EVENTS = [
  { name: "", data: "marked", lastEventId: undefined },
  { name: "", data: "grüß\n dich", lastEventId: undefined },
  { name: "", data: "first", lastEventId: "1" },
  { name: "endpoint", data: "/post?sessionId=1", lastEventId: "1" },
  { name: "message", data: "\nsecond line", lastEventId: "1" },
  { name: "", data: "{\u2028}", lastEventId: "1" },
  { name: "", data: "\ufeff mark", lastEventId: "2" },
];

describe.each([
  { ends: "LF", newline: "\n" },
  { ends: "CR", newline: "\r" },
  { ends: "CRLF", newline: "\r\n" },
])("lines that end with $ends", ({ newline }) => {
  const bytes = Buffer.from(STREAM.join(newline));

  test.each([1, 2, 3, 5, 7, 64, 10_000])("are the same events in pieces of %i bytes", (size) => {
    const parser = new EventParser(MEBIBYTE);
    expect(said(parse(bytes, size, parser))).toEqual(EVENTS);
    expect(parser.retryMs).toBe(20);
  });

  test("are the same events wherever they are cut once", () => {
    for (let at = 0; at <= bytes.length; at += 1) {
      const parser = new EventParser(MEBIBYTE);
      const events = [...parser.push(bytes.subarray(0, at)), ...parser.push(bytes.subarray(at))];
      expect(said(events), `cut at ${at}`).toEqual(EVENTS);
    }
  });
});

test("lines may end in different ways within one stream, in pieces of any size", () => {
  const stream = "data: a\r\n\n\ndata: b\r\rdata: c\n\r\ndata: d\r\n\r\n\n";
  for (const size of [1, 2, 3, 4, 100]) {
    expect(said(parse(stream, size)).map(({ data }) => data)).toEqual(["a", "b", "c", "d"]);
  }
});

test("an event without data says only where the stream stands, and an empty id that it cannot be resumed", () => {
  const parser = new EventParser(MEBIBYTE);
  expect(parse("id: 1\n\n", 100, parser)).toEqual([{ name: "", data: "", lastEventId: "1" }]);
  expect(parse("id\ndata: x\n\n", 100, parser)).toEqual([{ name: "", data: "x", lastEventId: undefined }]);
});

test("many events without data become one, with the last id", () => {
  const parser = new EventParser(MEBIBYTE);
  const stream = `${"id: 1\n\n".repeat(100_000)}id: 2\n\ndata: x\n\nid: 3\n\nid: 4\n\n`;
  expect(parser.push(Buffer.from(stream))).toEqual([
    { name: "", data: "x", lastEventId: "2" },
    { name: "", data: "", lastEventId: "4" },
  ]);
  expect(parser.lines).toBe(200_000 + 8);
});

test("a stream that is resumed stands where it stood until an event says otherwise", () => {
  const parser = new EventParser(MEBIBYTE, "before");
  expect(parse("data: x\n\nid: after\ndata: y\n\n", 100, parser).map(({ lastEventId }) => lastEventId)).toEqual([
    "before",
    "after",
  ]);
});

test("bytes that are no UTF-8 are replaced, and what follows is read", () => {
  const bytes = Buffer.concat([Buffer.from("data: "), Buffer.from([0xff, 0xc3]), Buffer.from("\n\ndata: y\n\n")]);
  expect(parse(bytes, 1).map(({ data }) => data)).toEqual(["\ufffd\ufffd", "y"]);
});

test.each([
  ["1.5", undefined],
  ["-1", undefined],
  ["", undefined],
  ["soon", undefined],
  ["0", 0],
  ["999999999", 999_999_999],
  ["99999999999", undefined],
])("retry: %s asks for a pause of %s", (value, retryMs) => {
  const parser = new EventParser(MEBIBYTE);
  parser.push(Buffer.from(`retry: ${value}\n`));
  expect(parser.retryMs).toBe(retryMs);
});

test("a line of ten megabytes in small pieces is one event", () => {
  const [event] = parse(`data: ${"x".repeat(10_000_000)}\n\n`, 16_384, new EventParser(11_000_000));
  expect(event?.data).toHaveLength(10_000_000);
});

describe("an event that is longer than it may be", () => {
  const LIMIT = 1000;

  test.each([
    ["in one line", `data: ${"x".repeat(LIMIT)}`],
    ["in many lines", "data: x\n".repeat(LIMIT)],
    ["in a comment", `:${"x".repeat(LIMIT)}`],
    ["in an id", `id: ${"x".repeat(LIMIT)}`],
  ])("is refused before it ends: %s", (_where, text) => {
    for (const size of [1, 100, 100_000]) {
      const parser = new EventParser(LIMIT);
      expect(parse(`data: before\n\n${text}`, size, parser).map(({ data }) => data)).toEqual(["before"]);
      expect(parser.isTooLong).toBe(true);
    }
  });

  test("is one event, and not many that are small, nor comments between them", () => {
    const parser = new EventParser(LIMIT);
    const stream = `data: ${"x".repeat(LIMIT - 100)}\n\n: keep-alive\n\n`.repeat(50);
    expect(said(parse(stream, 333, parser))).toHaveLength(50);
    expect(parser.isTooLong).toBe(false);
  });
});

test("a keep-alive is no event", () => {
  expect(parse(": x\n\n\n\nretry: 5\n\nevent: y\n\n", 3)).toEqual([]);
});

test("a stream of short lines costs no more than its bytes", () => {
  const parser = new EventParser(64 * MEBIBYTE);
  // Each search for the other kind of line end would go through all that is left.
  expect(said(parser.push(Buffer.from("data: x\n\n".repeat(300_000))))).toHaveLength(300_000);
});

test.each([
  ["beyond ASCII", "gr\u00fc\u00df"],
  ["with a control character", "a\u0007b"],
  ["of thousands of characters", "x".repeat(5000)],
])("an id %s is one that no header carries everywhere, and resumes nothing", (_what, id) => {
  const [event] = said(parse(`id: before\n\nid: ${id}\ndata: x\n\n`, 1000));
  expect(event).toEqual({ name: "", data: "x", lastEventId: undefined });
});
