// A clock that was an hour ahead is set right. What was cached until a time by the wrong clock would live an hour
// longer.

import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { getAccessToken, type ClientGrant } from "../../../src/gateway/guard/access-token.ts";
import { MAX_CONSECUTIVE_FAILURES, CircuitBreakers } from "../../../src/gateway/guard/circuit-breaker.ts";
import { Bucket } from "../../../src/limits/bucket.ts";
import { ConcurrencyCounter } from "../../../src/limits/concurrency-counter.ts";
import { GuardedFetch } from "../../../src/outbound/guarded-fetch.ts";
import { createResolver } from "../../../src/outbound/dns-resolver.ts";
import { createWorker, defineTool } from "../../../src/tenantry.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../../src/tenants/object/store.ts";
import { lookupTenant, tenantOfHostname } from "../../../src/tenants/directory/directory.ts";
import { directoryOf } from "../../../src/tenants/directory/directory-stub.ts";
import { sendTo, servedTenant } from "../../support/workerd/served-tenant.ts";

const HOUR_MS = 3_600_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

type Has = () => unknown;

const worker = createWorker({ tenants: {}, tools: [defineTool({ name: "own", handler: () => "done" })] });

function grantOf(): ClientGrant {
  const tokenUrl = "https://tokens.example.com/token";
  return { tenant: crypto.randomUUID(), tokenUrl, clientId: "c", clientSecret: "s", method: "client_secret_basic" };
}

const tokenFrom = (grant: ClientGrant, answer: () => Promise<Response>) =>
  getAccessToken(grant, { fetch: answer, now: Date.now, waitUntil: () => {} });
const given = async () => Response.json({ access_token: "token", token_type: "bearer", expires_in: 600 });
const outcome = (work: Promise<unknown>) =>
  Promise.race([work.then(String, String), scheduler.wait(3000).then(() => "still waiting")]);

/** Each remembers something while the clock is ahead. What it gives is asked when the clock is right again, some time later. */
const MEMORIES: Readonly<
  Record<string, { readonly forMs: number; readonly remember: () => Promise<Has>; readonly is: unknown }>
> = {
  "a lease under which a tenant is served, which was suspended meanwhile": {
    forMs: 5000,
    is: 403,
    remember: async () => {
      const { id, stub } = await servedTenant();
      const call = async () => {
        const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "own", arguments: {} } };
        return (await sendTo(worker, id, { message })).status;
      };
      expect(await call()).toBe(200);
      const suspension = { kind: "tenant", name: id, note: "", since: "", byOperator: true };
      return async () => {
        await createRpcClient(stub, policyStore).suspend(suspension as never, { name: "ann" });
        return call();
      };
    },
  },
  "that a name is nobody's": {
    forMs: 5000,
    is: true,
    remember: async () => {
      const id = `late-${crypto.randomUUID()}`;
      await lookupTenant(env, id);
      return async () => {
        await directoryOf(env, id).add(id, { jurisdiction: null, region: null });
        return (await lookupTenant(env, id)).entry !== null;
      };
    },
  },
  "whose a hostname is": {
    forMs: 2000,
    is: null,
    remember: async () => {
      const id = `host-${crypto.randomUUID()}`;
      const hostname = `${id}.example`;
      const named = await directoryOf(env, id).add(id, { jurisdiction: null, region: null });
      await directoryOf(env, hostname).claimHostname(hostname, named);
      expect(await tenantOfHostname(env, hostname)).toBe(id);
      return async () => {
        await directoryOf(env, hostname).releaseHostname(hostname, named);
        return tenantOfHostname(env, hostname);
      };
    },
  },
  "that somebody who is gone asks for an access token": {
    forMs: 5000,
    is: "token",
    remember: async () => {
      const grant = grantOf();
      void tokenFrom(grant, () => new Promise(() => {}));
      return () => outcome(tokenFrom(grant, given));
    },
  },
  "that an access token was refused": {
    forMs: 5000,
    is: "token",
    remember: async () => {
      const grant = grantOf();
      await outcome(tokenFrom(grant, () => Promise.reject(new TypeError("Network connection lost."))));
      return () => outcome(tokenFrom(grant, given));
    },
  },
  "that an upstream is left alone": {
    forMs: 60_000,
    is: undefined,
    remember: async () => {
      const circuits = new CircuitBreakers();
      for (let time = 0; time < MAX_CONSECUTIVE_FAILURES; time += 1) circuits.recordFailure("up", Date.now());
      return () => circuits.check("up", Date.now(), 1000);
    },
  },
  "that somebody tries an upstream that is left alone": {
    forMs: 60_000,
    is: undefined,
    remember: async () => {
      const circuits = new CircuitBreakers();
      for (let time = 0; time < MAX_CONSECUTIVE_FAILURES; time += 1) circuits.recordFailure("up", Date.now() - 60_000);
      circuits.check("up", Date.now(), 1000);
      return () => circuits.check("up", Date.now(), 1000);
    },
  },
  "that an upstream wants to be left alone": {
    forMs: 300_000,
    is: undefined,
    remember: async () => {
      const circuits = new CircuitBreakers();
      circuits.recordFailure("up", Date.now(), 30_000);
      return () => circuits.check("up", Date.now(), 1000);
    },
  },
  "that a caller has no messages left": {
    forMs: 60_000,
    is: true,
    remember: async () => {
      const bucket = new Bucket(10, Date.now());
      while (bucket.take(10, Date.now()));
      bucket.refill(10, Date.now() - HOUR_MS);
      return () => bucket.take(10, Date.now());
    },
  },
  "calls that never said that they ended": {
    forMs: 180_000,
    is: true,
    remember: async () => {
      const running = new ConcurrencyCounter();
      while (running.acquire(5, Date.now()) !== undefined);
      running.acquire(5, Date.now() - HOUR_MS);
      return () => running.acquire(5, Date.now()) !== undefined;
    },
  },
  "where a name leads": {
    forMs: 300_000,
    is: ["192.0.2.2"],
    remember: async () => {
      let data = "192.0.2.1";
      vi.stubGlobal("fetch", async (url: string) =>
        Response.json({ Answer: url.endsWith("type=A") ? [{ type: 1, TTL: 300, data }] : [] }),
      );
      onTestFinished(() => void vi.unstubAllGlobals());
      const resolve = createResolver("https://resolver.example.com/dns-query");
      const name = `${crypto.randomUUID()}.example.com`;
      expect(await resolve?.(name)).toEqual([data]);
      data = "192.0.2.2";
      return () => resolve?.(name);
    },
  },
  "requests of a tenant that never ended": {
    forMs: 180_000,
    is: "answered",
    remember: async () => {
      const tenant = crypto.randomUUID();
      const never = new AbortController().signal;
      const guardedFetch = (fetch: () => Promise<Response>) =>
        new GuardedFetch({ tenant, hops: 0, signal: () => never, allow: "*", resolve: undefined, fetch });
      for (let one = 0; one < 128; one += 1) {
        void guardedFetch(() => new Promise(() => {})).fetch("https://example.com/", { onEnd: () => {} });
      }
      return () =>
        guardedFetch(async () => new Response("answered"))
          .fetch("https://example.com/")
          .then((response) => response.text(), String);
    },
  },
};

it.each(Object.keys(MEMORIES))("does not make an isolate remember for an hour %s", async (what) => {
  const memory = MEMORIES[what];
  const now = Date.now();
  vi.setSystemTime(now + HOUR_MS);
  const has = await memory?.remember();
  vi.setSystemTime(now + (memory?.forMs ?? 0));
  expect(await has?.()).toEqual(memory?.is);
});
