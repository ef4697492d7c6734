// What a text is as JSON-RPC: which kind of message, with the text of its parts untouched, or why it is none.

import { describe, expect, test } from "vitest";
import {
  paramsOf,
  parseServerMessage,
  parseServerMessages,
  resultOf,
  rpcErrorOf,
  type Message,
  type ResponseMessage,
} from "../../src/mcp-client/message.ts";

function read(text: string): Message {
  const message = parseServerMessage(text);
  if (message.kind === "unreadable") throw new Error(message.why);
  return message;
}

describe("a message", () => {
  test("with a method and an id is a request", () => {
    const text = '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{ "n": 1.0 }}';
    const message = read(text);
    expect(message).toMatchObject({ kind: "request", id: "q", method: "elicitation/create", text });
    expect(message).toMatchObject({ params: '{ "n": 1.0 }' });
    expect(message.value()).toEqual({ jsonrpc: "2.0", id: "q", method: "elicitation/create", params: { n: 1 } });
  });

  test("with a method alone is a notification, whose params may be missing", () => {
    const message = read('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');
    expect(message).toMatchObject({ kind: "notification", method: "notifications/tools/list_changed" });
    expect(message.kind === "notification" && paramsOf(message)).toEqual({});
  });

  test("with a result is a response, and the result is the text that was written", () => {
    const message = read(
      '{"result":{ "big":12345678901234567890,"one":1.0 },"id":7,"jsonrpc":"2.0"}',
    ) as ResponseMessage;
    expect(message).toMatchObject({ kind: "response", id: 7, error: undefined });
    expect(message.result).toBe('{ "big":12345678901234567890,"one":1.0 }');
    expect(resultOf(message)).toEqual({ big: Number("12345678901234567890"), one: 1 });
  });

  test("with an error is a response, and the error is kept whole", () => {
    const message = read('{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"No","data":{"a":[1]}}}');
    expect(rpcErrorOf(message as ResponseMessage)).toEqual({ code: -32602, message: "No", data: { a: [1] } });
  });

  test.each([
    ["null", '"id":null,', null],
    ["none", "", undefined],
    ["huge, as a number", '"id":9007199254740993000,', 9007199254740993000],
    ["huge, as a text", `"id":"${"x".repeat(100_000)}",`, "x".repeat(100_000)],
  ])("may answer with an id that is %s", (_what, member, id) => {
    expect(read(`{"jsonrpc":"2.0",${member}"error":{"code":1,"message":"No"}}`)).toMatchObject({
      kind: "response",
      id,
    });
  });

  test("may have a member that says null beside the one that counts", () => {
    expect(read('{"jsonrpc":"2.0","id":1,"result":{},"error":null}')).toMatchObject({ result: "{}", error: undefined });
    expect(read('{"jsonrpc":"2.0","method":"m","params":null}')).toMatchObject({
      kind: "notification",
      params: undefined,
    });
  });

  test("has an error with a code and words, whatever the server left out", () => {
    const message = read('{"jsonrpc":"2.0","id":1,"error":{"code":"bad"}}') as ResponseMessage;
    expect(rpcErrorOf(message)).toEqual({ code: -32603, message: "" });
  });
});

test.each([
  ["half a JSON", '{"jsonrpc":"2.0"', "invalidJson"],
  ["a page", "<html>", "invalidJson"],
  ["a text", '"ping"', "invalidJson"],
  ["another version", '{"jsonrpc":"1.0","id":1,"result":{}}', "notJsonRpc"],
  ["no version", '{"id":1,"result":{}}', "notJsonRpc"],
  ["an id that is an object", '{"jsonrpc":"2.0","id":{},"result":{}}', "notJsonRpc"],
  ["a request with the id null", '{"jsonrpc":"2.0","id":null,"method":"ping"}', "notJsonRpc"],
  ["a method that is no text", '{"jsonrpc":"2.0","id":1,"method":5}', "notJsonRpc"],
  ["a method and a result", '{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}', "notJsonRpc"],
  ["neither method nor answer", '{"jsonrpc":"2.0","id":1}', "notJsonRpc"],
  ["a result and an error", '{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', "notJsonRpc"],
  ["a result that is a list", '{"jsonrpc":"2.0","id":1,"result":[]}', "notJsonRpc"],
  ["two ids", '{"jsonrpc":"2.0","id":1,"id":2,"result":{}}', "notJsonRpc"],
  ["two results, one of them in disguise", '{"jsonrpc":"2.0","id":1,"result":{},"r\\u0065sult":{}}', "notJsonRpc"],
])("%s is no message", (_what, text, rule) => {
  expect(parseServerMessage(text)).toMatchObject({ kind: "unreadable", rule });
});

describe("a batch", () => {
  const note = '{"jsonrpc":"2.0","method":"notifications/message","params":{}}';
  const answer = '{"jsonrpc":"2.0","id":1,"result":{}}';

  test("is its messages, each with its own text", () => {
    const messages = parseServerMessages(` [${note} , ${answer}]`);
    expect(messages).toMatchObject([
      { kind: "notification", text: note },
      { kind: "response", text: answer },
    ]);
  });

  test.each([
    ["empty", "[]"],
    ["with something else in it", `[${answer},1]`],
  ])("that is %s is no message", (_what, text) => {
    expect(parseServerMessages(text)).toMatchObject({ kind: "unreadable" });
  });

  test("has a thousand messages at most, and a message few members, whatever their text may hold", () => {
    expect(parseServerMessages(`[${Array.from({ length: 1001 }, () => answer).join(",")}]`)).toMatchObject({
      kind: "unreadable",
    });
    const members = Array.from({ length: 60 }, (_none, at) => `"x${at}":1`).join(",");
    expect(parseServerMessages(`{"jsonrpc":"2.0","id":1,"result":{},${members}}`)).toMatchObject({
      kind: "unreadable",
    });
  });

  test("may have one message, and a message may come without a batch", () => {
    expect(parseServerMessages(`[${answer}]`)).toMatchObject([{ kind: "response" }]);
    expect(parseServerMessages(answer)).toMatchObject([{ kind: "response" }]);
  });
});
