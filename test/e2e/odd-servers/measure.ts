// What comes of each row by all three ways.

import { vi } from "vitest";
import { measureDirectly } from "./measure-directly.ts";
import { measureThroughGateway, type GatewayAt } from "./measure-gateway.ts";
import type { OddRow } from "./odd-row.ts";
import type { OddServers } from "./odd-server.ts";
import { VERSIONS, type Version } from "./official-client.ts";
import type { Outcome } from "./outcome.ts";
import { inLanes, LANES } from "./pace.ts";

export interface Measured extends Readonly<Record<Version, Outcome>> {
  readonly gateway: Outcome;
}

export async function measureAll(
  at: GatewayAt,
  rows: readonly OddRow[],
  servers: OddServers,
): Promise<{ readonly measured: ReadonlyMap<string, Measured>; readonly tenants: ReadonlyMap<string, string> }> {
  // 2.x says on the console that a server has no prompts.
  vi.spyOn(console, "debug").mockImplementation(() => {});
  const direct = inLanes(LANES.direct, rows, (row) =>
    Promise.all(VERSIONS.map((version) => measureDirectly(version, row, servers.urlOf(row)))),
  );
  const [outcomes, { outcomes: throughGateway, tenants }] = await Promise.all([
    direct,
    measureThroughGateway(at, rows, servers),
  ]);
  const measured = rows.map((row, index): readonly [string, Measured] => {
    const [first, second] = outcomes[index] ?? [];
    const gateway = throughGateway.get(row.id);
    if (!first || !second || !gateway) throw new Error(`${row.id} was not measured`);
    return [row.id, { "1.x": first, "2.x": second, gateway }];
  });
  return { measured: new Map(measured), tenants };
}
