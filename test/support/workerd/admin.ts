// Calls the admin API inside the Worker, over a small catalog. Every answer is held against what the route says about
// itself: its status, its schema without a member more, and problem documents for all else.

import { env } from "cloudflare:workers";
import { Problem, type CreatedOperator, type Role, type Infer } from "../../../src/admin/contract.ts";
import { createAdmin } from "../../../src/admin/create-admin.ts";
import type { AdminEnv, AdminOptions, Route } from "../../../src/admin/route.ts";
import { jsonSchemaOf } from "../../../src/admin/schema-parts.ts";
import { ROUTES } from "../../../src/admin/routes/all-routes.ts";
import { compileJsonSchema } from "../../../src/handlers/json-schema.ts";
import { definePrompt } from "../../../src/handlers/prompt.ts";
import { defineTool } from "../../../src/handlers/tool.ts";
import { gateway } from "../../../src/gateway/gateway-feature.ts";
import type { JsonObject } from "../../../src/protocol/jsonrpc.ts";
import { defineTenants } from "../../../src/tenants/document/tenant-definition.ts";

export const ROOT = "root-token-of-the-tests-0123456789";
export const ORIGIN = "https://mcp.example.com";

export const adminOptions: AdminOptions = {
  tenants: defineTenants({ demo: { mode: "open" }, partial: { tools: ["add"] } }),
  catalog: {
    server: { name: "tests", version: "1.2.3" },
    instructions: undefined,
    tools: ["add", "greet", "wipe"].map((name) => defineTool({ name, handler: () => name })),
    prompts: [definePrompt({ name: "hello", handler: () => "hello" })],
    resources: [],
  },
  features: [gateway()],
  originAllowed: (origin) => origin === "https://console.example.com",
  onError: (error) => {
    console.error(error);
  },
};

export const adminEnv: AdminEnv = { BODIES: env.BODIES, ADMIN_TOKEN: ROOT };

export const appOf = (options: AdminOptions = adminOptions) => createAdmin(options);
const app = appOf();

export interface Asking {
  readonly token?: string | null;
  readonly json?: unknown;
  readonly body?: BodyInit;
  readonly headers?: Readonly<Record<string, string>>;
  readonly env?: Partial<AdminEnv>;
}

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Parsed where it is JSON. */
  readonly body: never;
}

type Method = "GET" | "POST" | "PUT" | "DELETE" | "PATCH";

export function send(method: Method, path: string, asking: Asking = {}): Promise<Response> {
  const { token = ROOT, json, headers, env: more } = asking;
  const body = json === undefined ? asking.body : JSON.stringify(json);
  const request = new Request(`${ORIGIN}/admin/v1${path}`, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(json === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  return Promise.resolve(app.fetch(request, { ...adminEnv, ...more }));
}

export async function ask(method: Method, path: string, asking: Asking = {}): Promise<Answered> {
  const response = await send(method, path, asking);
  const text = new TextDecoder().decode(await response.arrayBuffer());
  const type = response.headers.get("content-type") ?? "";
  const body = /^application\/(?:problem\+)?json$/.test(type) ? (JSON.parse(text) as never) : (undefined as never);
  // Each test of the admin API checks this.
  if (response.headers.get("cache-control") !== "no-store") throw new Error(`${method} ${path} may be stored`);
  if (!response.ok && response.status !== 304) checkSchema(jsonSchemaOf(Problem), body);
  else checkAnswer(routeOf(method, path), response.status, body);
  return { status: response.status, headers: response.headers, text, body };
}

function routeOf(method: Method, path: string): Route {
  const { pathname } = new URL(path, ORIGIN);
  const found = ROUTES.find(
    (route) => route.method === method && new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(pathname),
  );
  if (!found) throw new Error(`no route ${method} ${path}`);
  return found;
}

function checkAnswer(route: Route, status: number, body: unknown): void {
  const reply = route.replies.find((one) => one.status === status);
  if (!reply) throw new Error(`replies of ${route.method} ${route.path} in src/admin/endpoints lack ${status}`);
  if (reply.schema && reply.mediaType === undefined) checkSchema(jsonSchemaOf(reply.schema), body);
  else if (!reply.mediaType && body !== undefined)
    throw new Error(
      `${route.method} ${route.path} answers with a body, and its reply in src/admin/endpoints has no schema`,
    );
}

/** With the validator of tools, which does not share code with the contract. */
function checkSchema(schema: JsonObject, body: unknown): void {
  const [violation] = compileJsonSchema(schema)(body);
  if (violation)
    throw new Error(
      `the answer does not fit its schema in src/admin/endpoints: ${violation.message} in ${JSON.stringify(body)}`,
    );
}

/** A change of all tenants, when it is in force in each. */
export async function waitForRollout(asking: Promise<Answered>): Promise<Answered> {
  const answered = await asking;
  const { rollout } = answered.body as { rollout: number };
  const isOver = async () => ((await ask("GET", `/rollouts/${rollout}`)).body as { state: string }).state !== "running";
  while (!(await isOver())) await scheduler.wait(50);
  return answered;
}

let made = 0;
/** Several files may share a workerd, and what is stored in it. */
const FILE = crypto.randomUUID().slice(0, 8);

/** A tenant that no other test knows. */
export async function newTenant(document: Readonly<Record<string, unknown>> = {}): Promise<string> {
  made += 1;
  const id = `tenant-${made}-${FILE}`;
  const { status, text } = await ask("POST", "/tenants", { json: { id, document: { mode: "open", ...document } } });
  if (status !== 201) throw new Error(text);
  return id;
}

let named = 0;

/** Made with a name of its own. */
export async function operator(
  role: Infer<typeof Role>,
  more: Readonly<Record<string, unknown>> = {},
): Promise<Infer<typeof CreatedOperator>> {
  named += 1;
  const done = await ask("POST", "/operators", { json: { name: `op-${named}-${FILE}`, role, ...more } });
  if (done.status !== 201) throw new Error(done.text);
  return done.body;
}

/** What a problem says: its status, and each field with its rule. */
export function rules({ status, body }: Answered): [number, ...(readonly [string, string])[]] {
  const { errors = [] } = body as Infer<typeof Problem>;
  return [status, ...errors.map(({ field, rule }) => [field, rule] as const)];
}
