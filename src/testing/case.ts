// Owns what stands around a handler under test: a tenant, a caller, stores in memory, and a record of what was done. Refuses
// the network: what leaves by `ctx.fetch` goes to the test.

import type { Principal } from "../auth/principal.ts";
import type { CallHost, Identity } from "../calls/call-host.ts";
import type { NewResource, ResourceStore } from "../calls/resource-store.ts";
import type { Catalog } from "../content/define/catalog.ts";
import { ViewBackend } from "../content/serve/backend.ts";
import { guardedIn, hiddenOf, type Hidden } from "../content/serve/hidden.ts";
import { offerOf, type Offer } from "../content/serve/sources.ts";
import { viewOf } from "../content/serve/view.ts";
import { resultKeeper } from "../gateway/budget/rest.ts";
import { resultTables } from "../gateway/budget/result-tables.ts";
import { USUAL_LIMITS } from "../limits/limit-table.ts";
import type { Backend } from "../protocol/backend.ts";
import type { Era } from "../protocol/era.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { given, refuseStray } from "../protocol/members.ts";
import type { ClientInfo } from "../protocol/meta.ts";
import type { TenantStub } from "../tenants/authority/incarnation.ts";
import { remote } from "../tenants/authority/tables.ts";
import { managedTenant } from "../tenants/document/tenant-definition.ts";
import type { TenantDocument } from "../tenants/document/tenant-document.ts";
import { memoryStore } from "./memory-store.ts";
import { CaseRecord } from "./case-record.ts";
import type { AskedQuestion, KeptLink } from "./test-run.ts";
import { memoryStub } from "./memory-stub.ts";

/**
 * The client's result for one question, or what stands for it: the content of a form that is accepted, the text of a
 * model, a list of roots.
 */
export type AnswerFor = JsonObject | string | readonly JsonObject[] | ((question: AskedQuestion) => AnswerFor);

export interface CaseOptions {
  /** 2026 when absent. */
  readonly era?: Era;
  /** The tenant's id; `test` when absent. */
  readonly tenant?: string;
  readonly principal?: Partial<Principal>;
  /** `ctx.config` of what is run. */
  readonly config?: unknown;
  /** `ctx.settings`. */
  readonly settings?: unknown;
  readonly env?: object;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly identity?: Identity;
  /** Of the client's request: `ctx.request.headers`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What the tenant has stored before. */
  readonly resources?: readonly NewResource[];
  /** By the name of the question. A question that nobody answers is an error of the test. */
  readonly answers?: Readonly<Record<string, AnswerFor>>;
  /** Who the client says it is, `ctx.client`, and what it declares: that it can be asked everything when that is absent. */
  readonly client?: Partial<ClientInfo> & { readonly capabilities?: JsonObject };
  /** `ctx.requestId`; `test` when absent. */
  readonly requestId?: string;
  /** `ctx.meta`. */
  readonly meta?: JsonObject;
  /** Answers what leaves by `ctx.fetch`, after it was looked at as in a Worker. */
  readonly fetch?: (request: Request) => Response | Promise<Response>;
}

export interface Case {
  readonly options: CaseOptions;
  readonly backend: Backend;
  readonly store: ResourceStore;
  readonly record: CaseRecord;
}

const CALLER: Principal = { kind: "key", id: "key test", subject: "test", scopes: undefined, claims: {} };

const OPTIONS =
  "era tenant principal config settings env secrets identity headers resources answers client requestId meta fetch";

/** Throws a TypeError for an option that there is not. */
function checkCase(options: CaseOptions): void {
  const what = "tenantry/testing: options";
  refuseStray(what, options, OPTIONS);
  const { era = "2026", client = {}, principal = {} } = options;
  if (era !== "2025" && era !== "2026") throw new TypeError(`${what}: era is "2025" or "2026"`);
  refuseStray(`${what}: client`, client, "name version capabilities");
  refuseStray(`${what}: principal`, principal, "kind id subject email name groups scopes claims narrowing");
}

