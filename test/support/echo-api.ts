// An API of a tenant's, over real HTTP, that says whom a token names.

import { setTimeout as passed } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { startLocalServer } from "./local-server.ts";
import type { Json } from "./mcp-client.ts";

export interface EchoApi {
  readonly url: string;
  /** Each token that it was sent, in order. */
  readonly requests: readonly string[];
}

/** `verify`: the claims of a token; rejects for one that is not to be taken. Stops after the test. */
export async function startEchoApi(verify: (token: string) => Promise<Json>): Promise<EchoApi> {
  const requests: string[] = [];
  const server = await startLocalServer((request, response) => {
    void (async () => {
      const token = request.headers.authorization?.replace(/^Bearer /, "") ?? "";
      requests.push(token);
      // Others come meanwhile.
      await passed((requests.length * 7) % 20);
      const answer = await verify(token).then(
        (claims) => ({ status: 200, body: claims }),
        (error: unknown) => ({ status: 401, body: { refused: String(error) } }),
      );
      response.writeHead(answer.status, { "content-type": "application/json" });
      response.end(JSON.stringify(answer.body));
    })();
  });
  onTestFinished(server.stop);
  return { url: `${server.origin}/`, requests };
}
