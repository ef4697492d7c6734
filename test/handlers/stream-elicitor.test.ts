import { afterEach, describe, expect, it, vi } from "vitest";
import type { Question } from "../../src/handlers/question.ts";
import type { IdempotencyStore } from "../../src/handlers/idempotency.ts";
import { MissingCapabilityError } from "../../src/handlers/elicitor.ts";
import { StreamElicitor } from "../../src/handlers/stream-elicitor.ts";
import { LATEST_2025 } from "../../src/protocol/revisions.ts";
import type { ClientResponse, OutgoingRequest, ClientRequester } from "../../src/protocol/mcp-request.ts";
import type { JsonObject } from "../../src/protocol/jsonrpc.ts";
import { authorityStore } from "../../src/tenants/object/authority-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { freshTenant, type FreshTenant } from "../support/workerd/tenant.ts";

const EVERYTHING = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };
const NAME_FORM = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
const askName: Question = { method: "elicitation/create", params: { message: "Who?", requestedSchema: NAME_FORM } };
const askRoots: Question = { method: "roots/list" };
const ada = { action: "accept", content: { name: "Ada" } };
const unfit = { action: "accept", content: { name: 7 } };

type Answer = (question: OutgoingRequest) => ClientResponse | undefined;
const results = (...inOrder: readonly JsonObject[]): Answer => {
  const left = [...inOrder];
  return () => {
    const result = left.shift();
    return result && { result };
  };
};

/** One call as its session keeps it: answers by digest and what was remembered, from run to run. */
class StoredCall {
  readonly put: OutgoingRequest[] = [];
  readonly answers = new Map<string, ClientResponse>();
  memos: Readonly<Record<string, unknown>> = {};
  readonly nonce: string | undefined;

  /** null: it cannot run again yet. */
  constructor(nonce: string | null = "call") {
    this.nonce = nonce ?? undefined;
  }

  /** A run of it by somebody for whom the client answers like this; who gives no answer waits in vain, and leaves. */
  run(answer: Answer = () => undefined): ClientRequester {
    return {
      nonce: this.nonce,
      memos: this.memos,
      request: async (questions, memos) => {
        this.memos = JSON.parse(JSON.stringify(memos)) as Record<string, unknown>;
        for (const question of questions) {
          if (this.answers.has(question.digest)) continue;
          this.put.push(question);
          const given = answer(question);
          if (given) this.answers.set(question.digest, given);
        }
        const known = questions.flatMap(({ digest }) => {
          const response = this.answers.get(digest);
          return response ? [[digest, response] as const] : [];
        });
        return known.length === questions.length ? new Map(known) : undefined;
      },
      cancel: () => {},
    };
  }
}

const idempotencyOf = ({ stub }: FreshTenant): IdempotencyStore => {
  const authority = createRpcClient(stub, authorityStore);
  return {
    claim: (nonce, name) => authority.claim(nonce, name, Date.now() + 60_000),
    settle: (nonce, name, value) => authority.settle(nonce, name, value),
  };
};

const elicitorOf = (
  clientRequester: ClientRequester,
  idempotency?: IdempotencyStore,
  capabilities: JsonObject = EVERYTHING,
  revision = LATEST_2025,
) => new StreamElicitor({ revision, capabilities, clientRequester }, idempotency);

/** What a run of the handler came to, or that it waits for an answer which finds another run. */
function outcome<T>(elicitor: StreamElicitor, running: Promise<T>): Promise<T | "suspended"> {
  const suspended = new Promise<"suspended">((resolve) => {
    elicitor.onSuspend(() => {
      resolve("suspended");
    });
  });
  return Promise.race([running, suspended]);
}

