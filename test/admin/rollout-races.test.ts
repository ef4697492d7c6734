// A base is read during a rollout of it, or during another write to the tenant. The request is held at each call to an
// object, before the call and after its answer.

import { exports } from "cloudflare:workers";
import { expect, it } from "vitest";
import type { AdminEnv } from "../../src/admin/route.ts";
import { ask, waitForRollout } from "../support/workerd/admin.ts";

interface Held {
  readonly env: Partial<AdminEnv>;
  /** When the request is at its moment. */
  readonly reached: Promise<void>;
  readonly wasReached: () => boolean;
  readonly release: () => void;
}

/** Bindings of which the moment of this number is held: each call to an object has two. */
function heldAt(moment: number): Held {
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let moments = 0;
  const pass = async () => {
    moments += 1;
    if (moments !== moment) return;
    reached.resolve();
    await released.promise;
  };
  const slow = (stub: object) =>
    new Proxy(stub as Record<string | symbol, (...args: unknown[]) => unknown>, {
      get: (target, member) => {
        if (typeof target[member] !== "function") return target[member];
        return async (...args: unknown[]) => {
          await pass();
          const value = await target[member]?.(...args);
          await pass();
          return value;
        };
      },
    });
  const slowed = (["TenantObject", "PlatformObject", "DirectoryObject"] as const).map((binding) => [
    binding,
    new Proxy(exports[binding] as unknown as object, {
      get: (target, member) => {
        const found = Reflect.get(target, member) as (...args: unknown[]) => unknown;
        if (typeof found !== "function") return found;
        return (...args: unknown[]) => {
          const got = found.apply(target, args);
          return member === "get" || member === "getByName" ? slow(got as object) : got;
        };
      },
    }),
  ]);
  return {
    env: Object.fromEntries(slowed) as Partial<AdminEnv>,
    reached: reached.promise,
    wasReached: () => moments >= moment,
    release: released.resolve,
  };
}

type SentRequest = ReturnType<typeof ask>;

/** Sends a request, does something else as soon as it is at its moment, and lets it go on. */
async function beside(held: Held, request: SentRequest, other: () => Promise<unknown>): SentRequest {
  await Promise.race([held.reached, request]);
  await other();
  held.release();
  return request;
}

/** One round for each moment of the request, until it has no more. */
async function atEachMoment(round: (n: number, held: Held) => Promise<void>): Promise<void> {
  for (let n = 1; ; n += 1) {
    const held = heldAt(n);
    await round(n, held);
    if (held.wasReached()) continue;
    expect(n).toBeGreaterThan(8);
    return;
  }
}

const titleOf = async (id: string) =>
  ((await ask("GET", `/tenants/${id}`)).body as { effective: { title?: string } }).effective.title;
const rollOut = async (base: string, title: string) => {
  await ask("PUT", `/bases/${base}`, { json: { title } });
  await waitForRollout(ask("POST", `/bases/${base}/rollout`, { json: {} }));
};
const put = (id: string, names: readonly string[], env: Partial<AdminEnv> = {}) =>
  ask("PUT", `/tenants/${id}/document`, { json: { mode: "open", extends: names }, env });

it("a tenant that is made beside a rollout has what the rollout brought", async () => {
  await atEachMoment(async (n, held) => {
    const [base, id] = [`made-${n}`, `made-${n}`];
    await ask("PUT", `/bases/${base}`, { json: { title: "old" } });
    const made = ask("POST", "/tenants", {
      json: { id, document: { mode: "open", extends: [base] } },
      env: held.env,
    });
    expect((await beside(held, made, () => rollOut(base, "new"))).status).toBe(201);
    expect([n, await titleOf(id)]).toEqual([n, "new"]);
  });
});

it("a tenant that takes a base beside a rollout has what the rollout brought", async () => {
  await atEachMoment(async (n, held) => {
    const [base, id] = [`taken-${n}`, `taken-${n}`];
    await ask("PUT", `/bases/${base}`, { json: { title: "old" } });
    await ask("POST", "/tenants", { json: { id, document: { mode: "open" } } });
    const taken = put(id, [base], held.env);
    expect((await beside(held, taken, () => rollOut(base, "new"))).status).toBe(200);
    expect([n, await titleOf(id)]).toEqual([n, "new"]);
  });
});

it.each([
  { what: "left one base beside taking another", held: [], other: ["second"] },
  { what: "took another base beside leaving one", held: ["second"], other: [] },
])("a rollout finds a tenant that $what", async ({ held: ofHeld, other }) => {
  await atEachMoment(async (n, held) => {
    const id = `left-${n}-${other.length}`;
    const named = (names: readonly string[]) => names.map((name) => `${name}-${id}`);
    const [first, second] = [`first-${id}`, `second-${id}`];
    for (const base of [first, second]) await ask("PUT", `/bases/${base}`, { json: { title: "old" } });
    await ask("POST", "/tenants", { json: { id, document: { mode: "open", extends: [first] } } });
    const writing = put(id, named(ofHeld), held.env);
    const written = await beside(held, writing, async () => {
      expect((await put(id, named(other))).status).toBe(200);
    });
    expect(written.status).toBe(200);
    await rollOut(second, "new");
    const { body } = await ask("GET", `/tenants/${id}`);
    const { own, effective } = body as { own: { extends?: string[] }; effective: { title?: string } };
    expect([n, effective.title]).toEqual([n, own.extends?.includes(second) ? "new" : undefined]);
  });
});

it("a late update of a base's uses does not undo later writes", async () => {
  const [first, second] = ["settled-a", "settled-b"];
  for (const base of [first, second]) await ask("PUT", `/bases/${base}`, { json: { title: "old" } });
  await ask("POST", "/tenants", { json: { id: "settled", document: { mode: "open", extends: [first] } } });
  await put("settled", [second]);
  await put("settled", [second, first]);
  await put("settled", [first]);
  await rollOut(first, "new");
  expect(await titleOf("settled")).toBe("new");
});
