// An HTTP server on this machine that answers as a test says.

import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

export interface LocalServer {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string;
  readonly stop: () => void;
}

export async function startLocalServer(answer: RequestListener): Promise<LocalServer> {
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

/** The same for an application that answers a `Request` with a `Response`. */
export async function serveFetch(answer: (request: Request) => Response | Promise<Response>): Promise<LocalServer> {
  const server = await startLocalServer((incoming, outgoing) => {
    void (async () => {
      const { method = "GET", url = "/", headers } = incoming;
      const body = method === "GET" ? null : new Uint8Array(await buffer(incoming));
      const request = new Request(server.origin + url, { method, headers: headers as Record<string, string>, body });
      const response = await answer(request);
      const sent = Object.fromEntries(response.headers);
      outgoing.writeHead(response.status || 500, { ...sent, "set-cookie": response.headers.getSetCookie() });
      outgoing.end(new Uint8Array(await response.arrayBuffer()));
    })();
  });
  return server;
}
