// What a server asks, seen alone: how many questions are open at once, how much is sent back at most, and what happens to ids that
// it uses twice.

import { describe, expect, test } from "vitest";
import { sendOneWayWithRetry } from "../../src/mcp-client/channel-2025.ts";
import { McpFault } from "../../src/mcp-client/fault.ts";
import { parseServerMessage, type NotificationMessage, type RequestMessage } from "../../src/mcp-client/message.ts";
import { QuestionDispatcher, type HandleQuestion } from "../../src/mcp-client/question-dispatcher.ts";
import { ManualClock } from "./manual-clock.ts";

function ask(id: string | number, method = "roots/list"): RequestMessage {
  return parseServerMessage(JSON.stringify({ jsonrpc: "2.0", id, method, params: {} })) as RequestMessage;
}

function takenBack(requestId: unknown): NotificationMessage {
  const message = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } };
  return parseServerMessage(JSON.stringify(message)) as NotificationMessage;
}

/** Until all that can be answered at once has been. */
const settled = async () => new Promise((resolve) => setImmediate(resolve));

const never: HandleQuestion = async () => new Promise(() => {});
const atOnce: HandleQuestion = async () => ({});

/** Questions to a server of which a test says when it takes what it is told. */
function asking(answer: HandleQuestion, take: () => Promise<void> = async () => {}) {
  const clock = new ManualClock();
  const notifications: string[] = [];
  const tell = async (text: string) => {
    notifications.push(text);
    await take();
  };
  // As `ask2025` does it.
  const questions = new QuestionDispatcher(
    answer,
    async (text, mayRepeat) => sendOneWayWithRetry({ sendOneWay: tell }, text, { clock, mayRetry: mayRepeat }),
    clock,
  );
  return { clock, notifications, questions };
}

const busy = async () => Promise.reject(new McpFault({ kind: "lost", stage: "headers", code: undefined, sent: "yes" }));

describe("the number of messages that a server can have us send", () => {
  test("is no more at once than a server needs, of pongs, refusals and answers together", async () => {
    const taken: (() => void)[] = [];
    const { notifications, questions } = asking(atOnce, async () => new Promise((resolve) => void taken.push(resolve)));
    for (let count = 0; count < 20; count += 1) questions.dispatch(ask(`p-${count}`, "ping"));
    for (let count = 0; count < 100; count += 1) questions.dispatch(ask(`q-${count}`));
    await settled();
    expect(notifications).toHaveLength(32);
    // Answers wait for their turn. Pings do not: there is no use in a late pong.
    questions.dispatch(ask("late", "ping"));
    for (let count = 0; count < 200; count += 1) {
      taken.shift()?.();
      await settled();
    }
    expect(notifications.filter((text) => text.includes('"id":"q-') && text.includes("result"))).toHaveLength(32);
    expect(notifications.some((text) => text.includes("late"))).toBe(false);
    // The refusals that had a place: the other questions are passed over.
    expect(notifications.filter((text) => text.includes("Too many questions"))).toHaveLength(12);
    expect(notifications).toHaveLength(20 + 12 + 32);
  });

  test("is no more in all, of pings that are taken at once", async () => {
    const { notifications, questions } = asking(never);
    for (let count = 0; count < 600; count += 1) {
      questions.dispatch(ask(count, "ping"));
      await settled();
    }
    expect(notifications).toHaveLength(500);
  });

  test.each([
    { what: "pings", method: "ping" },
    { what: "questions", method: "roots/list" },
  ])("is no more in all where the server takes nothing, of $what", async ({ method }) => {
    const { notifications, questions, clock } = asking(atOnce, busy);
    const began = clock.now();
    for (let count = 0; count < 1000; count += 1) {
      questions.dispatch(ask(count, method));
      await settled();
      if ((count + 1) % 32 !== 0) continue;
      // The pauses of all answers that are to be sent again.
      for (const waitMs of [100, 500, 2000]) {
        clock.advance(waitMs);
        await settled();
      }
    }
    expect(notifications.length).toBeGreaterThan(400);
    expect(notifications.length).toBeLessThanOrEqual(500 + (2 * (clock.now() - began)) / 1000);
    questions.close();
  });

  test("does not end the pongs of a call that takes hours", async () => {
    const { notifications, questions, clock } = asking(never);
    for (let count = 0; count < 2 * 3600; count += 1) {
      questions.dispatch(ask(count, "ping"));
      await settled();
      clock.advance(1000);
    }
    expect(notifications).toHaveLength(2 * 3600);
  });

  test("has one attempt for each pong and each refusal, and four for an answer", async () => {
    const { notifications, questions, clock } = asking(atOnce, busy);
    questions.dispatch(ask("p", "ping"));
    questions.dispatch(ask("q"));
    await settled();
    for (const waitMs of [100, 500, 2000]) {
      clock.advance(waitMs);
      await settled();
    }
    expect(notifications.map((text) => (JSON.parse(text) as { id: string }).id)).toEqual(["p", "q", "q", "q", "q"]);
    const full = asking(never, busy);
    for (let count = 0; count < 33; count += 1) full.questions.dispatch(ask(count));
    await settled();
    expect(full.notifications).toEqual([expect.stringContaining("Too many questions")]);
    expect(full.clock.pending).toEqual([]);
    full.questions.close();
  });
});