describe("a question", () => {
  it("is sent as the handler asked it, and the handler continues with its answer", async () => {
    const call = new StoredCall();
    const elicitor = elicitorOf(call.run(results(ada)));
    expect(await elicitor.ask({ who: askName })).toEqual({ who: ada });
    expect(call.put).toEqual([{ name: "who", digest: expect.any(String), ...askName }]);
    expect(elicitor.suspended).toBe(false);
  });

  it("is put again while its answers do not fit, and is another question each time", async () => {
    const call = new StoredCall();
    const elicitor = elicitorOf(call.run(results(unfit, { action: "maybe" }, ada)));
    expect(await elicitor.ask({ who: askName })).toEqual({ who: ada });
    expect(new Set(call.put.map(({ digest }) => digest)).size).toBe(3);
  });

  it("fails when no answer fits, after three of them", async () => {
    const call = new StoredCall();
    const elicitor = elicitorOf(call.run(results(unfit, unfit, unfit, ada)));
    await expect(elicitor.ask({ who: askName })).rejects.toThrow('answer to "who" does not match the question: ');
    expect(call.put).toHaveLength(3);
  });

  it("among others is the only one put again", async () => {
    const call = new StoredCall();
    const elicitor = elicitorOf(call.run(results(unfit, { roots: [] }, ada)));
    expect(await elicitor.ask({ who: askName, where: askRoots })).toEqual({ who: ada, where: { roots: [] } });
    expect(call.put.map(({ name }) => name)).toEqual(["who", "where", "who"]);
  });

  it("that the client refuses fails with the client's error, and can be caught", async () => {
    const refusing: Answer = () => ({ error: { code: -32_603, message: "no window" } });
    const elicitor = elicitorOf(new StoredCall().run(refusing));
    await expect(elicitor.ask({ who: askName })).rejects.toThrow('refused "who": no window');
  });

  it("may be declined", async () => {
    const elicitor = elicitorOf(new StoredCall().run(results({ action: "decline" })));
    expect(await elicitor.ask({ who: askName })).toEqual({ who: { action: "decline" } });
  });

  it("may have any name", async () => {
    for (const name of ["__proto__", "constructor", ""]) {
      const found = await elicitorOf(new StoredCall().run(results({ roots: [] }))).ask({ [name]: askRoots });
      expect(Object.entries(found)).toEqual([[name, { roots: [] }]]);
    }
  });

  it("of the same words under another name has an answer of its own", async () => {
    const call = new StoredCall();
    const elicitor = elicitorOf(call.run(results(ada, { action: "cancel" })));
    expect(await elicitor.ask({ one: askName, two: askName })).toEqual({ one: ada, two: { action: "cancel" } });
  });

  it("is not sent when the client does not support another of its group", async () => {
    const call = new StoredCall();
    const elicitor = elicitorOf(call.run(results(ada)), undefined, { elicitation: {} });
    expect([elicitor.can("elicitation"), elicitor.can("roots")]).toEqual([true, false]);
    await expect(elicitor.ask({ who: askName, where: askRoots })).rejects.toThrow(MissingCapabilityError);
    expect(call.put).toEqual([]);
  });

  it("behind a URL has an id on its way, which makes no other question of it in the next run", async () => {
    const call = new StoredCall();
    const visit: Question = {
      method: "elicitation/create",
      params: { mode: "url", message: "m", url: "https://a.example" },
    };
    expect(await outcome(...asking(call, visit))).toBe("suspended");
    expect(call.put[0]?.params).toMatchObject({ mode: "url", elicitationId: expect.stringMatching(/^[\w-]{36}$/) });
    call.answers.set(call.put[0]?.digest ?? "", { result: { action: "accept" } });
    expect(await outcome(...asking(call, visit))).toEqual({ q: { action: "accept" } });
    expect(call.put).toHaveLength(1);
  });
});

function asking(call: StoredCall, question: Question) {
  const elicitor = elicitorOf(call.run());
  return [elicitor, elicitor.ask({ q: question })] as const;
}

describe("a run whose answer will find another", () => {
  it("never continues, and notifies each waiter once", async () => {
    const elicitor = elicitorOf(new StoredCall().run());
    const requests: string[] = [];
    elicitor.onSuspend(() => requests.push("before"));
    const went: unknown[] = [];
    void elicitor.ask({ who: askName }).then((answer) => went.push(answer));
    expect(await outcome(elicitor, new Promise(() => {}))).toBe("suspended");
    elicitor.onSuspend(() => requests.push("after"));
    expect([elicitor.suspended, requests, went]).toEqual([true, ["before", "after"], []]);
  });

  it("is followed by one that asks nothing again, refused answers included", async () => {
    const call = new StoredCall();
    const handler = async (elicitor: StreamElicitor) => [
      await elicitor.ask({ who: askName }),
      await elicitor.ask({ where: askRoots }),
    ];
    const first = elicitorOf(call.run(results(unfit, ada)));
    expect(await outcome(first, handler(first))).toBe("suspended");
    const second = elicitorOf(call.run(results({ roots: [] })));
    expect(await handler(second)).toEqual([{ who: ada }, { where: { roots: [] } }]);
    expect(call.put.map(({ name }) => name)).toEqual(["who", "who", "where", "where"]);
  });
});

describe("memo", () => {
  it("is computed once for all runs, and is JSON from the first", async () => {
    const call = new StoredCall();
    let made = 0;
    const handler = async (elicitor: StreamElicitor) => {
      const memo = await elicitor.memo("m", () => ({ number: (made += 1), when: new Date(0), gone: undefined }));
      await elicitor.ask({ who: askName });
      return memo;
    };
    const kept = { number: 1, when: "1970-01-01T00:00:00.000Z" };
    const first = elicitorOf(call.run());
    expect(await outcome(first, handler(first))).toBe("suspended");
    expect(await handler(elicitorOf(call.run(results(ada))))).toEqual(kept);
    expect(made).toBe(1);
  });

  it("keeps nothing and null, and is not mixed up with what is done once", async () => {
    const call = new StoredCall();
    for (let run = 0; run < 2; run += 1) {
      const elicitor = elicitorOf(call.run(results(ada, ada)));
      expect(await elicitor.memo("once pay", () => undefined)).toBeNull();
      expect(await elicitor.once("pay", () => "paid")).toBe("paid");
      await elicitor.ask({ who: askName });
    }
    expect(call.memos).toEqual({ "memo once pay": null, "once pay": "paid" });
  });
});

