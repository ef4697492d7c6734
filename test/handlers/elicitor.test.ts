import { describe, expect, it } from "vitest";
import type { IdempotencyStore } from "../../src/handlers/idempotency.ts";
import { MissingCapabilityError, ReplayElicitor, type ReplayState } from "../../src/handlers/elicitor.ts";
import { StreamElicitor } from "../../src/handlers/stream-elicitor.ts";
import type { Question } from "../../src/handlers/question.ts";
import { LATEST_2025 } from "../../src/protocol/revisions.ts";
import type { JsonObject } from "../../src/protocol/jsonrpc.ts";

const EVERYTHING = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };
const NAME_FORM = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
const askName: Question = {
  method: "elicitation/create",
  params: { message: "Who?", requestedSchema: NAME_FORM },
};
const askRoots: Question = { method: "roots/list" };
const ada = { action: "accept", content: { name: "Ada" } };

function idempotencyStore(): IdempotencyStore & { readonly held: Map<string, string | undefined> } {
  const held = new Map<string, string | undefined>();
  return {
    held,
    claim: async (nonce, name) => {
      const key = `${nonce} ${name}`;
      const value = held.get(key);
      if (value !== undefined) return { state: "settled", value };
      if (held.has(key)) return { state: "unknown" };
      held.set(key, undefined);
      return { state: "claimed" };
    },
    settle: async (nonce, name, value) => {
      held.set(`${nonce} ${name}`, value);
    },
  };
}

/** Runs a handler once: what it returned, or what it asks and how it goes on. */
async function round<T>(
  handler: (elicitor: ReplayElicitor) => Promise<T>,
  about: { before?: ReplayState; fresh?: JsonObject; capabilities?: JsonObject; idempotency?: IdempotencyStore } = {},
) {
  const { before, fresh = {}, capabilities = EVERYTHING, idempotency = idempotencyStore() } = about;
  const elicitor = new ReplayElicitor(capabilities, before, fresh, idempotency);
  const suspended = new Promise<"suspended">((resolve) => {
    elicitor.onSuspend(() => {
      resolve("suspended");
    });
  });
  const value = await Promise.race([handler(elicitor), suspended]);
  // As it travels: through JSON, in the sealed state.
  const progress = JSON.parse(JSON.stringify(elicitor.replayState)) as ReplayState;
  return { value, asked: elicitor.inputRequests, progress };
}

describe("a question", () => {
  const handler = async (elicitor: ReplayElicitor) => (await elicitor.ask({ who: askName })).who;

  it("ends the call the first time and is answered the next", async () => {
    const first = await round(handler);
    expect(first).toMatchObject({ value: "suspended", asked: { who: askName } });
    const second = await round(handler, { before: first.progress, fresh: { who: ada } });
    expect(second).toMatchObject({ value: ada, asked: undefined });
  });

  it("is not asked of a client that answered before it was asked", async () => {
    expect(await round(handler, { fresh: { who: ada } })).toMatchObject({ value: ada, asked: undefined });
  });

  it("keeps its answer for all later rounds, where a new one changes nothing", async () => {
    const twice = async (elicitor: ReplayElicitor) => [
      await elicitor.ask({ who: askName }),
      await elicitor.ask({ where: askRoots }),
    ];
    const first = await round(twice);
    const second = await round(twice, { before: first.progress, fresh: { who: ada } });
    expect(second.asked).toEqual({ where: askRoots });
    const eve = { action: "accept", content: { name: "Eve" } };
    const third = await round(twice, { before: second.progress, fresh: { where: { roots: [] }, who: eve } });
    expect(third.value).toEqual([{ who: ada }, { where: { roots: [] } }]);
  });

  it("that changed is asked again, and neither an old nor a new answer to the old one counts", async () => {
    const first = await round(handler);
    const changed: Question = { ...askName, params: { ...askName.params, message: "Whose account is deleted?" } };
    const other = async (elicitor: ReplayElicitor) => (await elicitor.ask({ who: changed })).who;
    const second = await round(other, { before: first.progress, fresh: { who: ada } });
    expect(second).toMatchObject({ value: "suspended", asked: { who: changed } });
    const answered = await round(handler, { before: first.progress, fresh: { who: ada } });
    const third = await round(other, { before: answered.progress });
    expect(third).toMatchObject({ value: "suspended", asked: { who: changed } });
  });

  it("is the same question when only the order of its members differs", async () => {
    const first = await round(handler);
    const { message, requestedSchema } = askName.params as JsonObject;
    const reordered: Question = { params: { requestedSchema, message }, method: "elicitation/create" };
    const again = await round(async (elicitor) => (await elicitor.ask({ who: reordered })).who, {
      before: first.progress,
      fresh: { who: ada },
    });
    expect(again.value).toEqual(ada);
  });

  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["a text", "Ada"],
    ["null", null],
    ["a list", [ada]],
    ["no action", { content: { name: "Ada" } }],
    ["an unknown action", { action: "maybe" }],
    ["acceptance without content", { action: "accept" }],
    ["content that breaks the form", { action: "accept", content: { name: 7 } }],
  ])("is asked again when the answer is %s", async (_what, who) => {
    const first = await round(handler);
    const second = await round(handler, { before: first.progress, fresh: { who } });
    expect(second).toMatchObject({ value: "suspended", asked: { who: askName } });
    expect(second.progress.round).toBe(2);
  });

  it.each(["decline", "cancel"])("takes %s for an answer", async (action) => {
    expect((await round(handler, { fresh: { who: { action } } })).value).toEqual({ action });
  });

  it("may have any name", async () => {
    const named = (name: string) => async (elicitor: ReplayElicitor) =>
      (await elicitor.ask({ [name]: askRoots }))[name];
    for (const name of ["__proto__", "constructor", "toString", ""]) {
      const first = await round(named(name));
      expect(Object.keys(first.asked ?? {})).toEqual([name]);
      const fresh = JSON.parse(`{${JSON.stringify(name)}:{"roots":[]}}`) as JsonObject;
      const second = await round(named(name), { before: first.progress, fresh });
      expect(second.value, name).toEqual({ roots: [] });
    }
    expect({}).not.toHaveProperty("roots");
  });
});

