// How attacks speak to what they attack: over HTTP alone, with the tokens that anybody of their role would have.

import { request } from "node:http";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Peer } from "./peer.ts";

export type Json = Record<string, unknown>;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON, or the data of the last event of a stream; `{}` where it is neither. */
  readonly json: Json;
  readonly ms: number;
}

export interface CallOptions {
  readonly profile?: string;
  readonly key?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly revision?: Revision;
}

export const REVISIONS = ["2025-11-25", "2026-07-28"] as const;
export type Revision = (typeof REVISIONS)[number];
const PATIENCE_MS = 60_000;

export interface SlowRequest {
  /** Sends the rest; the status and the text that come back. */
  finish(): Promise<{ readonly status: number; readonly text: string }>;
  close(): void;
}

export interface TargetAbout {
  readonly origin: string;
  readonly adminToken: string;
  readonly pid?: number | undefined;
  readonly storage?: string | undefined;
  readonly lab?: Target | undefined;
  readonly peer: Peer;
  /** From which attacks draw what they make up. */
  readonly seed: number;
}

export class Target {
  readonly origin: string;
  readonly adminToken: string;
  /** The process that was started, to look at its memory and its arguments; undefined: somebody else's. */
  readonly pid: number | undefined;
  /** Where it keeps what it stores; undefined: somebody else's. */
  readonly storage: string | undefined;
  /** Another of the same, with tools that ask, and that fetch what they are told. */
  readonly lab: Target | undefined;
  readonly peer: Peer;
  readonly seed: number;
  #made = 0;
  #limits: Json | undefined;

  constructor(about: TargetAbout) {
    this.origin = about.origin;
    this.adminToken = about.adminToken;
    this.pid = about.pid;
    this.storage = about.storage;
    this.lab = about.lab;
    this.peer = about.peer;
    this.seed = about.seed;
  }

  async send(path: string, init: RequestInit = {}): Promise<Answer> {
    const begun = performance.now();
    let status = 0;
    try {
      const response = await fetch(`${this.origin}${path}`, { signal: AbortSignal.timeout(PATIENCE_MS), ...init });
      status = response.status;
      const text = await response.text();
      return { status, headers: response.headers, text, json: jsonOf(text), ms: performance.now() - begun };
    } catch (error) {
      // `fetch` says neither what was asked nor why it failed.
      const { message, cause } = error as Error;
      const why = cause instanceof Error ? `${message}: ${cause.message}` : message;
      const after = `${Math.round(performance.now() - begun)} ms`;
      throw new Error(`${init.method ?? "GET"} ${path}, status ${status}, after ${after}: ${why}`, { cause: error });
    }
  }

  admin(method: string, path: string, body?: unknown, token = this.adminToken): Promise<Answer> {
    return this.send(`/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  /** Throws for what is refused: it is the attack's ground, not the attack. A rollout is waited for. */
  async must(method: string, path: string, body?: unknown, token?: string): Promise<Json> {
    const { status, text, json } = await this.admin(method, path, body, token);
    if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${text.slice(0, 300)}`);
    const isUnderWay = async () => (await this.must("GET", `/rollouts/${String(json.rollout)}`)).state === "running";
    while (typeof json.rollout === "number" && (await isUnderWay())) await pause(200);
    return json;
  }

