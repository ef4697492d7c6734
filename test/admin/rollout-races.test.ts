// Whoever reads a base while a rollout brings a new one: after both, no tenant that extends it has what it was. Every call to an object
// takes some time more, before and after, as distance does.

import { exports } from "cloudflare:workers";
import { expect, inject, it } from "vitest";
import type { AdminEnv } from "../../src/admin/route.ts";
import { ask, rolledOut } from "../support/worker/admin.ts";

const ROUNDS = 48;
const AT_ONCE = 8;
const MOST_MS = 25;
const NEAR_MS = 2;
const seed = inject("seed");

/** Numbers from 0 to 1, the same ones for the same start. */
function drawnBy(start: number): () => number {
  let drawn = start >>> 0;
  return () => {
    drawn = (Math.imul(drawn, 1_664_525) + 1_013_904_223) >>> 0;
    return drawn / 2 ** 32;
  };
}

/** Bindings of which each call to an object is delayed. */
function delayed(draw: () => number, mostMs = MOST_MS): Partial<AdminEnv> {
  const wait = () => scheduler.wait(draw() * mostMs);
  const slow = (stub: object) =>
    new Proxy(stub as Record<string | symbol, (...args: unknown[]) => unknown>, {
      get: (target, member) => {
        if (typeof target[member] !== "function") return target[member];
        return async (...args: unknown[]) => {
          await wait();
          const value = await target[member]?.(...args);
          await wait();
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
  return Object.fromEntries(slowed) as Partial<AdminEnv>;
}

/** Some beside each other, as most of each is a delay; each with bases and a tenant of its own. */
async function rounds(what: string, round: (n: number, draw: () => number) => Promise<void>): Promise<void> {
  const left = Array.from({ length: ROUNDS }, (_none, n) => n).values();
  const lane = async () => {
    for (const n of left) await round(n, drawnBy(Math.imul(seed + n, 2_654_435_761) + what.length));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}

const titleOf = async (id: string) =>
  ((await ask("GET", `/tenants/${id}`)).body as { effective: { title?: string } }).effective.title;
const rollOut = async (base: string, title: string, env: Partial<AdminEnv>) => {
  await ask("PUT", `/bases/${base}`, { json: { title }, env });
  await rolledOut(ask("POST", `/bases/${base}/rollout`, { json: {}, env }));
};
const put = (id: string, names: readonly string[], env: Partial<AdminEnv> = {}) =>
  ask("PUT", `/tenants/${id}/document`, { json: { mode: "open", extends: names }, env });

it(`a tenant that is made beside a rollout has what the rollout brought, in ${ROUNDS} rounds (seed ${seed})`, async () => {
  const old: string[] = [];
  await rounds("made", async (n, draw) => {
    const base = `made-${n}`;
    const id = `made-${n}`;
    await ask("PUT", `/bases/${base}`, { json: { title: "old" } });
    const env = delayed(draw);
    const late = draw() * 250;
    const made = ask("POST", "/tenants", { json: { id, document: { mode: "open", extends: [base] } }, env });
    await scheduler.wait(late);
    // Whoever runs it is nearer.
    await rollOut(base, "new", delayed(draw, NEAR_MS));
    expect((await made).status).toBe(201);
    if ((await titleOf(id)) !== "new") old.push(`${n}`);
  });
  expect(old).toEqual([]);
}, 300_000);

it(`a tenant that takes a base beside a rollout has what the rollout brought, in ${ROUNDS} rounds (seed ${seed})`, async () => {
  const old: string[] = [];
  await rounds("taken", async (n, draw) => {
    const base = `taken-${n}`;
    const id = `taken-${n}`;
    await ask("PUT", `/bases/${base}`, { json: { title: "old" } });
    await ask("POST", "/tenants", { json: { id, document: { mode: "open" } } });
    const env = delayed(draw);
    const late = draw() * 200;
    const taken = put(id, [base], env);
    await scheduler.wait(late);
    // Whoever runs it is nearer.
    await rollOut(base, "new", delayed(draw, NEAR_MS));
    expect((await taken).status).toBe(200);
    if ((await titleOf(id)) !== "new") old.push(`${n}`);
  });
  expect(old).toEqual([]);
}, 300_000);

it(`a rollout finds a tenant that left one base beside taking another, in ${ROUNDS} rounds (seed ${seed})`, async () => {
  const old: string[] = [];
  await rounds("left", async (n, draw) => {
    const [first, second] = [`left-${n}`, `right-${n}`];
    const id = `left-${n}`;
    for (const base of [first, second]) await ask("PUT", `/bases/${base}`, { json: { title: "old" } });
    await ask("POST", "/tenants", { json: { id, document: { mode: "open", extends: [first] } } });
    const env = delayed(draw);
    // Each on its own; whichever is written last holds.
    const leaving = put(id, [], env);
    await scheduler.wait(draw() * 80);
    const taking = put(id, [second], env);
    const statuses = [(await leaving).status, (await taking).status];
    expect(statuses.every((status) => status === 200 || status === 503)).toBe(true);
    await rollOut(second, "new", env);
    const { body } = await ask("GET", `/tenants/${id}`);
    const { own, effective } = body as { own: { extends?: string[] }; effective: { title?: string } };
    if (own.extends?.includes(second) && effective.title !== "new") old.push(`${n}`);
  });
  expect(old).toEqual([]);
}, 300_000);

it("a use that is settled late takes none of what was written since", async () => {
  const [first, second] = ["settled-a", "settled-b"];
  for (const base of [first, second]) await ask("PUT", `/bases/${base}`, { json: { title: "old" } });
  await ask("POST", "/tenants", { json: { id: "settled", document: { mode: "open", extends: [first] } } });
  await put("settled", [second]);
  await put("settled", [second, first]);
  await put("settled", [first]);
  await rollOut(first, "new", {});
  expect(await titleOf("settled")).toBe("new");
});
