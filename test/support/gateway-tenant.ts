// A Worker that has nothing but upstreams, and tenants of it whose upstreams a test names: made, read, and asked.

import { afterAll, vi } from "vitest";
import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import { bundleWorker, sharedWorker, startWorker, type OneWorker } from "./start-worker.ts";
import type { FixtureAdmin } from "./fixture-admin.ts";
import { mcpClient, type Client, type Json } from "./mcp-client.ts";

const VARS = {
  ADMIN_TOKEN,
  /** 32 bytes that seal the secrets of its tenants. */
  SECRETS_KEY: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
  OUTBOUND_LOCAL: "http://127.0.0.1",
};

/** As deployed, but with servers of this machine for upstreams. Shared with the files that ask for the same. `entry`: another fixture. */
export async function startGatewayWorker(
  more: Readonly<Record<string, string>> = {},
  entry = "gateway-worker",
): Promise<string> {
  return (await sharedWorker(entry, { ...VARS, ...more })).origin;
}

/** The same for one file, with an inspector. Stops after its tests. */
export async function startInspectedGateway(): Promise<OneWorker> {
  const worker = await startWorker(await bundleWorker("gateway-worker"), { vars: VARS, inspected: true });
  afterAll(() => worker.stop());
  return worker;
}

export interface GatewayTenant {
  readonly id: string;
  /** Of its endpoint. */
  readonly url: string;
  client(revision?: string, capabilities?: Json): Promise<Client>;
}

interface TenantOptions {
  readonly document?: Json;
  /** The upstreams that cannot be read. */
  readonly without?: readonly string[];
  /** There before the upstreams are. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** Until all of them were read. */
  readonly timeout?: number;
  readonly interval?: number;
}

/** Resolves when everything was read that is not named in `without`. */
export async function gatewayTenant(
  origin: string,
  admin: FixtureAdmin,
  upstreams: Readonly<Record<string, Json>>,
  { document = {}, without = [], secrets = {}, timeout = 20_000, interval = 50 }: TenantOptions = {},
): Promise<GatewayTenant> {
  const id = await admin.tenant(Object.keys(secrets).length === 0 ? { upstreams, ...document } : {});
  for (const [name, value] of Object.entries(secrets)) {
    await admin.ask("PUT", `/tenants/${id}/secrets/${name}?wait=1`, { value });
  }
  if (Object.keys(secrets).length > 0) await admin.apply(id, { upstreams, ...document });
  const url = `${origin}/mcp/${id}`;
  const client = await mcpClient("2025-11-25", url);
  await vi.waitFor(
    async () => {
      const missing = missingOf((await client.request("tools/list")).result);
      const unread = missing.filter(({ source, why }) => !without.includes(source) && /not been read/.test(why));
      if (unread.length > 0) throw new Error(`not read yet: ${JSON.stringify(unread)}`);
    },
    { timeout, interval },
  );
  return {
    id,
    url,
    client: async (revision = "2025-11-25", capabilities = {}) => mcpClient(revision, url, capabilities),
  };
}

export interface MissingSource {
  readonly source: string;
  readonly why: string;
}

/** What a list says of itself that it lacks. */
export function missingOf({ _meta }: Json): readonly MissingSource[] {
  return ((_meta as Json | undefined)?.["tenantry/missing"] ?? []) as readonly MissingSource[];
}

export function namesIn({ tools }: Json): string[] {
  return (tools as { name: string }[]).map(({ name }) => name);
}
