// Whoever sends a request's body slowly is let in by the rights that there are when it is there, not by those that there
// were when it began: what was withdrawn meanwhile, and acknowledged, does nothing.

import { expect, test } from "vitest";
import { bearer, fixtureAdmin, type FixtureAdmin } from "../support/fixture-admin.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { client2026, ERAS, type Json } from "../support/mcp-client.ts";
import { startRaw } from "../support/raw-http.ts";

const origin = fixtureOrigin();
const admin = fixtureAdmin(origin, "uploading");

interface Withdrawn {
  readonly what: string;
  readonly status: number;
  withdraw(admin: FixtureAdmin, tenant: string, key: string): Promise<unknown>;
}

const WITHDRAWN: readonly Withdrawn[] = [
  {
    what: "a key that was revoked",
    status: 401,
    withdraw: (by, id, key) => by.ask("DELETE", `/tenants/${id}/keys/${key}`),
  },
  {
    what: "a tenant that was suspended",
    status: 403,
    withdraw: (by, id) => by.suspend(id, "tenant", undefined, "gone"),
  },
  {
    what: "a key that was suspended",
    status: 403,
    withdraw: (by, id, key) => by.suspend(id, "principal", `key ${key}`, "gone"),
  },
];

const cases = WITHDRAWN.flatMap((withdrawn) => ERAS.map(({ revision }) => ({ ...withdrawn, revision })));

test.each(cases)(
  "$what while a body was on its way writes nothing, in $revision",
  async ({ status, revision, ...withdrawn }) => {
    const tenant = await admin.tenant({ mode: "key" });
    const [key, other] = [await admin.key(tenant), await admin.key(tenant)];
    const url = `${origin}/mcp/${tenant}`;
    const uri = `note:${crypto.randomUUID()}`;
    const body = JSON.stringify(writeOf(revision, uri));
    const half = body.length / 2;
    const { begun, finish } = startRaw(url, {
      headers: { ...headersOf(revision), ...bearer(key.token) },
      body: [body.slice(0, half)],
      unfinished: true,
    });
    // The Worker has begun to read: by now it holds a lease that knows the key.
    await client2026(url, {}, {}, bearer(key.token)).request("tools/list");
    await withdrawn.withdraw(admin, tenant, key.id);
    finish(body.slice(half));
    const { response, close } = await begun;
    expect(response.statusCode).toBe(status);
    close();
    expect(await stored(url, status === 401 ? other.token : undefined, tenant)).not.toContain(uri);
  },
);

function writeOf(revision: string, uri: string): Json {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": revision,
    "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const args = { name: "lab_burst", arguments: { uris: [uri], times: 1 } };
  return {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: revision === "2026-07-28" ? { ...args, _meta } : args,
  };
}

function headersOf(revision: string): Record<string, string> {
  const mirrored = revision === "2026-07-28" ? { "mcp-method": "tools/call", "mcp-name": "lab_burst" } : {};
  return { "content-type": "application/json", "mcp-protocol-version": revision, ...mirrored };
}

/** URIs, as somebody sees them who may; by the admin API where nobody may. */
async function stored(url: string, token: string | undefined, tenant: string): Promise<string> {
  if (token === undefined) return JSON.stringify(await admin.ask("GET", `/tenants/${tenant}/resources`));
  const { result } = await client2026(url, {}, {}, bearer(token)).request("tools/call", {
    name: "lab_list",
    arguments: { prefix: "note:" },
  });
  return JSON.stringify(result);
}
