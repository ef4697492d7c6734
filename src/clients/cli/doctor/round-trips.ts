// Owns how long an endpoint takes to answer, request by request, in each era that it speaks. Refuses to judge the times.

import { ask2026 } from "../../../mcp-client/ask.ts";
import { speaksHttpSse, speaksNo2026 } from "../../../mcp-client/connect.ts";
import { McpFault, type Fault } from "../../../mcp-client/fault.ts";
import { resultOf } from "../../../mcp-client/message.ts";
import { responseOf } from "../../../mcp-client/mcp-reply.ts";
import { request2025 } from "../../../mcp-client/outgoing.ts";
import { end2025, open2025, send2025 } from "../../../mcp-client/streamable-2025.ts";
import { LATEST_2025, REVISION_2026 } from "../../../protocol/era.ts";
import { nextRequestId, type McpEndpoint } from "../mcp-endpoint.ts";
import { CLIENT_INFO } from "../version.ts";

export interface RoundTrips {
  readonly revision: string;
  readonly method: string;
  /** In the order in which they were made; the first one may have opened the connection. */
  readonly ms: readonly number[];
}

export const HELLO_2025 = { protocolVersion: LATEST_2025.revision, capabilities: {}, clientInfo: CLIENT_INFO };
export const ABOUT_2026 = { clientInfo: CLIENT_INFO, capabilities: {} };

/** To a tenth of a millisecond. */
function since(began: number): number {
  return Math.round((performance.now() - began) * 10) / 10;
}

async function several(count: number, work: () => Promise<unknown>): Promise<number[]> {
  const all: number[] = [];
  while (all.length < count) {
    const began = performance.now();
    await work();
    all.push(since(began));
  }
  return all;
}

/** Empty where the endpoint does not speak that era. */
export async function roundTrips2026(endpoint: McpEndpoint, count: number, signal: AbortSignal): Promise<RoundTrips[]> {
  const method = "server/discover";
  const ask = async () => {
    const asked = { method, params: {} };
    return ask2026({ endpoint, about: ABOUT_2026, nextId: nextRequestId }, asked, { signal });
  };
  return unless(speaksNo2026, async () => {
    const began = performance.now();
    const { supportedVersions } = resultOf(await ask()) ?? {};
    const first = since(began);
    if (!Array.isArray(supportedVersions) || !supportedVersions.includes(REVISION_2026)) return [];
    return [{ revision: REVISION_2026, method, ms: [first, ...(await several(count - 1, ask))] }];
  });
}

export async function roundTrips2025(endpoint: McpEndpoint, count: number, signal: AbortSignal): Promise<RoundTrips[]> {
  return unless(speaksHttpSse, async () => {
    const began = performance.now();
    const { session } = await open2025(endpoint, HELLO_2025, nextRequestId(), { signal });
    const opened = since(began);
    try {
      const ping = async () => {
        const request = request2025({ id: nextRequestId(), method: "ping", params: {} });
        await responseOf(await send2025(endpoint, session, request, { signal }));
      };
      const pings = await several(count, ping);
      const { revision } = session;
      return [
        { revision, method: "initialize, initialized", ms: [opened] },
        { revision, method: "ping", ms: pings },
      ];
    } finally {
      await endQuietly(endpoint, session);
    }
  });
}

const GOODBYE_MS = 2000;

/** The session is of no use to anybody; a server that does not hear of it forgets it by itself. */
export async function endQuietly(endpoint: McpEndpoint, session: Parameters<typeof end2025>[1]): Promise<void> {
  await end2025(endpoint, session, { limits: { totalMs: GOODBYE_MS } }).catch(() => undefined);
}

async function unless(isOther: (fault: Fault) => boolean, work: () => Promise<RoundTrips[]>): Promise<RoundTrips[]> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof McpFault && isOther(error.fault)) return [];
    throw error;
  }
}
