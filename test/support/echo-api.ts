// Owns an API of a tenant's, over real HTTP, that says whom a token names. Refuses tokens that its test does not verify.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as passed } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type { Json } from "./mcp-client.ts";

export interface EchoApi {
  readonly url: string;
  /** Each token that it was sent, in order. */
  readonly heard: readonly string[];
}

/** `verify`: the claims of a token; rejects for one that is not to be taken. Stops after the test. */
export async function startEchoApi(verify: (token: string) => Promise<Json>): Promise<EchoApi> {
  const heard: string[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const token = request.headers.authorization?.replace(/^Bearer /, "") ?? "";
      heard.push(token);
      // Others come meanwhile.
      await passed((heard.length * 7) % 20);
      const answer = await verify(token).then(
        (claims) => ({ status: 200, body: claims }),
        (error: unknown) => ({ status: 401, body: { refused: String(error) } }),
      );
      response.writeHead(answer.status, { "content-type": "application/json" });
      response.end(JSON.stringify(answer.body));
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, heard };
}
