// What stands beside the target and belongs to the attacker: a web server that remembers who asked it, and says where
// to go next, and a resolver for which every name is an address inside.

import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from "node:http";
import { networkInterfaces } from "node:os";
import type { AddressInfo } from "node:net";

export interface Peer {
  /** `http://127.0.0.1:PORT`. */
  readonly origin: string;
  readonly port: number;
  readonly resolver: string;
  /** Addresses of this machine that are not loopback: the same server is reached there. */
  readonly addresses: readonly string[];
  /** Who asked, since it was read last. */
  take(): readonly { readonly url: string; readonly headers: IncomingHttpHeaders }[];
  stop(): Promise<void>;
}

const ENDLESS = Buffer.alloc(64 * 1024, "x");

export async function startPeer(): Promise<Peer> {
  let asked: { url: string; headers: IncomingHttpHeaders }[] = [];
  const web = await listen("0.0.0.0", (request, response) => {
    asked.push({ url: request.url ?? "", headers: request.headers });
    const url = new URL(request.url ?? "", "http://peer");
    if (url.pathname === "/round") response.writeHead(302, { location: "/round" }).end();
    else if (url.pathname === "/to") {
      response
        .writeHead(Number(url.searchParams.get("status") ?? 302), { location: url.searchParams.get("at") ?? "" })
        .end();
    } else if (url.pathname === "/endless") {
      const more = () => {
        while (response.write(ENDLESS));
      };
      response.on("drain", more);
      more();
    } else if (url.pathname !== "/silent") response.end("the inside");
  });
  const names = await listen("127.0.0.1", (request, response) => {
    const wanted = new URL(request.url ?? "", "http://resolver").searchParams;
    const name = wanted.get("name") ?? "";
    const data = wanted.get("type") === "A" ? (INSIDE[name] ?? "127.0.0.1") : "::1";
    const Answer = [{ name, type: wanted.get("type") === "A" ? 1 : 28, TTL: 1, data }];
    response.setHeader("content-type", "application/dns-json").end(JSON.stringify({ Status: 0, Answer }));
  });
  const port = portOf(web);
  const interfaces = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    resolver: `http://127.0.0.1:${portOf(names)}/`,
    addresses: interfaces
      .filter(({ family, internal }) => family === "IPv4" && !internal)
      .map(({ address }) => address),
    take: () => {
      const taken = asked;
      asked = [];
      return taken;
    },
    stop: async () => {
      for (const server of [web, names]) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
    },
  };
}

const INSIDE: Readonly<Record<string, string>> = {
  "metadata.attack.example.com": "169.254.169.254",
  "intranet.attack.example.com": "10.0.0.1",
  "shared.attack.example.com": "100.64.0.1",
};

async function listen(host: string, serve: RequestListener): Promise<Server> {
  const server = createServer(serve);
  await new Promise<void>((resolve) => {
    server.listen(0, host, resolve);
  });
  return server;
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}
