// What is verified, in order: each check builds on what those before it made.

import { setTimeout as wait } from "node:timers/promises";
import type { Counters, Outcome, Target } from "./target.ts";

const TENANT = "verify";
const NOTE = "note://verify/first";
const LATER = "note://verify/later";
const BILLED = "note://verify/billed";
/** Larger than what an object keeps beside KV for the first minutes. */
const TEXT = "A sentence that has to be read again. ".repeat(4000);
/** The platform refuses a Worker that takes longer. */
const STARTUP_MS = 1000;
const CALLS = 200;
const READS = 20;
/** For as long as a lease; more refusals than 100 a minute would be 429. */
const REFUSALS = 50;
const REFUSALS_EVERY_MS = 100;
/** For each call under a lease: the object is asked again when the lease of an isolate ends, every 5 s. */
const OBJECT_CALLS_A_CALL = 0.5;
const MODERN = { "mcp-protocol-version": "2026-07-28" };

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

/** Never throws for what a check finds: a check that cannot go on fails, and the others are tried. */
export async function verify(target: Target, report: (outcome: Outcome) => void): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  const check = async (name: string, run: () => Promise<string | { readonly skipped: string }>) => {
    let outcome: Outcome;
    try {
      const detail = await run();
      outcome =
        typeof detail === "string"
          ? { check: name, result: "passed", detail }
          : { check: name, result: "skipped", detail: detail.skipped };
    } catch (error) {
      outcome = { check: name, result: "failed", detail: (error as Error).message };
    }
    outcomes.push(outcome);
    report(outcome);
  };
  const scene = new Scene(target);
  await check("first release answers", () => scene.release("first"));
  // Without it there is nothing to verify.
  if (outcomes.some(({ result }) => result === "failed")) return outcomes;
  await check("start-up", async () => {
    const ms = await target.startupMs();
    if (typeof ms !== "number") return ms;
    expectTrue(ms <= STARTUP_MS, `${ms} ms; at most ${STARTUP_MS}`);
    return `${ms} ms`;
  });
  await check("every class does its work", () => scene.useEveryClass());
  await check("next release, with a migration, keeps what was stored", async () => {
    const released = await scene.release("next");
    await scene.expectStored([NOTE]);
    await scene.store(LATER, "once");
    return released;
  });
  await check("rollback keeps what both releases stored", async () => {
    await target.rollback();
    await scene.expectStored([NOTE, LATER]);
    return "both notes and the key";
  });
  await check("next release again", async () => {
    const released = await scene.release("next");
    await scene.expectStored([NOTE, LATER]);
    return released;
  });
  await check("bill", () => scene.compareBill());
  await check("revoked key is refused", () => scene.revoke());
  return outcomes;
}

class Scene {
  readonly #target: Target;
  #key = "";
  #keyId = "";
  #requests = 0;

  constructor(target: Target) {
    this.#target = target;
  }

  async release(release: "first" | "next"): Promise<string> {
    const began = Date.now();
    await this.#target.deploy(release);
    const requestCount = Date.now();
    const ready = await this.#ask("GET", "/readyz");
    if (ready.status !== 200) {
      throw new Error(`/readyz answers ${ready.status}: ${ready.text.trim()}; ${await this.#target.log()}`);
    }
    return `answers after ${seconds(requestCount - began)}, ready after ${Date.now() - requestCount} ms`;
  }

  /** Each class of the Worker has to do something that only it does. */
  async useEveryClass(): Promise<string> {
    const document = { mode: "key", upstreams: { mirror: { url: `${this.#target.origin()}/mcp/${TENANT}-up` } } };
    await this.#admin("POST", "/tenants", { id: `${TENANT}-up`, document: { mode: "open" } });
    await this.#admin("POST", "/tenants", { id: TENANT, document });
    const made = JSON.parse((await this.#admin("POST", `/tenants/${TENANT}/keys`, { name: "verify" })).text) as {
      id: string;
      token: string;
    };
    [this.#key, this.#keyId] = [made.token, made.id];
    await this.store(NOTE, "before");
    await this.expectStored([NOTE]);
    const session = await this.#rpc("initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "verify-deployment", version: "1" },
    });
    const id = session.headers.get("mcp-session-id");
    expectTrue(id !== null, `initialize gives no session: ${session.status} ${session.text}`);
    const headers = { "mcp-session-id": id ?? "", "mcp-protocol-version": "2025-11-25" };
    const subscribed = await this.#rpc("resources/subscribe", { uri: NOTE }, headers);
    expectTrue(subscribed.status === 200, `resources/subscribe answers ${subscribed.status}: ${subscribed.text}`);
    await this.#hearsOfAChange(headers);
    const tested = await this.#admin("POST", `/tenants/${TENANT}/upstreams/mirror/test`, {});
    return `tenant, key, note in KV, session with a stream, upstream (${tested.status})`;
  }

