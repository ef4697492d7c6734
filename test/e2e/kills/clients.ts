// How the unmodified official clients, and `mcp-remote`, connect to a Worker that is killed: with the options that they
// have by themselves, but for how often those over HTTP try again.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client as ClientV2 } from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport as HttpV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { FOREIGN } from "../../support/foreign-servers.ts";
import { answeringV1, answeringV2, type Person } from "../../support/official-clients.ts";
import type { Connected } from "./watcher.ts";

export interface Place {
  readonly url: string;
  readonly key?: string;
  readonly person: Person;
}

export interface Kind {
  readonly kind: string;
  /** Whether it may be asked, and a call that lost its stream goes on: era 2026 has neither sessions nor event ids. */
  readonly resumes: boolean;
  connect(place: Place): Promise<Connected>;
}

/** Their own are 1 s, 30 s and 1.5; of their own accord they give up after two tries, when nobody listens at all. */
const reconnectionOptions = {
  initialReconnectionDelay: 1000,
  maxReconnectionDelay: 30_000,
  reconnectionDelayGrowFactor: 1.5,
  maxRetries: 1000,
};
const CALL_WITHIN_MS = 90_000;
const LISTEN_WITHIN_MS = 5000;

const headersOf = ({ key }: Place): Record<string, string> =>
  key === undefined ? {} : { authorization: `Bearer ${key}` };

function byV1(kind: string, client: ClientV1, namesNoEvent = false): Connected {
  return {
    namesNoEvent,
    kind,
    client,
    era: "2025",
    call: (name, args, onprogress) =>
      client.callTool({ name, arguments: args }, undefined, {
        timeout: CALL_WITHIN_MS,
        ...(onprogress === undefined ? {} : { onprogress: ({ progress }) => onprogress(progress) }),
      }),
    close: () => client.close(),
  };
}

function byV2(kind: string, client: ClientV2, era: Connected["era"]): Connected {
  return {
    kind,
    client,
    era,
    call: (name, args, onprogress) =>
      client.callTool(
        { name, arguments: args },
        {
          timeout: CALL_WITHIN_MS,
          ...(onprogress === undefined ? {} : { onprogress: ({ progress }) => onprogress(progress) }),
        },
      ),
    listen: (uris) =>
      client.listen({ toolsListChanged: true, resourceSubscriptions: [...uris] }, { timeout: LISTEN_WITHIN_MS }),
    close: () => client.close(),
  };
}

function overV1(kind: string, transportOf: (place: Place) => Transport, namesNoEvent = false): Kind {
  return {
    kind,
    resumes: true,
    connect: async (place) => {
      const client = answeringV1(place.person);
      await client.connect(transportOf(place));
      return byV1(kind, client, namesNoEvent);
    },
  };
}

function overV2(kind: string, era: Connected["era"]): Kind {
  return {
    kind,
    resumes: era === "2025",
    connect: async (place) => {
      const client = answeringV2(era, place.person);
      const requestInit = { headers: headersOf(place) };
      await client.connect(new HttpV2(new URL(place.url), { requestInit, reconnectionOptions }));
      return byV2(kind, client, era);
    },
  };
}

/** Its stream has a name of its own, since it says nothing of what it had last. */
function sseUrl({ url }: Place): URL {
  const named = new URL(url);
  named.searchParams.set("stream", crypto.randomUUID());
  return named;
}

/** A process of its own, as a person's client starts it. It tries twice to come back. */
const remote: Kind = {
  kind: "mcp-remote",
  resumes: true,
  connect: async (place) => {
    const home = mkdtempSync(join(tmpdir(), "tenantry-home-"));
    const lines = Object.entries(headersOf(place)).flatMap(([name, value]) => ["--header", `${name}: ${value}`]);
    const proxy = join(FOREIGN, "node_modules/mcp-remote/dist/proxy.js");
    const args = [proxy, place.url, "--allow-http", "--silent", ...lines];
    const client = new ClientV1({ name: "killed", version: "1" });
    await client.connect(new StdioClientTransport({ command: process.execPath, args, env: { HOME: home } }));
    const connected = byV1("mcp-remote", client);
    return {
      ...connected,
      close: async () => {
        await client.close();
        rmSync(home, { recursive: true, force: true });
      },
    };
  },
};

export const KINDS = {
  "v1, GET": overV1(
    "v1, GET",
    (place) => new HttpV1(new URL(place.url), { requestInit: { headers: headersOf(place) }, reconnectionOptions }),
  ),
  "v2, GET": overV2("v2, GET", "2025"),
  "v2, listen": overV2("v2, listen", "2026"),
  "v1, HTTP+SSE": overV1(
    "v1, HTTP+SSE",
    (place) => new SSEClientTransport(sseUrl(place), { requestInit: { headers: headersOf(place) } }),
    true,
  ),
  "mcp-remote": remote,
} as const;
