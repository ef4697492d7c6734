import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ANONYMOUS } from "../../../src/auth/principal.ts";
import { sessionObjectName } from "../../../src/gateway/sessions/stored-session.ts";
import { SharedSessionClient } from "../../../src/gateway/sessions/shared-session-client.ts";
import {
  REPORT_AFTER_MS,
  MAX_UNREPORTED_MS,
  type UpstreamObject,
} from "../../../src/gateway/sessions/upstream-object.ts";
import { acquireLink, type AcquireOptions } from "../../../src/gateway/sessions/session-pool.ts";
import { SYSTEM_CLOCK } from "../../../src/mcp-client/clock.ts";
import type { Fetch } from "../../../src/mcp-client/remote-endpoint.ts";
import { DEFAULT_PLACEMENT } from "../../../src/tenants/directory/placement.ts";

const CALL_MS = 1000;

type UpstreamStub = Pick<UpstreamObject, "claim" | "store" | "touch" | "invalidate">;

interface CallerOptions {
  readonly instructions?: string;
  /** What becomes of the calls to the object. */
  readonly through?: (object: UpstreamStub) => UpstreamStub;
}

/** A server, and a caller of it in this isolate. */
function caller({ instructions = "", through = (object: UpstreamStub) => object }: CallerOptions = {}) {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const ended: string[] = [];
  let begun = 0;
  const capabilities = { experimental: { said: { instructions } } };
  const fetch: Fetch = async (_url, { method, body, headers }) => {
    if (method === "DELETE") ended.push(headers["mcp-session-id"] ?? "");
    const { id, method: asked } = JSON.parse(body ?? "{}") as { id?: number; method?: string };
    if (asked !== "initialize") return new Response(null, { status: 202 });
    begun += 1;
    const result = { protocolVersion: "2025-11-25", capabilities, serverInfo: { name: "up", version: "1" } };
    return Response.json({ jsonrpc: "2.0", id, result }, { headers: { "mcp-session-id": `s${begun}` } });
  };
  const meant = { id: crypto.randomUUID(), placement: DEFAULT_PLACEMENT, uid: "" };
  const ring = [{ id: "test", secret: new Uint8Array(32).fill(7) }];
  const principal = { ...ANONYMOUS, id: "key:ann" };
  const upstream = { url: "https://up.example.com/mcp" };
  const object = exports.UpstreamObject.getByName(sessionObjectName(meant, "up"));
  const at = { UpstreamObject: { getByName: (name: string) => through(exports.UpstreamObject.getByName(name)) } };
  const under: Promise<unknown>[] = [];
  const lend = async (about: Partial<AcquireOptions> = {}) => {
    const key = meant.id;
    const createShare = () =>
      new SharedSessionClient({
        host: { env: at, tenantRef: meant, ring, principal },
        id: "up",
        key,
        upstream,
        filled: { headers: {} },
      });
    const { signal } = new AbortController();
    const endpoint = { url: upstream.url, headers: {}, fetch, clock: SYSTEM_CLOCK };
    const linkConfig = { endpoint, client: { clientInfo: {}, capabilities: {} }, transport: "2025" } as const;
    const owner = { tenant: meant.id, principal: principal.id };
    const waitUntil = (work: Promise<unknown>) => void under.push(work);
    const options = {
      key,
      owner,
      linkConfig,
      level: undefined,
      isAnonymous: false,
      signal,
      waitUntil,
      callMs: CALL_MS,
      createShare,
    };
    return acquireLink({ ...options, ...about });
  };
  /** One whole call; in which session it was. */
  const call = async (about?: Partial<AcquireOptions>) => {
    const { session: held, release: over } = await lend(about);
    await Promise.all(under);
    await over?.();
    return held?.opened.session.id;
  };
  const rows = () =>
    runInDurableObject(object, (_instance, { storage: { sql } }) =>
      sql.exec<{ expires: number; uses: number }>("SELECT expires, uses FROM sessions").toArray(),
    );
  const after = (ms: number) => vi.setSystemTime(Date.now() + ms);
  return { call, lend, rows, after, ended, object, under, meant };
}

