// Everything around a handler under test: a tenant, a principal, in-memory stores and a recorder. There is no network:
// the test's `fetch` option answers `ctx.fetch`.

import type { Principal } from "../auth/principal.ts";
import type { RequestScope, Identity } from "../handlers/request-scope.ts";
import type { NewResource, ResourceStore } from "../handlers/resource-store.ts";
import type { Catalog } from "../handlers/catalog.ts";
import { ViewRequestHandlers } from "../catalog/view-request-handlers.ts";
import { restrictedDefinitions, findHidden, type HiddenDefinitions } from "../catalog/hidden-definitions.ts";
import { createTenantCatalog, type TenantCatalog } from "../catalog/tenant-catalog.ts";
import { createView } from "../catalog/view.ts";
import { overflowStore } from "../gateway/budget/overflow-store.ts";
import { resultStore } from "../gateway/budget/result-store.ts";
import { DEFAULT_LIMITS } from "../limits/limit-definitions.ts";
import type { RequestHandlers } from "../protocol/request-handlers.ts";
import type { Era } from "../protocol/revisions.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { omitUndefined, assertKnownKeys } from "../protocol/members.ts";
import type { ClientInfo } from "../protocol/meta.ts";
import type { TenantStub } from "../tenants/object/tenant-uid.ts";
import { createRpcClient } from "../tenants/object/store.ts";
import { createManagedTenant } from "../tenants/document/tenant-definition.ts";
import type { TenantDocument } from "../tenants/document/tenant-document.ts";
import { createMemoryStore } from "./memory-store.ts";
import { TestRecorder, type TestQuestion, type TestLink } from "./test-run.ts";
import { createMemoryStub } from "./memory-stub.ts";

/**
 * The client's answer to one question. An object is the client's result; for an elicitation without `action` it is the
 * content of an accepted form. A string is the model's text. An array is the list of roots. A function receives the
 * question and returns any of these.
 */
export type TestAnswer = JsonObject | string | readonly JsonObject[] | ((question: TestQuestion) => TestAnswer);

export interface CaseOptions {
  /**
   * Protocol era of the client. The default is `"2026"`: the handler runs again after each answer. With `"2025"`, the
   * handler runs once and waits for each answer.
   */
  readonly era?: Era;
  /** Tenant id. Defaults to `"test"`. */
  readonly tenant?: string;
  /** Members of `ctx.principal`. Defaults to a key: `{ kind: "key", id: "key test", subject: "test", claims: {} }`. */
  readonly principal?: Partial<Principal>;
  /** `ctx.config` of the tool or prompt under test. */
  readonly config?: unknown;
  /** `ctx.settings`. The test does not check it, because it does not know the Worker's `settings` schema. */
  readonly settings?: unknown;
  /** Bindings that the handler reads from `ctx.env`. Empty by default. */
  readonly env?: object;
  /** The tenant's secrets by name, for `ctx.secret`. Names ignore case. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** `ctx.identity`. Without this option, a handler that reads `ctx.identity` gets a TypeError. */
  readonly identity?: Identity;
  /** Headers of the client's request, available as `ctx.request.headers`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Resources that the tenant has stored before the run. */
  readonly resources?: readonly NewResource[];
  /**
   * Answers to questions. Each key is the name of a question, such as `{ confirm: { yes: true } }` for
   * `ctx.elicit("confirm", ...)`, or `{ confirm: { action: "decline" } }`. If a question has no answer, or if the
   * answer does not match the schema of the question, the run rejects with a TypeError.
   */
  readonly answers?: Readonly<Record<string, TestAnswer>>;
  /**
   * `ctx.client`: name, version and capabilities. Without `capabilities` the client declares elicitation, sampling and
   * roots.
   */
  readonly client?: Partial<ClientInfo> & { readonly capabilities?: JsonObject };
  /** `ctx.requestId`. Defaults to `"test"`. */
  readonly requestId?: string;
  /** The `_meta` of the client's request, available as `ctx.meta`. */
  readonly meta?: JsonObject;
  /**
   * Answers `ctx.fetch`. The URL must pass the same checks as in a Worker. Without this option, `ctx.fetch` rejects
   * with a TypeError.
   */
  readonly fetch?: (request: Request) => Response | Promise<Response>;
}

export interface TestContext {
  readonly options: CaseOptions;
  readonly handlers: RequestHandlers;
  readonly store: ResourceStore;
  readonly recorder: TestRecorder;
}

const TEST_PRINCIPAL: Principal = { kind: "key", id: "key test", subject: "test", scopes: undefined, claims: {} };

const OPTIONS =
  "era tenant principal config settings env secrets identity headers resources answers client requestId meta fetch";

function checkCaseOptions(options: CaseOptions): void {
  const what = "tenantry/testing: options";
  assertKnownKeys(what, options, OPTIONS);
  const { era = "2026", client = {}, principal = {} } = options;
  if (era !== "2025" && era !== "2026")
    throw new TypeError(`${what}: era must be "2025" or "2026", not ${JSON.stringify(era)}`);
  assertKnownKeys(`${what}: client`, client, "name version capabilities");
  assertKnownKeys(`${what}: principal`, principal, "kind id subject email name groups scopes claims narrowing");
}

