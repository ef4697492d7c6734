// An admin API in memory for tests of its clients. It validates requests as the server does, stores what they write, and hangs,
// refuses or vanishes where a test wants it. It has no policy and no roles.

import { fakeLoginParts, fakeLogins, type FakeLogins } from "./fake-logins.ts";
import { fakeExplained } from "./fake-explained.ts";
import { answerUpstreams } from "./fake-upstreams.ts";
import { shownLimits, withLimit } from "./fake-limits.ts";
import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { ZodType } from "zod";
import type * as contract from "../../src/admin/contract.ts";
import type { Infer } from "../../src/admin/contract.ts";
import type { AdminEndpoint } from "../../src/admin/endpoint.ts";
import { ENDPOINTS } from "../../src/admin/endpoints/all-endpoints.ts";
import { object } from "../../src/admin/schema-parts.ts";
import { validate, type Validation } from "../../src/admin/validate.ts";
import { validateQuery } from "../../src/admin/validate-query.ts";
import {
  diffDocuments,
  mergeDocuments,
  type TenantDocument,
  type UpstreamDocument,
} from "../../src/tenants/document/tenant-document.ts";

export const TOKEN = "fake-owner-token";
const CREATED = "2026-11-21T10:00:00.000Z";

interface Resource {
  readonly about: Infer<typeof contract.ResourceShape>;
  readonly body: Buffer;
}

interface FakeTenant extends FakeLogins {
  own: TenantDocument;
  state?: "gone";
  revision: number;
  readonly birth: Pick<Infer<typeof contract.NewTenant>, "region" | "jurisdiction">;
  readonly resources: Map<string, Resource>;
  readonly keys: Map<string, Infer<typeof contract.ApiKeyShape>>;
  readonly suspensions: Map<string, Infer<typeof contract.SuspensionShape>>;
  /** Values by name. */
  readonly secrets: Map<string, string>;
  readonly audit: Infer<typeof contract.AuditRow>[];
}

/** Thrown for an answer that is a problem. */
class Refused extends Error {
  readonly status: number;
  readonly errors: readonly { field: string; rule: string }[] | undefined;
  readonly headers: Record<string, string>;
  constructor(status: number, message: string, errors?: Refused["errors"], headers: Refused["headers"] = {}) {
    super(message);
    this.status = status;
    this.errors = errors;
    this.headers = headers;
  }
}

interface Asked {
  readonly method: string;
  readonly path: readonly string[];
  readonly query: URLSearchParams;
  readonly request: IncomingMessage;
  /** Lower-case. */
  readonly header: (name: string) => string | undefined;
  /** The body, which is valid. */
  readonly json: <S extends ZodType>() => Infer<S>;
}

interface Answer {
  readonly status?: number;
  readonly json?: unknown;
  readonly body?: Buffer;
  readonly headers?: Record<string, string>;
}

export class FakeAdmin {
  readonly tenants = new Map<string, FakeTenant>();
  readonly bases = new Map<string, TenantDocument>();
  readonly operators = new Map<string, Infer<typeof contract.Operator>>();
  readonly blocks = new Map<string, string>();
  /** The one that there is, which is done at once. */
  readonly rollout: Infer<typeof contract.Rollout> = {
    version: 1,
    about: "block",
    state: "done",
    actor: "root",
    begun: CREATED,
    tenants: 1,
    missing: [],
    refused: [],
  };
  /** `METHOD /path?query` of everything that came in. */
  readonly requests: string[] = [];
  /** The URIs whose bodies were sent, in order. */
  readonly uploads: string[] = [];
  readonly downloads: string[] = [];
  /** Looked at before anything else: an answer here is the answer. */
  intercept: (asked: Pick<Asked, "method" | "header"> & { readonly url: string }) => Answer | undefined = () =>
    undefined;
  /** What an answer says instead of what it would. */
  rewrite: (json: unknown) => unknown = (json) => json;
  /** Awaited before a body is stored, `stored`, and before its answer, `answer`. */
  gate: (moment: "store" | "answer", uri: string) => Promise<void> | void = () => {};
  #server: Server | undefined;

