// What tests of the MCP client start from: an endpoint on a clock that stands still, the ways to send a request, and
// the proof that nothing was left behind when a test ends.

import { afterEach, expect, onTestFinished } from "vitest";
import type { RemoteEndpoint, RequestOptions } from "../../src/mcp-client/remote-endpoint.ts";
import { McpFault, type Fault } from "../../src/mcp-client/fault.ts";
import type { AnswerLimits } from "../../src/mcp-client/answer-limits.ts";
import type { Message } from "../../src/mcp-client/message.ts";
import { buildRequest2025, buildRequest2026 } from "../../src/mcp-client/prepared-request.ts";
import type { McpReply } from "../../src/mcp-client/mcp-reply.ts";
import type { Session2025 } from "../../src/mcp-client/session-2025.ts";
import { send2026, sendNotification2026 } from "../../src/mcp-client/stateless-2026.ts";
import { send2025, sendOneWay2025 } from "../../src/mcp-client/streamable-2025.ts";
import { ManualClock } from "./manual-clock.ts";
import { ScriptedServer, type Exchange, type Json } from "../support/scripted-server.ts";

export interface Bench {
  readonly server: ScriptedServer;
  readonly endpoint: RemoteEndpoint;
  readonly clock: ManualClock;
  /** Ends what the test does not end itself. */
  readonly abort: AbortController;
  /** How many listeners the client has on that signal. */
  readonly listeners: () => number;
  /** How many answers have come that the client has not said to be over. */
  readonly open: () => number;
}

const benches: Bench[] = [];

/** A scripted server, and an endpoint of it. */
export async function bench(
  script?: (exchange: Exchange) => void,
  limits: Partial<AnswerLimits> = {},
): Promise<Bench & { readonly options: RequestOptions }> {
  const server = await ScriptedServer.start(script);
  const clock = new ManualClock();
  let open = 0;
  const fetching: RemoteEndpoint["fetch"] = async (url, init) => {
    const response = await fetch(url, init);
    open += 1;
    init.onEnd?.(() => (open -= 1));
    return response;
  };
  const endpoint = { url: server.url, headers: { authorization: "Bearer k" }, fetch: fetching, clock, limits };
  const abort = new AbortController();
  const made = { server, endpoint, clock, abort, listeners: countListeners(abort.signal), open: () => open };
  benches.push(made);
  onTestFinished(() => abort.abort());
  return { ...made, options: { signal: abort.signal } };
}

/** Whatever happened: no timer is set any more, nobody listens to the caller's signal, and every answer is over. */
export function expectNothingLeft(): void {
  afterEach(() => {
    for (const { clock, listeners, open } of benches.splice(0)) {
      expect(clock.pending).toEqual([]);
      expect(listeners()).toBe(0);
      expect(open()).toBe(0);
    }
  });
}

function countListeners(signal: AbortSignal): () => number {
  const listeners = new Set<unknown>();
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (type: string, listener: EventListener, options?: AddEventListenerOptions) => {
    listeners.add(listener);
    add(type, listener, options);
  };
  signal.removeEventListener = (type: string, listener: EventListener) => {
    listeners.delete(listener);
    remove(type, listener);
  };
  // What is told once and has been told is no listener any more.
  return () => (signal.aborted ? 0 : listeners.size);
}

export const SESSION: Session2025 = { id: "s-1", revision: "2025-11-25", hello: {}, capabilities: {} };
export const ABOUT = { clientInfo: { name: "bench", version: "1" }, capabilities: {} };

export interface Way {
  readonly era: "2025" | "2026";
  readonly send: (endpoint: RemoteEndpoint, options?: RequestOptions, id?: string | number) => Promise<McpReply>;
  readonly tell: (endpoint: RemoteEndpoint, options?: RequestOptions) => Promise<void>;
}

const CALL = { method: "tools/call", params: { name: "slow", arguments: {} } };
const NOTE = { method: "notifications/something", params: {} };

/** The same request in both eras. */
export const WAYS: readonly Way[] = [
  {
    era: "2025",
    send: async (endpoint, options, id = 1) => send2025(endpoint, SESSION, buildRequest2025({ id, ...CALL }), options),
    tell: async (endpoint, options) =>
      sendOneWay2025(endpoint, SESSION, JSON.stringify({ jsonrpc: "2.0", ...NOTE }), options),
  },
  {
    era: "2026",
    send: async (endpoint, options, id = 1) => send2026(endpoint, buildRequest2026({ id, ...CALL }, ABOUT), options),
    tell: async (endpoint, options) => {
      const { headers } = buildRequest2026({ id: 0, ...NOTE }, ABOUT);
      return sendNotification2026(endpoint, { headers, text: JSON.stringify({ jsonrpc: "2.0", ...NOTE }) }, options);
    },
  },
];

/** All that is said until the answer, and the answer. */
export async function messagesOf(reply: McpReply | Promise<McpReply>): Promise<Message[]> {
  const messages: Message[] = [];
  for await (const message of (await reply).messages) messages.push(message);
  return messages;
}

/** What a work fails with; throws where it does not. */
export async function faultOf(work: Promise<unknown>): Promise<Fault> {
  const error = await work.then(
    () => new Error("it did not fail"),
    (failed: unknown) => failed,
  );
  if (error instanceof McpFault) return error.fault;
  throw error;
}

export const done = (id: unknown, result: Json = {}): Json => ({ jsonrpc: "2.0", id, result });
export const progress = (message: string): Json => ({
  jsonrpc: "2.0",
  method: "notifications/progress",
  params: { progressToken: 1, progress: 1, message },
});