export function openCase(parts: Partial<Catalog>, options: CaseOptions): Case {
  checkCase(options);
  const none = {
    server: { name: "test", version: "0" },
    instructions: undefined,
    tools: [],
    prompts: [],
    resources: [],
  };
  const inCode = { ...none, ...parts };
  const catalog: Catalog = { ...inCode, guarded: guardedIn(inCode) };
  const { tenant = "test", config, settings } = options;
  const [name = ""] = [...catalog.tools, ...catalog.prompts].map((one) => one.name);
  const said = {
    mode: "open",
    settings: settings as TenantDocument["settings"],
    tools: config === undefined ? undefined : { [name]: { config } },
  } as const;
  const document: TenantDocument = given(said);
  const policy = { document, suspensions: [], retired: [] };
  const record = new CaseRecord();
  const offer = offerOf(catalog, managedTenant(tenant), { policy, version: 1 });
  const seen = { profile: null, scopes: undefined, hidden: hiddenIn(offer, options, record) };
  const view = viewOf(offer, seen);
  const store = memoryStore(options.resources ?? [], (what) => {
    record.did(what);
  });
  const host = hostOf(options, { view, record, store });
  return { options, backend: new ViewBackend(view, host), store, record };
}

/** What `visible` keeps from this caller. */
function hiddenIn(offer: Offer, { tenant = "test", principal }: CaseOptions, record: CaseRecord): Hidden | undefined {
  const viewer = { principal: { ...CALLER, ...principal }, tenant: { id: tenant, profile: null } };
  return hiddenOf(offer, viewer, (error) => record.faults.push(error));
}

interface Around {
  readonly view: CallHost["sight"];
  readonly record: CaseRecord;
  readonly store: ResourceStore;
}

function hostOf(options: CaseOptions, { view, record, store }: Around): CallHost {
  const { tenant = "test", secrets = {}, headers = {}, env = {}, requestId = "test" } = options;
  const principal = { ...CALLER, ...options.principal };
  const stub = memoryStub(record);
  return {
    tenant,
    meant: { id: tenant, placement: { jurisdiction: null, region: null }, incarnation: "test" },
    sight: view,
    limits: USUAL_LIMITS,
    profile: null,
    principal,
    requestId,
    headers: new Headers(headers),
    owner: async () => principal.id,
    // Names are looked up by nobody: the test answers for all of them.
    env: Object.assign(Object.create({ OUTBOUND_RESOLVER: "off" }) as object, env),
    ring: [{ id: "test", secret: new Uint8Array(32).fill(7) }],
    hooks: { onError: (error) => record.faults.push(error) },
    results: keeperOf(record, stub),
    identity: options.identity,
    fetch: (request) => answerFetch(options, record, request),
    hops: 0,
    clientHeader: (name) => new Headers(headers).get(name),
    sentText: undefined,
    resources: () => store,
    secret: async (name) => Object.entries(secrets).find(([known]) => known.toUpperCase() === name)?.[1],
    recheck: async () => undefined,
    stub: () => stub,
    contentStub: () => stub,
    tendBy: () => {},
    waitUntil: (work) => {
      record.did("waitUntil");
      record.waiting.push(work.catch((error: unknown) => record.faults.push(error)));
    },
  };
}

async function answerFetch({ fetch }: CaseOptions, record: CaseRecord, request: Request): Promise<Response> {
  const what = `fetch ${request.method} ${request.url}`;
  if (!fetch) throw new TypeError(`${what}: the test gives no fetch that answers it`);
  record.did(what);
  return fetch(request);
}

function keeperOf(record: CaseRecord, stub: TenantStub): NonNullable<CallHost["results"]> {
  return {
    ...resultKeeper,
    link: async (body, options, linking) => {
      const block = await resultKeeper.link(body, options, linking);
      record.did(`link ${options.name}`);
      const id = block.uri.split("/").at(-1) ?? "";
      const kept = await remote(stub, resultTables).take(id, "");
      const { contents } = JSON.parse(new TextDecoder().decode(kept?.body)) as {
        readonly contents: readonly KeptLink[];
      };
      for (const content of contents) record.links.push({ ...content, name: options.name });
      return block;
    },
  };
}