  get url(): string {
    const { port } = (this.#server as Server).address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  async start(port = 0): Promise<void> {
    this.#server = createServer((request, response) => void this.#serve(request, response));
    this.#server.listen(port, "127.0.0.1");
    await once(this.#server, "listening");
  }

  /** Connections break, as when the process is killed. What was stored stays. */
  async stop(): Promise<void> {
    const server = this.#server;
    if (!server?.listening) return;
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  }

  addTenant(id: string, own: TenantDocument = {}): FakeTenant {
    const tenant: FakeTenant = {
      own,
      revision: 1,
      birth: {},
      resources: new Map(),
      keys: new Map(),
      ...fakeLogins(),
      suspensions: new Map(),
      secrets: new Map(),
      audit: [],
    };
    this.tenants.set(id, tenant);
    return tenant;
  }

  addResource(tenant: string, uri: string, body: Buffer | string, about: Partial<Resource["about"]> = {}): void {
    const bytes = Buffer.from(body);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const stored = { uri, name: uri, mimeType: "text/plain", binary: false, size: bytes.byteLength, sha256, tags: [] };
    const etag = `"${sha256.slice(0, 16)}.${randomUUID().slice(0, 8)}"`;
    const whole = { ...stored, lastModified: CREATED, ...about, etag };
    this.#tenant(tenant).resources.set(uri, { about: whole, body: bytes });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let answer: Answer;
    try {
      answer = await this.#answer(request);
    } catch (error) {
      // A connection that broke off in the middle of a body.
      if (!(error instanceof Refused)) return void response.destroy();
      answer = problemOf(error);
    }
    request.resume();
    const { status = 200, json, body, headers = {} } = answer;
    const type = status >= 400 ? "application/problem+json" : "application/json";
    response.writeHead(status, { "content-type": type, ...headers });
    response.end(body ?? (json === undefined ? undefined : JSON.stringify(this.rewrite(json))));
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    const { method = "GET", url: target = "/" } = request;
    const url = new URL(target, "http://fake");
    this.requests.push(`${method} ${target}`);
    const header = (name: string) => request.headers[name] as string | undefined;
    const intercepted = this.intercept({ method, url: target, header });
    if (intercepted) return intercepted;
    if (header("authorization") !== `Bearer ${TOKEN}`) throw new Refused(401, "A token is needed");
    const path = url.pathname.split("/").slice(1).map(decodeURIComponent);
    if (path[0] !== "admin" || path[1] !== "v1") throw new Refused(404, "Not found");
    const body = await validBodyOf(request, url);
    const json = <S extends ZodType>() => JSON.parse(body) as Infer<S>;
    const asked: Asked = { method, path: path.slice(2), query: url.searchParams, request, header, json };
    return this.#route(asked);
  }

  #route(asked: Asked): Promise<Answer> | Answer {
    const [kind = "", id, part] = asked.path;
    if (kind === "tenants" && id === undefined) return this.#tenants(asked);
    if (kind === "tenants" && part === undefined) return this.#one(asked, id as string);
    if (kind === "tenants") return this.#part(asked, this.#tenant(id as string));
    if (kind === "bases") return this.#base(asked, id as string);
    if (kind === "operators") return this.#operators(asked);
    if (kind === "tools") return this.#block(asked, id as string);
    if (kind === "rollouts") return id === undefined ? page(asked, [this.rollout]) : { json: this.rollout };
    throw new Refused(404, "Not found");
  }

  #tenant(id: string): FakeTenant {
    const tenant = this.tenants.get(id);
    if (!tenant) throw new Refused(404, "There is no such tenant", [{ field: "tenant", rule: `${id} does not exist` }]);
    return tenant;
  }

  async #tenants(asked: Asked): Promise<Answer> {
    const listed = [...this.tenants].map(([id, tenant]) => summaryOf(id, tenant));
    if (asked.method === "GET")
      return page(
        asked,
        listed.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      );
    const { id, document = {}, ...birth } = asked.json<typeof contract.NewTenant>();
    if (this.tenants.has(id))
      throw new Refused(409, "Conflict with the current state", [{ field: "id", rule: `${id} already exists` }]);
    if (asked.query.get("dryRun") === "1") {
      const changes = diffDocuments({}, document);
      return { json: { revision: 0, changed: true, dryRun: true, effectiveAt: null, changes } };
    }
    Object.assign(this.addTenant(id, document as TenantDocument).birth, birth);
    return { status: 201, json: this.#describe(id) };
  }