describe("questions that are open", () => {
  test("are at most thirty-two, under however few ids, and all end with the work", async () => {
    const signals: AbortSignal[] = [];
    const { questions } = asking(async ({ signal }) => {
      signals.push(signal);
      return new Promise(() => {});
    });
    for (let count = 0; count < 400; count += 1) {
      questions.dispatch(ask("q"));
      // Taken back, so that the id is free again, and still worked on.
      questions.withdraw(takenBack("q"));
    }
    for (let count = 0; count < 400; count += 1) questions.dispatch(ask(count));
    await settled();
    expect(signals).toHaveLength(32);
    questions.close();
    expect(signals.filter(({ aborted }) => aborted)).toHaveLength(32);
  });

  test("are asked once each: an id that is open already has its answer to come", async () => {
    const answers: ((result: Record<string, unknown>) => void)[] = [];
    const { notifications, questions } = asking(async () => new Promise((resolve) => void answers.push(resolve)));
    for (let count = 0; count < 400; count += 1) questions.dispatch(ask("q"));
    expect(answers).toHaveLength(1);
    answers[0]?.({ first: true });
    await settled();
    expect(notifications).toEqual(['{"jsonrpc":"2.0","id":"q","result":{"first":true}}']);
    questions.dispatch(ask("q"));
    expect(answers).toHaveLength(2);
    questions.close();
  });

  test("are places that are free again when they have been answered", async () => {
    const { notifications, questions } = asking(atOnce);
    for (let count = 0; count < 100; count += 1) {
      questions.dispatch(ask(count));
      await settled();
    }
    expect(notifications.filter((text) => text.includes("result"))).toHaveLength(100);
  });

  test("are dropped when the work is over, and nothing is told", async () => {
    const taken: (() => void)[] = [];
    const { notifications, questions } = asking(atOnce, async () => new Promise((resolve) => void taken.push(resolve)));
    for (let count = 0; count < 32; count += 1) questions.dispatch(ask(`p-${count}`, "ping"));
    questions.dispatch(ask("waits"));
    await settled();
    questions.close();
    questions.dispatch(ask("later"));
    questions.dispatch(ask("later", "ping"));
    for (const free of taken.splice(0)) free();
    await settled();
    expect(notifications).toHaveLength(32);
  });
});

test("a question under the id of one that was taken back is a question of its own", async () => {
  const answers: ((result: Record<string, unknown>) => void)[] = [];
  const { notifications, questions } = asking(async () => new Promise((resolve) => void answers.push(resolve)));
  questions.dispatch(ask("q"));
  expect(questions.withdraw(takenBack("q"))).toBe(true);
  questions.dispatch(ask("q"));
  answers[0]?.({ first: true });
  answers[1]?.({ second: true });
  await settled();
  expect(notifications).toEqual(['{"jsonrpc":"2.0","id":"q","result":{"second":true}}']);
  expect(questions.withdraw(takenBack("q"))).toBe(false);
});

test("an answer that cannot be sent throws nowhere", async () => {
  const { questions } = asking(atOnce, async () => Promise.reject(new Error("gone")));
  questions.dispatch(ask("q"));
  questions.dispatch(ask("p", "ping"));
  await settled();
  expect(questions.withdraw(takenBack("q"))).toBe(false);
});
