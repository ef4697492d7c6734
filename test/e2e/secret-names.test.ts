// Where some tenant takes keys, nobody without one learns which names are tenants': not by what is answered, and not by what
// is done before the answer. Steps are counted, not milliseconds: the calls to objects, in their order.

import { afterAll, beforeAll, expect, test } from "vitest";
import { createKey } from "../../src/auth/api-key.ts";
import { sendRaw, write } from "../support/raw-http.ts";
import { startTwoWorkers, type TwoWorkers } from "../support/two-workers.ts";

const LEASE_MS = 5000;
/** Of what is stopped in every tenant, one for an isolate: when it ends is told of no name. */
const NAMES = 80;

let workers: TwoWorkers;
beforeAll(async () => {
  workers = await startTwoWorkers();
  // By the other Worker: the one that is asked knows none of them.
  for (let at = 0; at < NAMES; at += 1)
    await workers.two.admin("POST", "/tenants", { id: tenantName(at), document: {} });
  for (let at = 0; at < NAMES; at += 1) {
    await workers.two.admin("PUT", `/tenants/${tenantName(at)}/document`, {
      mode: "key",
      allowedOrigins: ["https://a.example"],
    });
  }
});
afterAll(() => workers.stop());

const ASKED = "an object, for one answer";

const tenantName = (at: number) => `secret-${String(at).padStart(2, "0")}`;
const nobodyName = (at: number) => `nobody-${String(at).padStart(2, "0")}`;

interface Approach {
  readonly method: string;
  readonly credential?: string;
  readonly origin?: string;
  readonly profile?: string;
}

/** Everything that is told and done, with `NAME` for the name. */
async function approach(name: string, { method, credential, origin, profile }: Approach) {
  const { headers, body } = write("2026-07-28", "tools/list");
  await workers.one.reset();
  const reply = await sendRaw(`${workers.one.origin}/mcp/${name}${profile === undefined ? "" : `/${profile}`}`, {
    method,
    headers: {
      ...headers,
      ...(credential === undefined ? {} : { authorization: `Bearer ${credential}` }),
      ...(origin === undefined ? {} : { origin }),
    },
    ...(method === "POST" ? { body: JSON.stringify(body) } : {}),
  });
  const { date: _date, ...told } = reply.headers;
  // A lease of whoever has the name, or the directory in its place: one call to an object, whose answer says as much.
  const calls = (await workers.one.calls()).map((call) =>
    call.replace(/^(TENANTS policy\.lease|DIRECTORY lookup)$/, ASKED),
  );
  return { told: JSON.stringify([reply.status, told, reply.text]).replaceAll(name, "NAME"), calls };
}

const madeUp = async () => (await createKey()).token;

const FIRST: readonly Approach[] = ["POST", "GET", "DELETE", "PUT", "OPTIONS"].flatMap((method) => [
  { method },
  { method, credential: "" },
  { method, credential: "tnt_no_key" },
  { method, credential: "made up" },
  { method, origin: "https://b.example" },
  { method, origin: "https://a.example" },
  { method, credential: "made up", origin: "https://a.example" },
  { method, credential: "made up", origin: "https://b.example", profile: "none" },
]);

test("a tenant's and nobody's answer the same, after the same calls, however they are approached", async () => {
  for (const [at, first] of FIRST.entries()) {
    const [one, other] = [await madeUp(), await madeUp()];
    const given = first.credential === "made up" ? { credential: one } : {};
    const more = { method: first.method };
    const approaches = [
      { ...first, ...given },
      { ...first, ...given },
      { ...more, credential: one },
      { ...more, credential: one },
      { ...more, credential: other },
      { ...more, credential: one, origin: "https://b.example" },
      more,
    ];
    for (const [which, next] of approaches.entries()) {
      const [tenants, nobodys] = [await approach(tenantName(at), next), await approach(nobodyName(at), next)];
      expect({ first, which, ...nobodys }).toEqual({ first, which, ...tenants });
    }
  }
});

test("and after as many, once what an isolate knows of either has ended", async () => {
  const [known, fresh] = [await madeUp(), await madeUp()];
  const later = [{ method: "POST" }, { method: "POST", credential: known }, { method: "POST", credential: fresh }];
  const names = later.map((_next, at) => NAMES - 1 - at);
  for (const at of names) {
    for (const name of [tenantName(at), nobodyName(at)]) await approach(name, { method: "POST", credential: known });
  }
  await new Promise((resolve) => setTimeout(resolve, LEASE_MS + 100));
  for (const [which, next] of later.entries()) {
    const at = names[which] ?? 0;
    for (let again = 0; again < 2; again += 1) {
      const [tenants, nobodys] = [await approach(tenantName(at), next), await approach(nobodyName(at), next)];
      expect({ next, again, told: nobodys.told, calls: nobodys.calls.length }).toEqual({
        next,
        again,
        told: tenants.told,
        calls: tenants.calls.length,
      });
    }
  }
});