  #describe(id: string): Infer<typeof contract.TenantShape> {
    const { own, revision, birth, state = "active" } = this.#tenant(id);
    const { region = null, jurisdiction = null } = birth;
    const layers = (own.extends ?? []).map((name) => this.bases.get(name) ?? {});
    const effective = mergeDocuments([...layers, own]) as Infer<typeof contract.Document>;
    const url = `${this.url}/mcp/${id}`;
    const about = { id, created: CREATED, state, url, revision, effective, suspended: null } as const;
    return { ...about, region, jurisdiction, own: own as Infer<typeof contract.Document> };
  }

  #one({ method }: Asked, id: string): Answer {
    const json = this.#describe(id);
    return method === "GET" ? { json } : { status: this.tenants.delete(id) ? 204 : 404 };
  }

  #part(asked: Asked, tenant: FakeTenant): Promise<Answer> | Answer {
    const parts: Record<string, () => Promise<Answer> | Answer> = {
      document: () => answerDocument(asked, tenant),
      resources: () => (asked.path[3] === "content" ? this.#content(asked, tenant) : listResources(asked, tenant)),
      prompts: () => prompts(asked, tenant),
      keys: () => keys(asked, tenant),
      ...fakeLoginParts(asked, tenant),
      suspensions: () => suspensions(asked, tenant),
      secrets: () => secrets(asked, tenant),
      limits: () => limits(asked, tenant),
      upstreams: () => upstreams(asked, tenant),
      audit: () => page(asked, tenant.audit.toReversed()),
      explain: () => ({ json: fakeExplained(asked.query) }),
    };
    const part = parts[asked.path[2] ?? ""];
    if (!part) throw new Refused(404, "Not found");
    return part();
  }

  async #content(asked: Asked, tenant: FakeTenant): Promise<Answer> {
    const uri = asked.query.get("uri") ?? "";
    const there = tenant.resources.get(uri);
    if (asked.method === "GET") {
      if (!there)
        throw new Refused(404, "There is no such resource", [{ field: "uri", rule: `${uri} does not exist` }]);
      this.downloads.push(uri);
      return { body: there.body, headers: { etag: there.about.etag, "content-type": there.about.mimeType } };
    }
    if (asked.method === "DELETE") {
      checkConditions(asked, there);
      if (!there)
        throw new Refused(404, "There is no such resource", [{ field: "uri", rule: `${uri} does not exist` }]);
      tenant.resources.delete(uri);
      return { status: 204 };
    }
    const body = await bodyOf(asked.request);
    await this.gate("store", uri);
    checkConditions(asked, tenant.resources.get(uri));
    this.uploads.push(uri);
    this.addResource([...this.tenants].find(([, one]) => one === tenant)?.[0] ?? "", uri, body, fieldsOf(asked));
    await this.gate("answer", uri);
    return { status: there ? 200 : 201, json: tenant.resources.get(uri)?.about };
  }

  async #base({ method, path, json }: Asked, name: string): Promise<Answer> {
    if (path[2] === "rollout") return { status: 202, json: { rollout: this.rollout.version } };
    const there = this.bases.get(name);
    if (method === "PUT") {
      this.bases.set(name, json<typeof contract.BaseDocument>());
      return { json: { revision: 1, changed: true, effectiveAt: null } };
    }
    if (!there) throw new Refused(404, "There is no such base document");
    return { json: there };
  }

  async #operators({ method, path, json }: Asked): Promise<Answer> {
    const [, name] = path;
    if (method === "GET") return { json: { items: [...this.operators.values()] } };
    if (name !== undefined) {
      if (!this.operators.delete(name)) throw new Refused(404, "There is no such operator");
      return { status: 204 };
    }
    const { expires = null, tenants = null, ...about } = json<typeof contract.NewOperator>();
    const operator = { ...about, expires, tenants, created: CREATED };
    this.operators.set(about.name, operator);
    return { status: 201, json: { ...operator, token: "tno_shown_once" } };
  }

  async #block({ method, json }: Asked, tool: string): Promise<Answer> {
    if (method === "DELETE") this.blocks.delete(tool);
    else this.blocks.set(tool, json<typeof contract.NewBlock>().note);
    return { status: 202, json: { name: tool, changed: true, rollout: 1 } };
  }
}