describe("several questions", () => {
  const both = (elicitor: ReplayElicitor) => elicitor.ask({ who: askName, where: askRoots });

  it("go out together, and only what is missing again", async () => {
    const first = await round(both);
    expect(Object.keys(first.asked ?? {})).toEqual(["who", "where"]);
    const second = await round(both, { before: first.progress, fresh: { who: ada } });
    expect(Object.keys(second.asked ?? {})).toEqual(["where"]);
    const third = await round(both, { before: second.progress, fresh: { where: { roots: [] } } });
    expect(third.value).toEqual({ who: ada, where: { roots: [] } });
  });

  it("asked by parts of a handler at the same time are all seen", async () => {
    const parallel = (elicitor: ReplayElicitor) =>
      Promise.all([elicitor.ask({ who: askName }), elicitor.ask({ where: askRoots })]);
    const first = await round(async (elicitor) => {
      void parallel(elicitor);
      await scheduler.wait(1);
      return "looked";
    });
    expect(Object.keys(first.asked ?? {}).toSorted()).toEqual(["where", "who"]);
  });
});

describe("a client that cannot be asked", () => {
  it.each<[string, JsonObject, Question, string]>([
    ["a form", {}, askName, "elicitation"],
    ["a form, by a client of URLs", { elicitation: { url: {} } }, askName, "elicitation"],
    [
      "a URL",
      { elicitation: { form: {} } },
      { method: "elicitation/create", params: { mode: "url" } },
      "elicitation.url",
    ],
    ["its model", { roots: {} }, { method: "sampling/createMessage" }, "sampling"],
    [
      "its model with tools",
      { sampling: {} },
      { method: "sampling/createMessage", params: { tools: [] } },
      "sampling.tools",
    ],
    ["its roots", { sampling: {} }, askRoots, "roots"],
  ])("%s makes the question throw, and nothing is asked", async (_what, capabilities, question, capability) => {
    const ended = await round(
      (elicitor) => elicitor.ask({ can: askRoots, q: question }).catch((error: unknown) => error),
      { capabilities, fresh: {} },
    );
    expect(ended.value).toBeInstanceOf(MissingCapabilityError);
    const { capability: missing } = ended.value as MissingCapabilityError;
    expect(["roots", capability]).toContain(missing);
    expect(ended.asked).toBeUndefined();
  });

  it("gets an error in era 2025 if the request can carry no question", async () => {
    const silent = new StreamElicitor({ revision: LATEST_2025, capabilities: EVERYTHING }, undefined);
    expect(silent.can("elicitation")).toBe(false);
    await expect(silent.ask({ who: askName })).rejects.toThrow("has no session and stream");
    expect(await silent.memo("m", () => ({ at: new Date(0) }))).toEqual({ at: "1970-01-01T00:00:00.000Z" });
  });
});

