import { describe, expect, test } from "vitest";
import { encodeCursor } from "../../../src/protocol/cursor.ts";
import type { JsonObject } from "../../../src/protocol/jsonrpc.ts";
import { DEFINITIONS_PER_PAGE } from "../../../src/protocol/methods/lists.ts";
import {
  answerOf,
  callOf,
  FakeRequestHandlers,
  promptOf,
  REVISIONS,
  templateOf,
  toolOf,
} from "../../support/fake-request-handlers.ts";
import { expectOfficial } from "../../support/official-schema.ts";

const COUNT = 2 * DEFINITIONS_PER_PAGE + 1;
const names = (prefix: string) => Array.from({ length: COUNT }, (_, at) => `${prefix}${at}`);

const LISTS = [
  { method: "tools/list", member: "tools", key: "name", all: names("tool-") },
  { method: "prompts/list", member: "prompts", key: "name", all: names("prompt-") },
  { method: "resources/templates/list", member: "resourceTemplates", key: "uriTemplate", all: names("x:{a}/") },
] as const;

const filled = () =>
  new FakeRequestHandlers({
    tools: names("tool-").map((name) => toolOf(name)),
    prompts: names("prompt-").map((name) => promptOf(name)),
    templates: names("x:{a}/").map((uriTemplate) => templateOf(uriTemplate)),
  });

describe.each(REVISIONS)("in %s", (revision) => {
  const hint = revision === "2026-07-28" ? { ttlMs: 5000, cacheScope: "public" } : {};

  describe.each(LISTS)("$method", ({ method, member, key, all }) => {
    const ask = async (params: JsonObject, handlers = filled()) => answerOf(callOf(revision, method, params), handlers);

    test("is read to its end by following cursors, each page valid and hinted alike", async () => {
      const seen: unknown[] = [];
      const sizes: number[] = [];
      let cursor: string | undefined;
      do {
        const answer = await ask(cursor === undefined ? {} : { cursor });
        expectOfficial(revision, answer.message, { direction: "server", method });
        expect(answer.result).toMatchObject(hint);
        const items = answer.result[member] as JsonObject[];
        sizes.push(items.length);
        seen.push(...items.map((item) => item[key]));
        cursor = answer.result.nextCursor as string | undefined;
      } while (cursor !== undefined);
      expect(seen).toEqual(all);
      expect(sizes).toEqual([DEFINITIONS_PER_PAGE, DEFINITIONS_PER_PAGE, 1]);
    });

    test("has one page without a cursor when everything fits", async () => {
      const { result, message } = await ask({}, new FakeRequestHandlers());
      expect(result[member]).toEqual([]);
      expect(result).not.toHaveProperty("nextCursor");
      expectOfficial(revision, message, { direction: "server", method });
    });

    test(`starts over at a cursor of null or "" in era 2025, and refuses it in 2026`, async () => {
      for (const cursor of [null, ""]) {
        const { error, result } = await ask({ cursor });
        if (revision === "2026-07-28") expect(error).toMatchObject({ code: -32602, data: { path: "cursor" } });
        else expect(result).toEqual((await ask({})).result);
      }
    });

    test("refuses the cursors of the other lists, and what is no cursor", async () => {
      const others = ["tools", "prompts", "resourceTemplates", "resources"].filter((list) => list !== member);
      const foreign = others.map((list) => encodeCursor(list, String(DEFINITIONS_PER_PAGE)));
      for (const cursor of [...foreign, "250", "nonsense", 5, {}]) {
        const { error, status } = await ask({ cursor });
        expect(error).toMatchObject({ code: -32602, data: { path: "cursor" } });
        expect(status).toBe(200);
      }
    });
  });

  test("a list is the same every time", async () => {
    const handlers = filled();
    const first = await answerOf(callOf(revision, "tools/list"), handlers);
    expect(await answerOf(callOf(revision, "tools/list"), handlers)).toEqual(first);
  });
});

test("the first page is encoded once for a view and a revision, and anew for another view", async () => {
  let read = 0;
  const handlers = () =>
    Object.defineProperty(new FakeRequestHandlers(), "tools", {
      get: () => {
        read += 1;
        return [toolOf("a")];
      },
    });
  const view = handlers();
  for (const revision of REVISIONS) {
    await answerOf(callOf(revision, "tools/list"), view);
    await answerOf(callOf(revision, "tools/list"), view);
  }
  expect(read).toBe(REVISIONS.length);
  await answerOf(callOf("2026-07-28", "tools/list"), handlers());
  expect(read).toBe(REVISIONS.length + 1);
});

test("two views never share an encoding", async () => {
  const one = new FakeRequestHandlers({ tools: [toolOf("one")] });
  const two = new FakeRequestHandlers({ tools: [toolOf("two")] });
  for (const [handlers, name] of [
    [one, "one"],
    [two, "two"],
    [one, "one"],
  ] as const) {
    const { result } = await answerOf(callOf("2026-07-28", "tools/list"), handlers);
    expect(result.tools).toMatchObject([{ name }]);
  }
});
