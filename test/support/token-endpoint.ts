// A token endpoint that a test tells what to answer, over real HTTP.

import type { IncomingHttpHeaders } from "node:http";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { startLocalServer } from "./local-server.ts";
import type { Json } from "./mcp-client.ts";

export interface TokenEndpoint {
  readonly url: string;
  readonly requests: readonly { readonly headers: IncomingHttpHeaders; readonly form: URLSearchParams }[];
  /** For the request with this number, from 1. "silence": none. */
  answer: (count: number) => { readonly status?: number; readonly body: Json } | "silence";
}

/** Gives `token-1`, `token-2` and so on, unless told otherwise. Stops after the test. */
export async function startTokenEndpoint(): Promise<TokenEndpoint> {
  const requests: { headers: IncomingHttpHeaders; form: URLSearchParams }[] = [];
  const server = await startLocalServer((request, response) => {
    void (async () => {
      requests.push({ headers: request.headers, form: new URLSearchParams(await text(request)) });
      const answer = endpoint.answer(requests.length);
      if (answer === "silence") return;
      response.writeHead(answer.status ?? 200, { "content-type": "application/json" });
      response.end(JSON.stringify(answer.body));
    })();
  });
  onTestFinished(server.stop);
  const endpoint: TokenEndpoint = {
    url: `${server.origin}/token`,
    requests,
    answer: (count) => ({ body: { access_token: `token-number-${count}`, token_type: "Bearer", expires_in: 3600 } }),
  };
  return endpoint;
}