describe("a session stored in an object", () => {
  it("is reported as used once in two minutes, and not more often", async () => {
    const { call, rows, after } = caller();
    expect(await call()).toBe("s1");
    const [first] = await rows();
    after(REPORT_AFTER_MS - 1000);
    await call();
    expect(await rows()).toEqual([first]);
    after(2000);
    await call();
    const [reply] = await rows();
    expect(reply?.expires).toBeGreaterThan(first?.expires ?? Infinity);
    after(1000);
    await call();
    expect(await rows()).toEqual([reply]);
  });

  it("is looked up again after a long idle time, and replaced if it has ended", async () => {
    const { call, rows, after, ended, object } = caller();
    await call();
    after(MAX_UNREPORTED_MS + 1);
    expect(await call()).toBe("s1");
    expect(await rows()).toMatchObject([{ uses: 1 }]);
    after(MAX_UNREPORTED_MS + CALL_MS + 60_000);
    await runInDurableObject(object, (_instance, { storage: { sql } }) => {
      sql.exec("UPDATE sessions SET expires = 0");
    });
    await runDurableObjectAlarm(object);
    expect(await call()).toBe("s2");
    // Ending it is not this isolate's.
    expect(ended).toEqual([]);
  });

  it("is never trusted for longer than the object keeps it, with the longest call", async () => {
    const { call, rows } = caller();
    const began = Date.now();
    await call();
    const [row] = await rows();
    expect(row?.expires).toBeGreaterThan(began + MAX_UNREPORTED_MS + CALL_MS);
  });

  it("is not used any more when the object says that it is over, and another is begun", async () => {
    const { call, after, object } = caller();
    await call();
    await runInDurableObject(object, (_instance, { storage: { sql } }) => {
      sql.exec("DELETE FROM sessions");
    });
    after(REPORT_AFTER_MS + 1);
    expect(await call()).toBe("s1");
    expect(await call()).toBe("s2");
  });

  it("stays for an hour where a person is asked", async () => {
    const { lend, rows, under } = caller();
    const { onQuestion: asked, release: over } = await lend();
    asked?.();
    await Promise.all(under);
    await over?.();
    const [row] = await rows();
    expect(row?.expires).toBeGreaterThan(Date.now() + 3_600_000);
  });

  it("is its call's own where another took its place, or it is too large to keep, and ends with it", async () => {
    const { lend, object, ended, under } = caller();
    const { release: over } = await lend();
    await runInDurableObject(object, (_instance, { storage: { sql } }) => {
      sql.exec("UPDATE sessions SET tag = 'another'");
    });
    await Promise.all(under);
    await over?.();
    expect(ended).toEqual(["s1"]);
    const large = caller({ instructions: "x".repeat(100_000) });
    await large.call();
    expect(large.ended).toEqual(["s1"]);
    expect(await large.rows()).toEqual([]);
  });

  it("is not ended under another isolate that has it, even if nothing reported its storage", async () => {
    const lentTo: string[] = [];
    const isLost = (object: UpstreamStub): UpstreamStub => ({
      claim: async (claimed) => object.claim(claimed),
      store: async (place, sealed, callMs) => {
        await object.store(place, sealed, callMs);
        const other = await object.claim({
          key: place.key,
          owner: "o",
          callMs,
          meant,
          name: sessionObjectName(meant, "up"),
        });
        lentTo.push(other.state);
        throw new Error("Network connection lost.");
      },
      touch: async (place, callMs) => object.touch(place, callMs),
      invalidate: async (place) => object.invalidate(place),
    });
    const { call, meant, ended, rows } = caller({ through: isLost });
    expect(await call()).toBe("s1");
    expect(lentTo).toContain("shared");
    expect(ended).toEqual([]);
    expect(await rows()).toHaveLength(1);
  });

  it("is made by the next where the first could not begin it", async () => {
    const { call, lend, rows } = caller();
    await expect(lend({ signal: AbortSignal.abort() })).rejects.toThrow();
    await expect.poll(rows).toEqual([]);
    expect(await call()).toBe("s1");
  });
});