/** The JSON body, once the request fits the contract; empty where the endpoint has none, or reads it itself. */
async function validBodyOf(request: IncomingMessage, { pathname, search }: URL): Promise<string> {
  const segments = pathname.split("/").slice(3).map(decodeURIComponent);
  for (const [name, { params, query = object({}), body }] of Object.entries<AdminEndpoint>(ENDPOINTS)) {
    const [method, path = ""] = name.split(" ");
    const values = method === request.method ? paramsOf(path, segments) : undefined;
    if (!values) continue;
    if (params) expectValid(validate(params, values));
    expectValid(validateQuery(query, search));
    if (body === undefined || body === "stream") return "";
    const text = (await bodyOf(request)).toString("utf8");
    expectValid(validate(body, JSON.parse(text)));
    return text;
  }
  throw new Refused(404, "Not found");
}

/** undefined: it is another path. */
function paramsOf(path: string, segments: readonly string[]): Record<string, string> | undefined {
  const parts = path.split("/").slice(1);
  const isParam = (part: string) => part.startsWith("{");
  if (parts.length !== segments.length) return undefined;
  if (parts.some((part, at) => !isParam(part) && part !== segments[at])) return undefined;
  return Object.fromEntries(
    parts.flatMap((part, at) => (isParam(part) ? [[part.slice(1, -1), segments[at] ?? ""]] : [])),
  );
}

function expectValid(validation: Validation<unknown>): void {
  if (!("errors" in validation)) return;
  const errors = validation.errors.map(({ field, rule }) => ({ field: field.replace(/^document\./, ""), rule }));
  throw new Refused(422, "Invalid input", errors);
}

