// Nobody without a key learns which names are private tenants': a name that no tenant has is answered alike.

import { beforeAll, expect, test } from "vitest";
import { createKey } from "../../src/auth/api-key.ts";
import { comparableHeaders } from "../support/comparable-headers.ts";
import { sendRaw, write } from "../support/raw-http.ts";
import { sharedWorkerPair, type SharedWorkerPair } from "../support/worker-pair.ts";

const LEASE_MS = 5000;

let workers: SharedWorkerPair;
beforeAll(async () => {
  workers = await sharedWorkerPair();
  // By the other Worker: the one that is asked knows none of them.
  const document = { mode: "key", allowedOrigins: ["https://a.example"] };
  const made = Array.from({ length: FIRST.length + LATER }, async (_none, at) => {
    await workers.two.admin("POST", "/tenants", { id: tenantName(at), document: {} });
    await workers.two.admin("PUT", `/tenants/${tenantName(at)}/document`, document);
  });
  await Promise.all(made);
});

const tenantName = (at: number) => `secret-${String(at).padStart(2, "0")}`;
const nobodyName = (at: number) => `nobody-${String(at).padStart(2, "0")}`;

interface Approach {
  readonly method: string;
  readonly credential?: string;
  readonly origin?: string;
  readonly profile?: string;
}

/** Everything that is told, with `NAME` for the name. */
async function approach(name: string, { method, credential, origin, profile }: Approach): Promise<string> {
  const { headers, body } = write("2026-07-28", "tools/list");
  const reply = await sendRaw(`${workers.one.origin}/mcp/${name}${profile === undefined ? "" : `/${profile}`}`, {
    method,
    headers: {
      ...headers,
      ...(credential === undefined ? {} : { authorization: `Bearer ${credential}` }),
      ...(origin === undefined ? {} : { origin }),
    },
    ...(method === "POST" ? { body: JSON.stringify(body) } : {}),
  });
  return JSON.stringify([reply.status, comparableHeaders(reply.headers), reply.text]).replaceAll(name, "NAME");
}

/** Names whose leases have ended when they are asked for. */
const LATER = 3;

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

test("a tenant's and nobody's answer the same, however they are approached", async () => {
  const approached = FIRST.map(async (first, at) => {
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
      expect({ first, which, told: nobodys }).toEqual({ first, which, told: tenants });
    }
  });
  await Promise.all(approached);
});

test("a tenant's and nobody's answer the same once what an isolate knows of either has ended", async () => {
  const [known, fresh] = [await madeUp(), await madeUp()];
  const later = [{ method: "POST" }, { method: "POST", credential: known }, { method: "POST", credential: fresh }];
  const names = later.map((_next, at) => FIRST.length + at);
  for (const at of names) {
    for (const name of [tenantName(at), nobodyName(at)]) await approach(name, { method: "POST", credential: known });
  }
  await new Promise((resolve) => setTimeout(resolve, LEASE_MS + 100));
  for (const [which, next] of later.entries()) {
    const at = names[which] ?? 0;
    for (let again = 0; again < 2; again += 1) {
      const [tenants, nobodys] = [await approach(tenantName(at), next), await approach(nobodyName(at), next)];
      expect({ next, again, told: nobodys }).toEqual({ next, again, told: tenants });
    }
  }
});
