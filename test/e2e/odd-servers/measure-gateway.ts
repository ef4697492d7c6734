// What comes of all rows by both official clients through the gateway.

import type { FixtureAdmin } from "../../support/fixture-admin.ts";
import { gatewayTenant } from "../../support/gateway-tenant.ts";
import type { Json } from "../../support/mcp-client.ts";
import { answersOf, listingOf, namesOf, unconnected } from "./measure-directly.ts";
import { LISTS, type ListName, type OddRow } from "./odd-row.ts";
import type { OddServers } from "./odd-server.ts";
import { connected, VERSIONS, type Version } from "./official-client.ts";
import { worseOf, type Outcome } from "./outcome.ts";
import { inLanes, LANES, limitsOf } from "./pace.ts";

/** The gateway gives up before. */
const PATIENT_MS = 60_000;
const ROWS_OF_TENANT = 45;
const READ_WITHIN_MS = 120_000;

export interface GatewayAt {
  readonly origin: string;
  readonly admin: FixtureAdmin;
}

export interface GatewayRows {
  readonly outcomes: ReadonlyMap<string, Outcome>;
  /** The tenant of each row. */
  readonly tenants: ReadonlyMap<string, string>;
}

/** Each row is an upstream; a few tenants have all of them. */
export async function measureThroughGateway(
  at: GatewayAt,
  rows: readonly OddRow[],
  servers: OddServers,
): Promise<GatewayRows> {
  const count = Math.ceil(rows.length / ROWS_OF_TENANT);
  // One in every so many: those of a kind, some of which hang, are read beside others.
  const parts = Array.from({ length: count }, (_, part) => rows.filter((_row, index) => index % count === part));
  const outcomes = new Map<string, Outcome>();
  const tenants = new Map<string, string>();
  await inLanes(LANES.tenants, parts, async (part) => {
    const upstreams = Object.fromEntries(
      part.map((row) => [row.id, { url: servers.urlOf(row), timeoutMs: limitsOf(row).upstream }]),
    );
    const tenant = await gatewayTenant(at.origin, at.admin, upstreams, { timeout: READ_WITHIN_MS, interval: 500 });
    const connections = await connectionsOf(at.admin, tenant.id);
    const ofVersions = await Promise.all(
      VERSIONS.map((version) => measureTenant(version, tenant.url, part, connections)),
    );
    for (const row of part) {
      const [first, second] = ofVersions.map((all) => all.get(row.id));
      if (!first || !second) throw new Error(`${row.id} was not measured`);
      outcomes.set(row.id, worseOf(first, second));
      tenants.set(row.id, tenant.id);
    }
  });
  return { outcomes, tenants };
}

interface Connection {
  readonly isConnected: boolean;
  readonly why: string | undefined;
}

/** What an operator sees of each upstream. */
async function connectionsOf(admin: FixtureAdmin, tenant: string): Promise<ReadonlyMap<string, Connection>> {
  const { items } = (await admin.ask("GET", `/tenants/${tenant}/upstreams?limit=100`)) as {
    items: { id: string; content: Json | null; why: string | null }[];
  };
  return new Map(items.map(({ id, content, why }) => [id, { isConnected: content !== null, why: why ?? undefined }]));
}

async function measureTenant(
  version: Version,
  url: string,
  rows: readonly OddRow[],
  connections: ReadonlyMap<string, Connection>,
): Promise<ReadonlyMap<string, Outcome>> {
  const face = await connected(version, url, PATIENT_MS);
  try {
    const listed = await Promise.all(LISTS.map(async (list) => [list, await face.list(list)] as const));
    const all = Object.fromEntries(listed) as Readonly<Record<ListName, readonly string[]>>;
    const measured = await inLanes(LANES.gateway, rows, async (row) => {
      const { isConnected = false, why } = connections.get(row.id) ?? {};
      if (!isConnected) return { ...unconnected(row, new Error(why)), why };
      const names = namesOf(row, `${row.id}__`);
      const lines = why === undefined ? [] : [`why: ${why}`];
      const lists = Object.fromEntries(
        LISTS.map((list) => [list, listingOf(ownOf(all[list], row), names.lists[list])]),
      ) as Outcome["lists"];
      const answers = await answersOf(face, row, { names, lists, lines });
      return { isConnected, lists, answers, said: lines, why };
    });
    return new Map(rows.map((row, index) => [row.id, measured[index] as Outcome]));
  } finally {
    await face.close();
  }
}

function ownOf(all: readonly string[], { id }: OddRow): readonly string[] {
  return all.filter((name) => name.startsWith(`${id}__`) || name.startsWith(`${id}:`));
}