  async #hearsOfAChange(headers: Readonly<Record<string, string>>): Promise<void> {
    const aborted = new AbortController();
    const stream = await fetch(`${this.#target.origin()}/mcp/${TENANT}`, {
      headers: { ...headers, accept: "text/event-stream", authorization: `Bearer ${this.#key}` },
      signal: aborted.signal,
    });
    this.#requests += 1;
    expectTrue(stream.status === 200, `the stream of the session answers ${stream.status}`);
    const timer = setTimeout(() => {
      aborted.abort(new Error("the stream does not hear of a change within 15 s"));
    }, 15_000);
    try {
      await this.store(NOTE, "after");
      let text = "";
      for await (const chunk of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        text += chunk;
        if (text.includes("notifications/resources/updated")) return;
      }
      throw new Error("the stream of the session ended before it heard of a change");
    } finally {
      clearTimeout(timer);
      aborted.abort();
    }
  }

  async store(uri: string, revision: string): Promise<void> {
    const path = `/tenants/${TENANT}/resources/content?${new URLSearchParams({ uri })}`;
    await this.#admin("PUT", path, `${uri}, ${revision}\n${TEXT}`, "text/plain");
  }

  /** With the key that was made first: it has to be there, too. */
  async expectStored(uris: readonly string[]): Promise<void> {
    for (const uri of uris) {
      const read = await this.#rpc("resources/read", { uri }, MODERN);
      expectTrue(
        read.status === 200 && read.text.includes('"contents"'),
        `${uri} is lost: ${read.status} ${read.text}`,
      );
      expectTrue(read.text.includes(TEXT), `${uri} is not what was stored`);
    }
  }

  async compareBill(): Promise<string | { readonly skipped: string }> {
    const list = () => this.#rpc("tools/list", {}, MODERN);
    await list();
    await this.store(BILLED, "once");
    const before = await this.#target.counters(this.#requests);
    if ("skipped" in before) return before;
    const requestsBefore = this.#requests;
    for (let call = 0; call < CALLS; call += 1) await list();
    for (let read = 0; read < READS; read += 1) await this.expectStored([BILLED]);
    const after = await this.#target.counters(this.#requests);
    if ("skipped" in after) return after;
    const requestCount = this.#requests - requestsBefore;
    const counted = (of: keyof Counters) => after[of] - before[of];
    const bill = `${requestCount} requests: ${counted("objectCalls")} object calls, ${counted("kvReads")} KV reads, ${counted("kvWrites")} KV writes`;
    expectTrue(counted("requests") <= requestCount * 1.1, `${bill}, but ${counted("requests")} requests were counted`);
    const objectCalls = CALLS * OBJECT_CALLS_A_CALL + READS * 4;
    expectTrue(counted("objectCalls") <= objectCalls, `${bill}; at most ${objectCalls} object calls are expected`);
    expectTrue(counted("kvReads") <= READS * 2, `${bill}; at most ${READS * 2} KV reads are expected`);
    expectTrue(counted("kvWrites") === 0, `${bill}; no KV writes are expected`);
    return bill;
  }

  /** A withdrawal is acknowledged when no lease contradicts it: from the answer on every request is refused. */
  async revoke(): Promise<string> {
    const began = Date.now();
    await this.#admin("DELETE", `/tenants/${TENANT}/keys/${this.#keyId}`);
    const acknowledged = Date.now() - began;
    for (let refused = 0; refused < REFUSALS; refused += 1) {
      const { status } = await this.#rpc("tools/list", {}, MODERN);
      expectTrue(status === 401, `call ${refused + 1} after the acknowledgement answers ${status}`);
      await wait(REFUSALS_EVERY_MS);
    }
    return `acknowledged after ${acknowledged} ms, ${REFUSALS} calls refused`;
  }

  #rpc(method: string, params: object, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const isModern = headers === MODERN;
    const meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "verify-deployment", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const body = { jsonrpc: "2.0", id: 1, method, params: isModern ? { ...params, _meta: meta } : params };
    const names = isModern
      ? { "mcp-method": method, ...("uri" in params ? { "mcp-name": String(params.uri) } : {}) }
      : {};
    return this.#ask("POST", `/mcp/${TENANT}`, JSON.stringify(body), {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${this.#key}`,
      ...names,
      ...headers,
    });
  }

  async #admin(method: string, path: string, body?: unknown, type = "application/json"): Promise<Answer> {
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const headers = { authorization: `Bearer ${this.#target.adminToken}`, "content-type": type };
    const answer = await this.#ask(method, `/admin/v1${path}`, text, headers);
    expectTrue(answer.status < 300, `${method} ${path} answers ${answer.status}: ${answer.text}`);
    return answer;
  }

  async #ask(
    method: string,
    path: string,
    body?: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    this.#requests += 1;
    const response = await fetch(this.#target.origin() + path, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      signal: AbortSignal.timeout(30_000),
    });
    return { status: response.status, text: await response.text(), headers: response.headers };
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function expectTrue(holds: boolean, message: string): void {
  if (!holds) throw new Error(message.slice(0, 2000));
}
