// Owns a server on this machine that answers as a test says. Refuses assertions.

import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

export interface LocalHost {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string;
  stop(): void;
}

export async function startLocalHost(answer: RequestListener): Promise<LocalHost> {
  const server = createServer(answer);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
