// What an upstream asks, in the words of the client's revision, and what the upstream is answered.

import { describe, expect, it } from "vitest";
import { Deadline } from "../../src/gateway/call-deadline.ts";
import { answerThrough } from "../../src/gateway/forward-question.ts";
import { AnswerRoom } from "../../src/gateway/guard/answer-room.ts";
import { Redaction } from "../../src/gateway/guard/redaction.ts";
import { NO_SINK } from "../../src/http/call-sink.ts";
import type { PutQuestion, QuestionPort } from "../../src/protocol/call.ts";
import { DIALECTS, REVISIONS_2025, type Revision } from "../../src/protocol/era.ts";
import type { JsonObject } from "../../src/protocol/jsonrpc.ts";

const EARLIER = REVISIONS_2025.filter((revision) => revision < "2025-11-25");
const SECRET = "what-the-tracker-wants";
const FORM = {
  message: `Which, ${SECRET}?`,
  requestedSchema: {
    type: "object",
    properties: {
      size: {
        type: "string",
        oneOf: [
          { const: "s", title: "Small" },
          { const: "l", title: "Large" },
        ],
      },
      colours: { type: "array", title: "Colours", items: { type: "string", enum: ["red", "blue"] } },
    },
  },
};
const text = (said: string) => ({ type: "text", text: said });
const AUDIO = { type: "audio", data: "AAAA", mimeType: "audio/wav" };

/** An upstream asks once, and the client of this revision gives this result. */
async function asked(revision: Revision, method: string, params: JsonObject, result: JsonObject = {}) {
  const put: PutQuestion[] = [];
  const port: QuestionPort = {
    nonce: undefined,
    memos: {},
    ask: async (questions) => {
      put.push(...questions);
      return new Map(questions.map(({ digest }) => [digest, { result }]));
    },
    withdraw: () => {},
  };
  const deadline = new Deadline(60_000, NO_SINK.cancelled, { waitUntil: () => {} });
  const room = new AnswerRoom(crypto.randomUUID());
  const work = { call: { dialect: DIALECTS[revision] }, deadline, redaction: Redaction.of([SECRET]), room };
  let waited = 0;
  const answer = answerThrough(port, work, () => (waited += 1));
  const said = await answer({ method, params, signal: new AbortController().signal }).finally(() => deadline.end());
  return { put: put.map((one) => one.params), said, waited };
}

describe.each(EARLIER)("a form of an upstream, to a client of %s", (revision) => {
  it("names its choices by enumNames, asks for a list as a text, and the upstream gets the list", async () => {
    const result = { action: "accept", content: { size: "l", colours: "red , blue," } };
    const { put, said } = await asked(revision, "elicitation/create", FORM, result);
    expect(put).toEqual([
      {
        message: "Which, [redacted]?",
        requestedSchema: {
          type: "object",
          properties: {
            size: { type: "string", enum: ["s", "l"], enumNames: ["Small", "Large"] },
            colours: { type: "string", title: "Colours", description: "(with commas: red, blue)" },
          },
        },
      },
    ]);
    expect(said).toEqual({ action: "accept", content: { size: "l", colours: ["red", "blue"] } });
  });

  it("of several blocks for a model is several messages", async () => {
    const params = { maxTokens: 5, messages: [{ role: "user", content: [text("One."), text("Two.")] }] };
    const { put } = await asked(revision, "sampling/createMessage", params);
    expect(put).toEqual([
      {
        maxTokens: 5,
        messages: [
          { role: "user", content: text("One.") },
          { role: "user", content: text("Two.") },
        ],
      },
    ]);
  });

  it("that is no form fails, and nobody is asked", async () => {
    const params = { message: "?", requestedSchema: { type: "object", properties: { a: null } } };
    await expect(asked(revision, "elicitation/create", params)).rejects.toThrow(TypeError);
  });
});

it.each(["2025-11-25", "2026-07-28"] as const)("a form goes to a client of %s as it was written", async (revision) => {
  const result = { action: "accept", content: { size: "l", colours: ["red"] } };
  const { put, said } = await asked(revision, "elicitation/create", FORM, result);
  expect(put).toEqual([{ ...FORM, message: "Which, [redacted]?" }]);
  expect(said).toEqual(result);
});

describe("audio for a model", () => {
  const params = { maxTokens: 5, messages: [{ role: "user", content: AUDIO }] };

  it("is asked of nobody in 2024-11-05, and the upstream is told why", async () => {
    const { put, said, waited } = await asked("2024-11-05", "sampling/createMessage", params);
    expect({ put, said, waited }).toEqual({
      put: [],
      said: "the client's revision 2024-11-05 knows no audio",
      waited: 0,
    });
  });

  it.each(REVISIONS_2025.slice(1))("is asked in %s", async (revision) => {
    expect((await asked(revision, "sampling/createMessage", params)).put).toEqual([params]);
  });
});

it("a question without params is put without, in every revision", async () => {
  for (const revision of REVISIONS_2025) expect((await asked(revision, "roots/list", {})).put).toEqual([{}]);
});
