import { describe, expect, it } from "vitest";
import { getRawArguments } from "../../../src/gateway/guard/raw-arguments.ts";

const BIG = '{"id":12345678901234567890,"x":0.12345678901234567}';
const message = (args: string) =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"go","arguments":${args}}}`;

describe("arguments with long numbers", () => {
  it("are taken as the client wrote them", () => {
    expect(getRawArguments(message(BIG), JSON.parse(BIG))).toBe(BIG);
  });

  it.each([
    ["there is no request", undefined, BIG],
    ["no number is long", message('{"id":1}'), '{"id":1}'],
    [
      "the long number stands elsewhere",
      message('{"id":1}').replace('"id":1,', '"id":"12345678901234567890",'),
      '{"id":1}',
    ],
    ["the message is one of several", `[${message(BIG)}]`, BIG],
    ["they are those of another call", message('{"id":12345678901234567999}'), '{"id":1}'],
    [
      "a member of them stands there twice, of which others read the first",
      message('{"path":"/secret","id":12345678901234567890,"p\\u0061th":"/open"}'),
      '{"path":"/open","id":12345678901234567890}',
    ],
    ["they stand there twice", message(`{},"arguments":${BIG}`), BIG],
  ])("are taken as they were parsed where %s", (_why, sent, args) => {
    expect(getRawArguments(sent, JSON.parse(args))).toBeUndefined();
  });
});
