import { describe, expect, test } from "vitest";
import { openEvents } from "../../support/event-reader.ts";
import { fixtureOrigin } from "../../support/fixture-origin.ts";
import { client2025, post, REVISIONS_2025, type Json } from "../../support/mcp-client.ts";
import { expectOfficial } from "../../support/official-schema.ts";

const lab = `${fixtureOrigin()}/mcp/lab`;
const EVERYTHING = { elicitation: {}, sampling: {} };

/** Calls the tool, answers its first question, and says both the question's params and the text of the result. */
async function ask(revision: string, kind: string, answers: readonly Json[] = []) {
  const client = await client2025(lab, revision, EVERYTHING);
  const stream = await openEvents(lab, {
    method: "POST",
    headers: { "content-type": "application/json", ...client.headers },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: "call",
      method: "tools/call",
      params: { name: "lab_ask", arguments: { kind } },
    }),
  });
  const questions: Json[] = [];
  const open = [...answers];
  for (;;) {
    const message = await stream.message((one) => one.id !== undefined);
    if (message.method === undefined) {
      const { content, isError } = message.result as { content: readonly Json[]; isError?: boolean };
      await stream.close();
      return { questions, text: String(content[0]?.["text"]), isError };
    }
    // 2024-11-05 and 2025-03-26 have no forms: who declares them takes those of 2025-06-18.
    const words = message.method === "elicitation/create" && revision < "2025-06-18" ? "2025-06-18" : revision;
    expectOfficial(words, message, { direction: "server" });
    questions.push(message.params as Json);
    await post(lab, { jsonrpc: "2.0", id: message.id, result: open.shift() }, { headers: client.headers });
  }
}

const accept = (content: Json): Json => ({ action: "accept", content });
const propertiesOf = (params: Json = {}) => (params["requestedSchema"] as Json)["properties"] as Json;

describe.each(REVISIONS_2025.filter((revision) => revision < "2025-11-25"))("a form in %s", (revision) => {
  test("names its choices by enumNames, and asks for a list as a text", async () => {
    const { questions, text } = await ask(revision, "choices", [
      accept({ size: "l", colours: "red , blue,", extras: "" }),
    ]);
    expect(propertiesOf(questions[0])).toEqual({
      size: { type: "string", title: "Size", enum: ["s", "l"], enumNames: ["Small", "Large"] },
      colours: { type: "string", title: "Colours", description: "(with commas: red, blue)" },
      extras: { type: "string", description: "(with commas: x)" },
      note: { type: "string", maxLength: 5 },
    });
    expect(JSON.parse(text)).toEqual({ size: "l", colours: ["red", "blue"], extras: [] });
  });

  test("is asked again if the answer's list has an unknown choice", async () => {
    const wrong = accept({ size: "l", colours: "green" });
    const { questions, text } = await ask(revision, "choices", [wrong, accept({ size: "s", colours: "blue" })]);
    expect(questions).toHaveLength(2);
    expect(JSON.parse(text)).toEqual({ size: "s", colours: ["blue"] });
  });

  test("of several content blocks is put to a model as several messages", async () => {
    const result = { role: "assistant", content: { type: "text", text: "Yes." }, model: "m" };
    const { questions, text } = await ask(revision, "blocks", [result]);
    expect(questions[0]?.["messages"]).toEqual([
      { role: "user", content: { type: "text", text: "One." } },
      { role: "user", content: { type: "image", data: "AAAA", mimeType: "image/png" } },
    ]);
    expect(JSON.parse(text)).toEqual(result);
  });
});

test("a form in 2025-11-25 is put as it was written", async () => {
  const { questions, text } = await ask("2025-11-25", "choices", [accept({ size: "s", colours: ["red"] })]);
  expect(propertiesOf(questions[0])).toMatchObject({ colours: { type: "array" }, size: { oneOf: [{}, {}] } });
  expect(JSON.parse(text)).toEqual({ size: "s", colours: ["red"] });
});

test.each(REVISIONS_2025.slice(1))("in %s audio is put to a model", async (revision) => {
  const result = { role: "assistant", content: { type: "text", text: "A bell." }, model: "m" };
  const { questions, text } = await ask(revision, "audio", [result]);
  expect([questions.length, JSON.parse(text)]).toEqual([1, result]);
});

test("in 2024-11-05 audio is not sent, and the tool gets the reason", async () => {
  const client = await client2025(lab, "2024-11-05", EVERYTHING);
  const { result, messages } = await client.request("tools/call", { name: "lab_ask", arguments: { kind: "audio" } });
  expect(messages).toHaveLength(1);
  const text = "lab_ask: the client's revision 2024-11-05 does not support audio";
  expect(result).toEqual({ content: [{ type: "text", text }], isError: true });
});
