// Owns whether a call goes to its upstream at all, and what the end of a call says about the next ones. Refuses at once
// while the upstream is left alone, and says when it is tried again.

import { canonicalJson } from "../../auth/seal.ts";
import { describeFault, httpStatusOf, retryAfterMs, type Fault } from "../../mcp-client/fault.ts";
import { failure, type Failure } from "../../protocol/errors.ts";
import { hashOf } from "../listed-name.ts";
import { isOwnBound } from "../translate-error.ts";
import type { TenantNews } from "../../tenants/authority/tenant-news.ts";
import { logState } from "../operate/state-log.ts";
import { silences } from "./silent-upstreams.ts";
import { circuits } from "./upstream-circuit.ts";

export interface Gated {
  readonly tenant: string;
  /** The upstream's id, and `configOf` it. */
  readonly id: string;
  readonly config: string;
  readonly timeoutMs: number;
  /** Who calls; asked where something is known of the upstream alone. */
  readonly caller: () => string;
  readonly tell?: ((news: TenantNews) => void) | undefined;
  /** What is sent of the client's own headers; empty where nothing is. */
  readonly ofClient: Readonly<Record<string, string>>;
}

/** The call that tries an upstream may be one that takes minutes, of whoever likes: others do not wait for its end. */
const LONGEST_PROBE_MS = 10_000;
const LONGEST_KEY = 200;

export class CallGate {
  readonly #gated: Gated;

  constructor(gated: Gated) {
    this.#gated = gated;
  }

  get #key(): string {
    const { tenant, id, config } = this.#gated;
    return `${tenant} ${id} ${config}`;
  }

  /** Too many requests of one client, known by its own header, are not those of another. */
  get #callerKey(): string {
    const { ofClient } = this.#gated;
    return Object.keys(ofClient).length === 0 ? this.#key : `${this.#key} ${inShort(canonicalJson(ofClient))}`;
  }

  /** Nor is it the matter of others that somebody asks for what takes too long, or breaks the connection. */
  get #ownKey(): string {
    return `${this.#callerKey} by ${this.#gated.caller()}`;
  }

  /** undefined: go, and say how it ended. */
  refusal(now: number): Failure | undefined {
    if (circuits.size === 0) return undefined;
    const { timeoutMs, id } = this.#gated;
    const probeMs = Math.min(timeoutMs, LONGEST_PROBE_MS);
    const wished = this.#callerKey === this.#key ? undefined : circuits.enter(this.#callerKey, now, probeMs, this);
    const own = wished ?? circuits.enter(this.#ownKey, now, probeMs, this);
    const shut = own ?? circuits.enter(this.#key, now, probeMs, this);
    if (!shut) return undefined;
    if (!own) circuits.left(this.#ownKey, this);
    const retryAfter = secondsOf(shut.until - now);
    const again = `it is tried again in ${retryAfter} s`;
    const data = { server: id, fault: shut.why === "wish" ? "status" : "unreachable", retryAfter };
    if (shut.why === "wish") return failure("faultyServer", `${id} has asked for a pause: ${again}`, data);
    return failure("unreachableServer", `Failed to connect to server: ${again}`, data);
  }

  answered(now: number): void {
    if (circuits.size === 0 && silences.size === 0) return;
    const leftSince = circuits.answered(this.#key, now);
    const since = silences.answered(this.#key) ?? leftSince;
    if (since !== null) this.#log("closed", since, null);
    circuits.answered(this.#ownKey, now);
  }

  /** Something broke on our side, so nobody knows. */
  left(): void {
    if (circuits.size === 0) return;
    circuits.left(this.#key, this);
    circuits.left(this.#ownKey, this);
  }

  /** What one caller met is nobody's news: only what holds for all is told. */
  #log(state: "open" | "closed", since: number, why: string | null): void {
    const { tenant, id, tell } = this.#gated;
    if (state === "open")
      tell?.({ type: "upstream.circuit", key: `${id} ${hourOf(since)}`, data: { upstream: id, why } });
    logState({ tenant, upstream: id, state, was: state === "open" ? "closed" : "open", why, since });
  }

  /** `heard`: the upstream has said something meanwhile. Gives the seconds for which it wants to be left alone. */
  failed(fault: Fault, heard: boolean, now: number): number | undefined {
    if (fault.kind === "cancelled" || isOwnBound(fault)) this.left();
    else if (!isSilence(fault) || heard) this.answered(now);
    else this.#unanswered(fault, now);
    const status = httpStatusOf(fault);
    const afterMs = status === 429 || status === 503 ? retryAfterMs(fault, now) : undefined;
    if (afterMs === undefined || afterMs === 0) return undefined;
    circuits.wished(status === 429 ? this.#callerKey : this.#key, now, afterMs);
    return secondsOf(afterMs);
  }

  #unanswered(fault: Fault, now: number): void {
    let since: number | undefined;
    if (fault.kind === "unreachable") {
      const isNew = circuits.failed(this.#key, now, this) && !silences.isTold(this.#key);
      if (isNew) since = now;
      circuits.left(this.#ownKey, this);
    } else {
      circuits.failed(this.#ownKey, now, this);
      const isOpen = circuits.failedAgain(this.#key, now, this);
      if (!isOpen) since = silences.failed(this.#key, now);
    }
    if (since !== undefined) this.#log("open", since, describeFault(fault));
  }
}

/** Each isolate finds it out by itself; within an hour it is told once. */
function hourOf(since: number): number {
  return Math.floor(since / 3_600_000);
}

/** Of headers there may be many kilobytes, and of circuits many: a client chooses the one, and who fails the other. */
function inShort(text: string): string {
  return text.length <= LONGEST_KEY ? text : `${hashOf(text)}${hashOf(`${text.length} ${text}`)}`;
}

function secondsOf(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}

/** No connection, or no answer in time. */
function isSilence(fault: Fault): boolean {
  if (fault.kind === "lost") return fault.stage === "headers";
  return fault.kind === "unreachable" || fault.kind === "timeout";
}