describe("once", () => {
  const pay = (done: string[]) => async (elicitor: StreamElicitor) => {
    const receipt = await elicitor.once("pay", () => {
      done.push("paid");
      return { receipt: done.length };
    });
    await elicitor.ask({ who: askName });
    return receipt;
  };

  it("is done once though the run that did it was lost before it could remember", async () => {
    const [tenant, done] = [freshTenant(), [] as string[]];
    const lost = elicitorOf(new StoredCall().run(), idempotencyOf(tenant));
    expect(await outcome(lost, pay(done)(lost))).toBe("suspended");
    const next = elicitorOf(new StoredCall().run(results(ada)), idempotencyOf(tenant));
    expect(await pay(done)(next)).toEqual({ receipt: 1 });
    expect(done).toEqual(["paid"]);
  });

  it("carries its result to the next run without asking the authority", async () => {
    const [call, done, idempotency] = [new StoredCall(), [] as string[], idempotencyOf(freshTenant())];
    const first = elicitorOf(call.run(), idempotency);
    await outcome(first, pay(done)(first));
    const silent: IdempotencyStore = {
      claim: () => Promise.reject(new Error("asked")),
      settle: () => Promise.reject(new Error("asked")),
    };
    expect(await pay(done)(elicitorOf(call.run(results(ada)), silent))).toEqual({ receipt: 1 });
  });

  it("is not known to be done when the run that began it never came to an end", async () => {
    const idempotency = idempotencyOf(freshTenant());
    const failing = elicitorOf(new StoredCall().run(), idempotency);
    await expect(failing.once("pay", () => Promise.reject(new Error("half way")))).rejects.toThrow("half way");
    const next = elicitorOf(new StoredCall().run(), idempotency);
    await expect(next.once("pay", () => "paid")).rejects.toThrow("its outcome is unknown");
    expect(await elicitorOf(new StoredCall("another").run(), idempotency).once("pay", () => "paid")).toBe("paid");
  });

  it("needs no tenant object in a call that cannot run again, and is stored for one that can", async () => {
    const tenant = freshTenant();
    const call = new StoredCall(null);
    const done: string[] = [];
    const first = elicitorOf(call.run(), idempotencyOf(tenant));
    expect(await outcome(first, pay(done)(first))).toBe("suspended");
    expect(await createRpcClient(tenant.stub, authorityStore).claim("call", "pay", Date.now() + 1000)).toEqual({
      state: "claimed",
    });
    expect(await pay(done)(elicitorOf(call.run(results(ada)), idempotencyOf(tenant)))).toEqual({ receipt: 1 });
    expect(done).toEqual(["paid"]);
  });
});

describe("the time that a handler waits for its client", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  /** A port on which each question is answered, or fails, when the test says so. */
  function waiting() {
    vi.useFakeTimers({ toFake: ["Date"], now: 0 });
    const open: PromiseWithResolvers<ClientResponse>[] = [];
    const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const ask: ClientRequester["request"] = async (questions) => {
      const one = Promise.withResolvers<ClientResponse>();
      begun[open.push(one) - 1]?.resolve();
      const response = await one.promise;
      return new Map(questions.map(({ digest }) => [digest, response]));
    };
    const elicitor = elicitorOf({ nonce: "call", memos: {}, request: ask, cancel: () => {} });
    return { elicitor, open, begun: begun.map(({ promise }) => promise) };
  }

  it("counts while it waits, and no longer", async () => {
    const { elicitor, open, begun } = waiting();
    const question = elicitor.ask({ where: askRoots });
    await begun[0];
    vi.setSystemTime(700);
    expect(elicitor.waitedMs()).toBe(700);
    open[0]?.resolve({ result: { roots: [] } });
    await question;
    vi.setSystemTime(900);
    expect(elicitor.waitedMs()).toBe(700);
  });

  it("counts on while another part of the handler still waits", async () => {
    const { elicitor, open, begun } = waiting();
    const [one, two] = [elicitor.ask({ one: askRoots }), elicitor.ask({ two: askRoots })];
    await Promise.all(begun);
    vi.setSystemTime(300);
    open[0]?.resolve({ result: { roots: [] } });
    await Promise.race([one, two]);
    vi.setSystemTime(1000);
    expect(elicitor.waitedMs()).toBe(1000);
    open[1]?.resolve({ result: { roots: [] } });
    await Promise.all([one, two]);
    vi.setSystemTime(5000);
    expect(elicitor.waitedMs()).toBe(1000);
  });

  it("ends with a question that could not be put", async () => {
    const { elicitor, open, begun } = waiting();
    const question = elicitor.ask({ where: askRoots }).catch(String);
    await begun[0];
    open[0]?.reject(new Error("full"));
    expect(await question).toContain("full");
    vi.setSystemTime(5000);
    expect(elicitor.waitedMs()).toBe(0);
  });
});
