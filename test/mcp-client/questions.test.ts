// What a server asks, seen alone: how many answers it gets at most, and what happens to ids that it uses twice.

import { expect, test } from "vitest";
import { readMessage, type NotificationMessage, type RequestMessage } from "../../src/mcp-client/message.ts";
import { Questions } from "../../src/mcp-client/questions.ts";

function asked(id: string | number, method: string): RequestMessage {
  return readMessage(JSON.stringify({ jsonrpc: "2.0", id, method, params: {} })) as RequestMessage;
}

function takenBack(requestId: unknown): NotificationMessage {
  const message = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } };
  return readMessage(JSON.stringify(message)) as NotificationMessage;
}

/** Until all that can be answered at once has been. */
const settled = async () => new Promise((resolve) => setImmediate(resolve));

test("a server gets no more answers to one request than it could need", async () => {
  let told = 0;
  const questions = new Questions(
    async () => ({}),
    async () => void (told += 1),
  );
  for (let count = 0; count < 600; count += 1) questions.take(asked(count, "ping"));
  await settled();
  expect(told).toBe(500);
});

test("a question under the id of one that was taken back is a question of its own", async () => {
  const told: string[] = [];
  const answers: ((result: Record<string, unknown>) => void)[] = [];
  const questions = new Questions(
    async () => new Promise((resolve) => void answers.push(resolve)),
    async (text) => void told.push(text),
  );
  questions.take(asked("q", "roots/list"));
  expect(questions.takeBack(takenBack("q"))).toBe(true);
  questions.take(asked("q", "roots/list"));
  answers[0]?.({ first: true });
  answers[1]?.({ second: true });
  await settled();
  expect(told).toEqual(['{"jsonrpc":"2.0","id":"q","result":{"second":true}}']);
  expect(questions.takeBack(takenBack("q"))).toBe(false);
});

test("an answer that cannot be sent is nobody's error", async () => {
  const questions = new Questions(
    async () => ({}),
    async () => Promise.reject(new Error("gone")),
  );
  questions.take(asked("q", "roots/list"));
  questions.take(asked("p", "ping"));
  await settled();
  expect(questions.takeBack(takenBack("q"))).toBe(false);
});