export function createTestContext(parts: Partial<Catalog>, options: CaseOptions): TestContext {
  checkCaseOptions(options);
  const emptyCatalog = {
    server: { name: "test", version: "0" },
    instructions: undefined,
    tools: [],
    prompts: [],
    resources: [],
  };
  const definitions = { ...emptyCatalog, ...parts };
  const catalog: Catalog = { ...definitions, guarded: restrictedDefinitions(definitions) };
  const { tenant = "test", config, settings } = options;
  const [name = ""] = [...catalog.tools, ...catalog.prompts].map((one) => one.name);
  const documentMembers = {
    mode: "open",
    settings: settings as TenantDocument["settings"],
    tools: config === undefined ? undefined : { [name]: { config } },
  } as const;
  const document: TenantDocument = omitUndefined(documentMembers);
  const policy = { document, suspensions: [], deprecatedNames: [] };
  const recorder = new TestRecorder();
  const tenantCatalog = createTenantCatalog(catalog, createManagedTenant(tenant), { policy, version: 1 });
  const viewOptions = {
    profile: null,
    scopes: undefined,
    hidden: findHiddenDefinitions(tenantCatalog, options, recorder),
  };
  const view = createView(tenantCatalog, viewOptions);
  const store = createMemoryStore(options.resources ?? [], (what) => {
    recorder.addEffect(what);
  });
  const requestScope = createRequestScope(options, { view, recorder, store });
  return { options, handlers: new ViewRequestHandlers(view, requestScope), store, recorder };
}

/** Definitions that `visible` hides from this principal. */
function findHiddenDefinitions(
  tenantCatalog: TenantCatalog,
  { tenant = "test", principal }: CaseOptions,
  recorder: TestRecorder,
): HiddenDefinitions | undefined {
  const viewer = { principal: { ...TEST_PRINCIPAL, ...principal }, tenant: { id: tenant, profile: null } };
  return findHidden(tenantCatalog, viewer, (error) => recorder.errors.push(error));
}

interface ScopeParts {
  readonly view: RequestScope["access"];
  readonly recorder: TestRecorder;
  readonly store: ResourceStore;
}

function createRequestScope(options: CaseOptions, { view, recorder, store }: ScopeParts): RequestScope {
  const { tenant = "test", secrets = {}, headers = {}, env = {}, requestId = "test" } = options;
  const principal = { ...TEST_PRINCIPAL, ...options.principal };
  const stub = createMemoryStub(recorder);
  return {
    tenant,
    tenantRef: { id: tenant, placement: { jurisdiction: null, region: null }, uid: "test" },
    access: view,
    limits: DEFAULT_LIMITS,
    profile: null,
    principal,
    requestId,
    headers: new Headers(headers),
    owner: async () => principal.id,
    // DNS lookups are off: the test answers for every host name.
    env: Object.assign(Object.create({ OUTBOUND_RESOLVER: "off" }) as object, env),
    ring: [{ id: "test", secret: new Uint8Array(32).fill(7) }],
    hooks: { onError: (error) => recorder.errors.push(error) },
    results: createOverflow(recorder, stub),
    identity: options.identity,
    fetch: (request) => runTestFetch(options, recorder, request),
    hops: 0,
    clientHeader: (name) => new Headers(headers).get(name),
    sentText: undefined,
    resources: () => store,
    secret: async (name) => Object.entries(secrets).find(([known]) => known.toUpperCase() === name)?.[1],
    recheck: async () => undefined,
    stub: () => stub,
    contentStub: () => stub,
    refreshBy: () => {},
    waitUntil: (work) => {
      recorder.addEffect("waitUntil");
      recorder.pending.push(work.catch((error: unknown) => recorder.errors.push(error)));
    },
  };
}

async function runTestFetch({ fetch }: CaseOptions, recorder: TestRecorder, request: Request): Promise<Response> {
  const what = `fetch ${request.method} ${request.url}`;
  if (!fetch) throw new TypeError(`${what}: the test has no option fetch that answers it`);
  recorder.addEffect(what);
  return fetch(request);
}

function createOverflow(recorder: TestRecorder, stub: TenantStub): NonNullable<RequestScope["results"]> {
  return {
    ...overflowStore,
    link: async (body, options, linking) => {
      const block = await overflowStore.link(body, options, linking);
      recorder.addEffect(`link ${options.name}`);
      const id = block.uri.split("/").at(-1) ?? "";
      const stored = await createRpcClient(stub, resultStore).get(id, "");
      const { contents } = JSON.parse(new TextDecoder().decode(stored?.body)) as {
        readonly contents: readonly TestLink[];
      };
      for (const content of contents) recorder.links.push({ ...content, name: options.name });
      return block;
    },
  };
}