function problemOf({ status, message: title, errors, headers }: Refused): Answer {
  return { status, headers, json: { type: "about:blank", title, status, ...(errors && { errors }) } };
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** The cursor is the index to go on from. */
function page({ query }: Asked, all: readonly unknown[]): Answer {
  const from = Number(query.get("cursor") ?? 0);
  const limit = Number(query.get("limit") ?? 100);
  const items = all.slice(from, from + limit);
  return { json: { items, ...(from + limit < all.length && { cursor: String(from + limit) }) } };
}

async function answerDocument({ method, query, header, json }: Asked, tenant: FakeTenant): Promise<Answer> {
  const etag = `"${tenant.revision}"`;
  if (method === "GET") return { json: tenant.own, headers: { etag } };
  const wanted = json<typeof contract.Document>() as TenantDocument;
  if (![etag, "*", undefined].includes(header("if-match"))) throw new Refused(412, "The stored version has changed");
  const changes = diffDocuments(tenant.own, wanted);
  const dryRun = query.get("dryRun") === "1";
  if (!dryRun && changes.length > 0) Object.assign(tenant, { own: wanted, revision: tenant.revision + 1 });
  return { json: { revision: tenant.revision, changed: changes.length > 0, dryRun, effectiveAt: null, changes } };
}

function listResources(asked: Asked, tenant: FakeTenant): Answer {
  const prefix = asked.query.get("prefix") ?? "";
  const uris = [...tenant.resources.keys()].filter((uri) => uri.startsWith(prefix)).toSorted();
  return page(
    asked,
    uris.map((uri) => tenant.resources.get(uri)?.about),
  );
}

function checkConditions({ header }: Asked, there: Resource | undefined): void {
  const match = header("if-match");
  const absent = header("if-none-match");
  const broken = (match !== undefined && match !== there?.about.etag) || (absent === "*" && there !== undefined);
  if (broken) throw new Refused(412, "The stored version has changed", undefined, there && { etag: there.about.etag });
}

const ABOUT = ["name", "title", "description", "lastModified"];

function fieldsOf({ query, header }: Asked): Partial<Resource["about"]> {
  const text = Object.fromEntries([...query].filter(([name]) => ABOUT.includes(name)));
  const audience = query.getAll("audience") as ("user" | "assistant")[];
  const priority = query.get("priority");
  return {
    ...text,
    mimeType: header("content-type") ?? "",
    binary: query.get("binary") === "1",
    tags: query.getAll("tag"),
    ...(audience.length > 0 && { audience }),
    ...(priority !== null && { priority: Number(priority) }),
  };
}

async function prompts(asked: Asked, tenant: FakeTenant): Promise<Answer> {
  const { method, path, json } = asked;
  const name = path[3];
  const all = { ...tenant.own.prompts };
  if (name === undefined) {
    return page(
      asked,
      Object.entries(all).map(([key, prompt]) => ({ name: key, ...prompt })),
    );
  }
  if (method === "PUT") all[name] = json<typeof contract.DocumentPrompt>();
  else if (!(name in all)) throw new Refused(404, "There is no such prompt");
  if (method === "GET") return { json: all[name] };
  if (method === "DELETE") delete all[name];
  Object.assign(tenant, { own: { ...tenant.own, prompts: all }, revision: tenant.revision + 1 });
  return { json: { revision: tenant.revision, changed: true, effectiveAt: null } };
}

async function keys({ method, path, json }: Asked, tenant: FakeTenant): Promise<Answer> {
  const [, , , id, verb] = path;
  if (method === "GET") return { json: { items: [...tenant.keys.values()] } };
  if (id === undefined) {
    const { name, scopes = null, profile = null, expires = null } = json<typeof contract.NewApiKey>();
    const about = { id: `key000000${tenant.keys.size + 1}`, name, scopes, profile, expires };
    const key = { ...about, created: CREATED, lastUsed: null, retires: null };
    tenant.keys.set(key.id, key);
    return { status: 201, json: { ...key, token: `tnt_${key.id}_secret` } };
  }
  if (method === "DELETE") return { json: { revision: 2, changed: tenant.keys.delete(id), effectiveAt: null } };
  const key = tenant.keys.get(id);
  if (!key || verb !== "rotate") throw new Refused(404, "There is no such key");
  const { overlapSeconds = 0 } = json<typeof contract.RotateKey>();
  const next = { ...key, id: `${id.slice(0, -1)}b` };
  tenant.keys.set(id, { ...key, retires: new Date(Date.parse(CREATED) + overlapSeconds * 1000).toISOString() });
  tenant.keys.set(next.id, next);
  return { json: { ...next, token: `tnt_${next.id}_secret` } };
}

const summaryOf = (id: string, tenant: FakeTenant) => {
  return { id, created: CREATED, state: tenant.state ?? "active", suspended: tenant.suspensions.has("tenant ") };
};
async function suspensions({ method, path, json }: Asked, tenant: FakeTenant): Promise<Answer> {
  if (method === "GET") return { json: { items: [...tenant.suspensions.values()] } };
  const acknowledged = { json: { revision: 2, changed: true, effectiveAt: CREATED } };
  if (method === "DELETE") {
    const [, , , kind = "", name = ""] = path;
    const changed = tenant.suspensions.delete(`${kind} ${name}`);
    return { json: { ...acknowledged.json, changed } };
  }
  const { kind, name = "", note } = json<typeof contract.NewSuspension>();
  tenant.suspensions.set(`${kind} ${name}`, { kind, name, note, since: CREATED });
  return acknowledged;
}

async function secrets(asked: Asked, tenant: FakeTenant): Promise<Answer> {
  const { method, path, json } = asked;
  const names = [...tenant.secrets.keys()].toSorted();
  const shown = names.map((one) => ({ name: one, updated: CREATED }));
  if (method === "GET") return page(asked, shown);
  const name = (path[3] ?? "").toUpperCase();
  if (method === "DELETE") return { json: { revision: 2, changed: tenant.secrets.delete(name), effectiveAt: null } };
  tenant.secrets.set(name, json<typeof contract.NewSecret>().value);
  return { json: { revision: 2, changed: true, effectiveAt: CREATED } };
}

async function limits({ method, path, json }: Asked, tenant: FakeTenant): Promise<Answer> {
  if (method === "GET") return { json: shownLimits(tenant.own.limits) };
  const value = method === "PUT" ? json<typeof contract.LimitValue>().value : undefined;
  tenant.own = { ...tenant.own, limits: withLimit(tenant.own.limits, path[3] ?? "", value) };
  return { json: { revision: 2, changed: true, dryRun: false, effectiveAt: CREATED, changes: [] } };
}

async function upstreams(asked: Asked, tenant: FakeTenant): Promise<Answer> {
  const body = asked.method === "PUT" ? (asked.json<typeof contract.Upstream>() as UpstreamDocument) : undefined;
  const answer = answerUpstreams(asked, tenant, body);
  if (!answer) throw new Refused(404, "There is no such upstream");
  return "items" in answer ? page(asked, answer.items) : answer;
}
