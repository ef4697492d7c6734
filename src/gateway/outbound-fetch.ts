// Owns how requests to upstreams leave: by the one door that looks at where they go, each hop of them. Refuses to wait
// or to read less than the client of the upstream does: that has limits of its own.

import { McpFault } from "../mcp-client/fault.ts";
import type { Fetch } from "../mcp-client/remote-endpoint.ts";
import { allowedBy, OutboundDoor, type OutboundDoorOptions, type OutboundVars } from "../outbound/outbound-door.ts";
import { TOKEN_WITHIN_MS } from "./guard/access-token.ts";
import { OutboundError } from "../outbound/outbound-error.ts";
import { resolverAt } from "../outbound/resolve.ts";

/** For whom a request leaves. */
export interface LeavingFor {
  /** Whose connections are counted together. */
  readonly tenant: string;
  /** The Worker's bindings. */
  readonly env: unknown;
  /** How many Workers of ours the request went through that this is done for. */
  readonly hops: number;
}

const NEVER = new AbortController().signal;

/** For a token endpoint, which answers soon and little: it is asked however many calls are under way. */
export function tokenFetch({ tenant, env, hops }: LeavingFor): (url: string, init: RequestInit) => Promise<Response> {
  const door = doorFor({ tenant: `token ${tenant}`, env, hops }, TOKEN_WITHIN_MS);
  return async (url, init) => door.fetch(url, { ...init, redirect: "manual", maxBytes: 64 * 1024 });
}

type Service = OutboundDoorOptions["service"];

function doorFor({ tenant, env, hops }: LeavingFor, answerWithinMs: number, service?: Service): OutboundDoor {
  const resolve = resolverAt((env as OutboundVars).OUTBOUND_RESOLVER);
  const allow = allowedBy(env);
  return new OutboundDoor({ tenant, hops, signal: () => NEVER, allow, resolve, answerWithinMs, service });
}

/** For reading what an upstream lists, however many calls are under way. */
export function readingFetch({ tenant, env, hops }: LeavingFor, service?: Service): Fetch {
  return outboundFetch({ tenant: `reading ${tenant}`, env, hops }, service);
}

/** What is sent ends when its call does, and whoever reads an answer counts its bytes. */
export function outboundFetch(leaving: LeavingFor, service?: Service): Fetch {
  const door = doorFor(leaving, Infinity, service);
  return (url, init) => door.fetch(url, init).catch(refuse);
}

function refuse(error: unknown): never {
  if (!(error instanceof OutboundError)) throw error;
  throw new McpFault({ kind: "unreachable", code: error.code, sent: "no" }, error);
}
