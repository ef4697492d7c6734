// Owns the class of the platform's objects: operators, base documents, fleet runs, and what is stopped in every tenant. For a
// client's request a replica is asked, never the object that decides.

import { exports } from "cloudflare:workers";
import { STORED_RUNS, type StoredRunsBinding } from "../../sessions/session-object.ts";
import { HELLO } from "../../streams/held-socket.ts";
import { remote } from "../../tenants/authority/tables.ts";
import { createTablesObject } from "../../tenants/authority/tables-object.ts";
import { platformFaultTables } from "../../tenants/authority/fault-tables.ts";
import { baseTables } from "./base-tables.ts";
import { brakeTables, type BrakeHost } from "./brake-tables.ts";
import { fleetTables, type FleetHost } from "./fleet-tables.ts";
import { operatorTables } from "./operator-tables.ts";
import { keptBy } from "./platform-door.ts";

/** It has tables as a tenant's object has; `platform-door.ts` says which instances there are. */
export class PlatformObject extends createTablesObject<unknown, FleetHost & BrakeHost>(
  [operatorTables, baseTables, brakeTables, fleetTables, platformFaultTables],
  {
    hostOf: (base, ctx) => ({
      ...base,
      startStep,
      tellWatching: (version) => {
        for (const socket of ctx.getWebSockets()) tellBy(socket, String(version));
      },
    }),
    isMeant: () => true,
  },
) {
  /** Of a replica: an isolate watches it by a socket, beside which it may hibernate. It says first which version it has. */
  override async fetch(): Promise<Response> {
    const { version } = await remote(keptBy(this), brakeTables).lease({ version: null, forMs: 0 });
    const { 0: near, 1: far } = new WebSocketPair();
    this.ctx.acceptWebSocket(far);
    return new Response(null, { status: 101, webSocket: near, headers: { [HELLO]: String(version) } });
  }
}

/** Sending to a closing socket throws. Its isolate comes back, and the others are told all the same. */
function tellBy(socket: WebSocket, text: string): void {
  try {
    if (socket.readyState === WebSocket.OPEN) socket.send(text);
  } catch {
    socket.close(1011);
  }
}

/** Applying takes the author's catalog, so it is the Worker's, not an object's. */
async function startStep(run: number): Promise<void> {
  const entrypoints = exports as unknown as Readonly<Record<string, StoredRunsBinding | undefined>>;
  await entrypoints[STORED_RUNS]?.background({ fleet: run });
}