describe("memo", () => {
  it("keeps its result from round to round, as JSON", async () => {
    let made = 0;
    const handler = async (elicitor: ReplayElicitor) => {
      const memo = await elicitor.memo("draft", () => ({ number: (made += 1), gone: undefined, when: new Date(0) }));
      await elicitor.ask({ who: askName });
      return memo;
    };
    const first = await round(handler);
    const second = await round(handler, { before: first.progress, fresh: { who: ada } });
    expect(second.value).toEqual({ number: 1, when: "1970-01-01T00:00:00.000Z" });
    expect(made).toBe(1);
  });

  it("keeps null, nothing and false too", async () => {
    for (const value of [null, undefined, false, 0, ""]) {
      let made = 0;
      const handler = (elicitor: ReplayElicitor) =>
        elicitor.memo("m", () => {
          made += 1;
          return value;
        });
      const { progress } = await round(handler);
      expect((await round(handler, { before: progress })).value).toBe(value ?? null);
      expect(made).toBe(1);
    }
  });

  it("is made again when it failed", async () => {
    let tries = 0;
    const handler = async (elicitor: ReplayElicitor) => {
      const make = () => {
        tries += 1;
        if (tries === 1) throw new Error("first try");
        return tries;
      };
      return elicitor.memo("m", make).catch(() => elicitor.memo("m", make));
    };
    expect((await round(handler)).value).toBe(2);
  });

  it("is not mixed up with what is done once, whatever the names", async () => {
    const first = await round((elicitor) => elicitor.memo("once pay", () => "memo"));
    const second = await round((elicitor) => elicitor.once("pay", () => "paid"), { before: first.progress });
    expect(second.value).toBe("paid");
  });
});

describe("once", () => {
  const pay = (done: string[]) => (elicitor: ReplayElicitor) =>
    elicitor.once("pay", () => {
      done.push("paid");
      return { receipt: done.length };
    });

  it("sends a client without a state back for one, and asks it nothing", async () => {
    const done: string[] = [];
    const first = await round(pay(done));
    expect(first).toMatchObject({ value: "suspended", asked: undefined });
    expect(done).toEqual([]);
    expect((await round(pay(done), { before: first.progress })).value).toEqual({ receipt: 1 });
  });

  it("runs once however often the same state is sent", async () => {
    const [done, idempotency]: [string[], IdempotencyStore] = [[], idempotencyStore()];
    const { progress } = await round(pay(done), { idempotency });
    for (let replay = 0; replay < 3; replay += 1) {
      expect((await round(pay(done), { before: progress, idempotency })).value).toEqual({ receipt: 1 });
    }
    expect(done).toEqual(["paid"]);
  });

  it("carries its result in the state, without asking the authority again", async () => {
    const [done, idempotency] = [[] as string[], idempotencyStore()];
    const first = await round(pay(done), { idempotency });
    const second = await round(pay(done), { before: first.progress, idempotency });
    idempotency.held.clear();
    expect((await round(pay(done), { before: second.progress, idempotency })).value).toEqual({ receipt: 1 });
    expect([done, idempotency.held.size]).toEqual([["paid"], 0]);
  });

  it("says that it does not know when an earlier try never came to an end", async () => {
    const idempotency = idempotencyStore();
    const { progress } = await round(pay([]), { idempotency });
    const broken = (elicitor: ReplayElicitor) => elicitor.once("pay", () => Promise.reject(new Error("half way")));
    await expect(round(broken, { before: progress, idempotency })).rejects.toThrow("half way");
    await expect(round(pay([]), { before: progress, idempotency })).rejects.toThrow("its outcome is unknown");
  });

  it("is its own for each name and each call", async () => {
    const [done, idempotency] = [[] as string[], idempotencyStore()];
    const first = await round(pay(done), { idempotency });
    const other = await round(pay(done), { idempotency });
    expect(first.progress.nonce).not.toBe(other.progress.nonce);
    await round(pay(done), { before: first.progress, idempotency });
    await round(pay(done), { before: other.progress, idempotency });
    expect(done).toHaveLength(2);
  });
});
