// The loopback port that receives the authorization code from the browser. Accepts only this machine, and only a
// callback with the right `state`. https://datatracker.ietf.org/doc/html/rfc8252#section-7.3

import { timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { usageError } from "../exit.ts";

const PATH = "/callback";
const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  connection: "close",
};

export interface Redirect {
  readonly parameters: URLSearchParams;
  /** Sends the page that the browser shows; once. */
  respond(text: string): void;
}

export interface LoopbackServer {
  readonly port: number;
  readonly redirectUri: string;
  /** Rejects with the reason of the signal. */
  waitForRedirect(state: string, signal: AbortSignal): Promise<Redirect>;
  close(): void;
}

/** `requestedPort`: 0 for any free port. */
export async function startLoopbackServer(requestedPort: number): Promise<LoopbackServer> {
  let handleRedirect: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  const server = createServer((request, response) => {
    if (handleRedirect?.(request, response) === true) return;
    respondHtml(response, 404, "Not found. The sign-in may have ended.");
  });
  server.listen(requestedPort, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch (error) {
    throw usageError(`--port ${requestedPort}: ${(error as Error).message}`);
  }
  const { port } = server.address() as AddressInfo;
  return {
    port,
    redirectUri: `http://127.0.0.1:${port}${PATH}`,
    waitForRedirect: (state, signal) =>
      new Promise((resolve, reject) => {
        const stop = () => reject(signal.reason as Error);
        if (signal.aborted) stop();
        signal.addEventListener("abort", stop, { once: true });
        handleRedirect = (request, response) => {
          const parameters = callbackParameters(request);
          if (!parameters || !isSameSecret(parameters.get("state") ?? "", state)) return false;
          handleRedirect = undefined;
          signal.removeEventListener("abort", stop);
          resolve({ parameters, respond: (text) => respondHtml(response, 200, text) });
          return true;
        };
      }),
    close: () => {
      server.close();
      server.closeIdleConnections();
    },
  };
}

function callbackParameters({ method, url = "" }: IncomingMessage): URLSearchParams | undefined {
  const [path, query = ""] = url.split("?", 2);
  return method === "GET" && path === PATH ? new URLSearchParams(query) : undefined;
}

function isSameSecret(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/**
 * `text` is trusted: it contains only this program's words and the URL that the user gave, nothing from a page or a
 * server.
 */
function respondHtml(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, HEADERS);
  response.end(`<!doctype html><html lang="en"><title>tenantry</title><p>${text}</p></html>\n`);
}