  /** Makes a tenant; says its id. Attacks are many requests: its limits are as wide as they go, unless some are given. */
  async tenant(document: Json = {}): Promise<string> {
    this.#made += 1;
    const id = `attacked-${process.pid.toString(36)}-${this.#made}`;
    const limits = (document.extends === undefined && (await this.#wideLimits())) || undefined;
    const whole = { mode: "open", maxStalenessMs: 200, ...(limits && { limits }), ...document };
    // Names of what its upstreams list are there before these are.
    await this.must("POST", "/tenants?unknownNames=1", { id, document: whole });
    return id;
  }

  /** Of how much and how often, not of how large: as the description of the admin API has them. */
  async #wideLimits(): Promise<Json> {
    if (this.#limits) return this.#limits;
    const { json } = await this.send("/admin/openapi.json");
    const { Document = {} } = (json.components as { readonly schemas: Readonly<Record<string, Json>> }).schemas;
    const { properties = {} } = ((Document.properties as Json | undefined)?.limits ?? {}) as {
      properties?: Record<string, Json>;
    };
    const numbers = Object.entries(properties).filter(
      ([name, { maximum }]) => maximum !== undefined && !/bytes|daily/i.test(name),
    );
    return (this.#limits = Object.fromEntries(numbers.map(([name, { maximum }]) => [name, maximum])));
  }

  async key(tenant: string, about: Json = {}): Promise<{ readonly id: string; readonly token: string }> {
    return (await this.must("POST", `/tenants/${tenant}/keys`, { name: "attacker", ...about })) as {
      id: string;
      token: string;
    };
  }

  async operator(
    role: string,
    tenants?: readonly string[],
  ): Promise<{ readonly name: string; readonly token: string }> {
    this.#made += 1;
    const name = `attacker-${process.pid.toString(36)}-${this.#made}`;
    const made = await this.must("POST", "/operators", { name, role, ...(tenants ? { tenants } : {}) });
    return { name, token: String(made.token) };
  }

  call(tenant: string, method: string, params: Json = {}, options: CallOptions = {}): Promise<Answer> {
    const { headers, body } = written(method, params, options);
    return this.send(pathOf(tenant, options), { method: "POST", headers, body });
  }

  tool(tenant: string, name: string, args: Json, options: CallOptions = {}): Promise<Answer> {
    return this.call(tenant, "tools/call", { name, arguments: args }, options);
  }

  /** A POST of which the body stops after its first half. */
  slowCall(tenant: string, method: string, params: Json, options: CallOptions = {}): SlowRequest {
    const { headers, body } = written(method, params, options);
    return this.slow("POST", pathOf(tenant, options), headers, body);
  }

  slow(method: string, path: string, headers: Readonly<Record<string, string>>, body: string): SlowRequest {
    const sent = request(`${this.origin}${path}`, {
      method,
      headers: { ...headers, "content-length": Buffer.byteLength(body) },
    });
    const answered = new Promise<{ status: number; text: string }>((resolve, reject) => {
      sent.once("error", reject);
      sent.once("response", (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        response.once("end", () => resolve({ status: response.statusCode ?? 0, text }));
      });
    });
    // It may be answered before it is finished.
    answered.catch(() => {});
    sent.write(body.slice(0, body.length / 2));
    return {
      finish: () => {
        sent.end(body.slice(body.length / 2));
        return answered;
      },
      close: () => sent.destroy(),
    };
  }

  /** Bytes as they are, on a socket of their own; what came back until the other side closed, or for two seconds. */
  async bytes(text: string): Promise<string> {
    const { hostname, port } = new URL(this.origin);
    const socket = connect({ host: hostname, port: Number(port) });
    socket.write(text);
    let received = "";
    socket.setEncoding("latin1").on("data", (chunk: string) => (received += chunk));
    await new Promise<void>((resolve) => {
      socket.once("close", () => resolve()).once("error", () => resolve());
      setTimeout(resolve, 2000);
    });
    socket.destroy();
    return received;
  }
}

export function written(
  method: string,
  params: Json,
  options: CallOptions = {},
): { headers: Record<string, string>; body: string } {
  const { key, headers = {}, revision = "2026-07-28" } = options;
  const common = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": revision,
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
  };
  if (revision !== "2026-07-28") {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    return { headers: { ...common, ...headers }, body };
  }
  const subject = method === "resources/read" ? params.uri : params.name;
  const named = ["tools/call", "prompts/get", "resources/read"].includes(method) && typeof subject === "string";
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": revision,
    "io.modelcontextprotocol/clientInfo": { name: "attack", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": { elicitation: {}, sampling: {}, roots: {} },
  };
  return {
    headers: {
      ...common,
      "mcp-method": method,
      ...(named ? { "mcp-name": `=?base64?${Buffer.from(subject).toString("base64")}?=` } : {}),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }),
  };
}

function pathOf(tenant: string, { profile }: CallOptions): string {
  return `/mcp/${tenant}${profile === undefined ? "" : `/${profile}`}`;
}

function jsonOf(text: string): Json {
  const data = text.startsWith("{")
    ? text
    : (text
        .split("\n")
        .findLast((line) => line.startsWith("data: {"))
        ?.slice(6) ?? "{}");
  try {
    return JSON.parse(data) as Json;
  } catch {
    return {};
  }
}

/** Whether an MCP answer is the result of a tool that did what it was asked. */
export function didIt({ status, json }: Pick<Answer, "status" | "json">): boolean {
  const result = json.result as Json | undefined;
  return status === 200 && result !== undefined && result.isError !== true;
}

/** What a tool answered, as text. */
export function textOf({ json }: Pick<Answer, "json">): string {
  const content = ((json.result as Json | undefined)?.content ?? []) as { readonly text?: string }[];
  return content.map(({ text = "" }) => text).join("\n");
}

export interface ListedTool {
  readonly name: string;
  readonly inputSchema: { readonly properties?: Readonly<Record<string, Json>>; readonly required?: readonly string[] };
  readonly annotations?: { readonly readOnlyHint?: boolean };
}

export async function toolsOf(
  target: Target,
  tenant: string,
  options: CallOptions = {},
): Promise<readonly ListedTool[]> {
  const { json } = await target.call(tenant, "tools/list", {}, options);
  return ((json.result as Json | undefined)?.tools ?? []) as ListedTool[];
}

/** Arguments that a schema would take: the least of what is required. */
export function argumentsFor({ inputSchema }: ListedTool, more: Json = {}): Json {
  const { properties = {}, required = [] } = inputSchema;
  return { ...Object.fromEntries(required.map((name) => [name, valueFor(properties[name] ?? {})])), ...more };
}

export function valueFor(schema: Json): unknown {
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (schema.type === "integer" || schema.type === "number") return schema.minimum ?? 1;
  if (schema.type === "boolean") return false;
  if (schema.type === "array") return [];
  if (schema.type === "object") return {};
  return "attack";
}
