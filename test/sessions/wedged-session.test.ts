// A session of HTTP+SSE whose object takes a post and never says so: whoever posts is answered within seconds, with a status that
// is no success. They waited without end.

import { env, exports } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import { createWorker, type Env } from "../../src/tenantry.ts";
import { readerOf, sendTo, servedTenant } from "../support/workerd/served-tenant.ts";

const worker = createWorker({ tenants: {}, hooks: { onError: () => {} } });
afterEach(() => {
  vi.useRealTimers();
});

const PING = { jsonrpc: "2.0", id: 7, method: "ping" };

/** Longer than anybody waits for an answer, and shorter than the calls of others may take. */
const GIVEN_UP_MS = 3000;

/** Its caller gives it up as soon as it is waiting. */
function unanswered(): Promise<never> {
  void scheduler.wait(10).then(() => vi.advanceTimersByTime(GIVEN_UP_MS));
  return new Promise(() => {});
}

/** The sessions' objects, of which none answers to `deliver`. */
const wedged: typeof exports.SessionObject = new Proxy(exports.SessionObject, {
  get: (objects, member) => {
    const found: unknown = Reflect.get(objects, member);
    if (typeof found !== "function") return found;
    if (member !== "getByName" && member !== "get") return found.bind(objects) as unknown;
    return (...named: unknown[]) =>
      new Proxy((found as (...named: unknown[]) => object).apply(objects, named), {
        get: (stub, called) => (called === "deliver" ? unanswered : (Reflect.get(stub, called) as unknown)),
      });
  },
});

it("a post to a session whose object never answers is refused with 503 and Retry-After", async () => {
  const { id } = await servedTenant();
  const stream = await sendTo(worker, id, { method: "GET", headers: { "mcp-protocol-version": "2024-11-05" } });
  const reader = readerOf(stream);
  const [, session = ""] = /sessionId=([\w.%-]+)/.exec(await reader.until("sessionId=")) ?? [];
  const post = (at?: Env) =>
    sendTo(worker, `${id}?sessionId=${session}`, { message: PING, ...(at === undefined ? {} : { at }) });
  expect((await post()).status).toBe(202);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const refused = await post({ ...env, SessionObject: wedged } as Env);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(await refused.json()).toMatchObject({
    id: 7,
    error: { message: expect.stringContaining("cannot be reached") as string },
  });
  await reader.cancel();
});
