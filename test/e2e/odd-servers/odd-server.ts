// One HTTP server that plays all rows, each at a path of its own.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { Exchange } from "../../support/scripted-server.ts";
import { OddRequest, type Memory } from "./odd-request.ts";
import type { OddRow } from "./odd-row.ts";

export interface OddServers {
  urlOf(row: OddRow): string;
  stop(): void;
}

export async function startOddServers(rows: readonly OddRow[]): Promise<OddServers> {
  const memories = new Map(
    rows.map((row): [string, Memory & { readonly row: OddRow }] => [row.id, { row, sessions: new Set(), state: {} }]),
  );
  const server = createServer((request, response) => {
    void (async () => {
      const exchange = new Exchange(request, await text(request), response);
      const found = memories.get(exchange.path.split("/")[1] ?? "");
      if (found) found.row.odd(new OddRequest(exchange, found.row, found));
      else exchange.refuse(404);
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    urlOf: ({ id }) => `http://127.0.0.1:${port}/${id}/mcp`,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
