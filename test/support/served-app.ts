// Owns an application that answers requests as `fetch` has them, over real HTTP on this machine, for a test or a file of
// tests. Refuses to know what it answers.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

export interface ServedApp {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string;
  stop(): void;
}

export async function serveApp(answer: (request: Request) => Response | Promise<Response>): Promise<ServedApp> {
  const server = createServer((incoming, outgoing) => {
    void (async () => {
      const { method = "GET", url = "/", headers } = incoming;
      const body = method === "GET" ? null : new Uint8Array(await buffer(incoming));
      const request = new Request(origin + url, { method, headers: headers as Record<string, string>, body });
      const response = await answer(request);
      const sent = Object.fromEntries(response.headers);
      outgoing.writeHead(response.status || 500, { ...sent, "set-cookie": response.headers.getSetCookie() });
      outgoing.end(new Uint8Array(await response.arrayBuffer()));
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
