// A typed client of the admin API (`tenantry/admin`). It needs only `fetch`: the endpoint table is imported as a type
// and is not in the bundle.

import type * as z from "zod";
import type { Endpoints } from "./endpoints/all-endpoints.ts";

interface AdminClientOptions {
  /** URL of the Worker, such as https://mcp.example.com, including the path under which it is mounted. */
  readonly url: string;
  /** Operator token, sent as a bearer token. */
  readonly token?: string;
  /** Replaces the global `fetch`, for example with a service binding's `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

/** Method and path of an endpoint below /admin/v1, as listed in `/admin/openapi.json`: `GET /tenants/{id}`. */
export type AdminRoute = keyof Endpoints;

type Input<S> = S extends z.ZodType ? z.input<S> : never;
type RepliesOf<E> = E extends { readonly replies: readonly (infer R)[] } ? R : never;
type DryRun = { readonly isOfDryRun: true };

type ParamsOf<E> = E extends { readonly params: infer S } ? { readonly params: Readonly<Input<S>> } : unknown;
/**
 * The client's `dryRun` method sets this query parameter where a dry run has an answer of its own, so the query
 * omits it.
 */
type DryRunParam<E> = [Extract<RepliesOf<E>, DryRun>] extends [never] ? never : "dryRun";
type Query<E, S> = { readonly [Name in keyof S as Exclude<Name, DryRunParam<E>>]: S[Name] | undefined };
type QueryOf<E> = E extends { readonly query: infer S }
  ? Partial<Query<E, Input<S>>> extends Query<E, Input<S>>
    ? { readonly query?: Query<E, Input<S>> }
    : { readonly query: Query<E, Input<S>> }
  : unknown;
type BodyOf<E> = E extends { readonly body: "stream" }
  ? { readonly content: NonNullable<RequestInit["body"]> }
  : E extends { readonly body: infer S }
    ? { readonly body: Readonly<Input<S>> }
    : unknown;

interface RequestInitOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** The request to an endpoint: path parameters, query, body, headers and abort signal. */
export type AdminRequest<N extends AdminRoute> = ParamsOf<Endpoints[N]> &
  QueryOf<Endpoints[N]> &
  BodyOf<Endpoints[N]> &
  RequestInitOptions;

type OptionalArgument<T> = Partial<T> extends T ? [request?: T] : [request: T];
export type AdminArguments<N extends AdminRoute> = OptionalArgument<AdminRequest<N>>;

type Json<R> = R extends { readonly status: 304 } | { readonly mediaType: string }
  ? never
  : R extends { readonly schema: infer S extends z.ZodType }
    ? z.output<S>
    : undefined;

/** The JSON answer of an endpoint; undefined where the answer has no body. */
export type AdminAnswer<N extends AdminRoute> = Json<Exclude<RepliesOf<Endpoints[N]>, DryRun>>;
type AdminDryRunAnswer<N extends AdminRoute> = [Extract<RepliesOf<Endpoints[N]>, DryRun>] extends [never]
  ? AdminAnswer<N>
  : Json<Extract<RepliesOf<Endpoints[N]>, DryRun>>;

type AdminDryRun = {
  [N in AdminRoute]: Endpoints[N] extends { readonly query: infer S }
    ? "dryRun" extends keyof Input<S>
      ? N
      : never
    : never;
}[AdminRoute];

/** Endpoints that answer with one page of a list. */
export type AdminList = {
  [N in AdminRoute]: AdminAnswer<N> extends { items: unknown[]; cursor?: string } ? N : never;
}[AdminRoute];
export type AdminItem<N extends AdminRoute> = AdminAnswer<N> extends { items: (infer T)[] } ? T : never;

export interface AdminClient {
  /** Sends a request and returns the JSON answer. Throws an `AdminError` if the server answers with an error. */
  request<N extends AdminRoute>(endpoint: N, ...args: AdminArguments<N>): Promise<AdminAnswer<N>>;
  /**
   * Sends a request as a dry run, which writes nothing. Returns the endpoint's dry-run answer, such as the changes that
   * the request would make. Throws an `AdminError` if the request would fail.
   */
  dryRun<N extends AdminDryRun>(endpoint: N, ...args: AdminArguments<N>): Promise<AdminDryRunAnswer<N>>;
  /**
   * Returns the `Response` itself, for answers that are not JSON or whose headers matter. Throws an `AdminError` if
   * the server answers with an error.
   */
  response<N extends AdminRoute>(endpoint: N, ...args: AdminArguments<N>): Promise<Response>;
  /**
   * Iterates over the pages of a list and fetches each page on demand. `query.limit` sets the number of items a
   * page.
   */
  pages<N extends AdminList>(endpoint: N, ...args: AdminArguments<N>): AsyncGenerator<readonly AdminItem<N>[]>;
}

/** An error as the server words it (RFC 9457 problem details). */
interface AdminProblem {
  readonly title?: string;
  readonly detail?: string;
  readonly errors?: readonly { readonly field: string; readonly rule: string }[];
  readonly requestId?: string;
}

export class AdminError extends Error {
  override readonly name = "AdminError";
  readonly status: number;
  readonly problem: AdminProblem;
  /** Seconds to wait before the next try, from the Retry-After header. */
  readonly retryAfter?: number;

  constructor(status: number, problem: AdminProblem, retryAfter?: number) {
    const { title = `The server answered ${status}`, detail, errors = [] } = problem;
    super(
      [[title, detail].filter(Boolean).join(": "), ...errors.map(({ field, rule }) => `${field}: ${rule}`)].join("; "),
    );
    this.status = status;
    this.problem = problem;
    if (retryAfter !== undefined) this.retryAfter = retryAfter;
  }
}

/** The untyped form that every endpoint's request has at run time. */
interface UntypedRequest extends RequestInitOptions {
  readonly params?: Readonly<Record<string, string | undefined>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly content?: unknown;
}

/**
 * Creates a client of the admin API. Throws a TypeError if `url` is not a Worker's URL or `token` is empty. The client
 * does not retry, and does not follow redirects.
 *
 *     const client = adminClient({ url: "https://mcp.example.com", token });
 *     const tenant = await client.request("GET /tenants/{id}", { params: { id: "acme" } });
 */
export function adminClient(options: AdminClientOptions): AdminClient {
  const base = baseOf(options.url);
  if (options.token?.trim() === "") throw new TypeError("token: is empty");
  const send = options.fetch ?? fetchWithUrlInError;
  const response = async (endpoint: string, adminRequest: UntypedRequest = {}): Promise<Response> => {
    const url = urlOf(base, endpoint, adminRequest);
    const answer = await send(url, initOf(endpoint, adminRequest, options.token));
    if (answer.ok || answer.status === 304) return answer;
    throw await toAdminError(url, answer);
  };
  const request = async (endpoint: string, adminRequest: UntypedRequest = {}): Promise<unknown> => {
    const answer = await response(endpoint, adminRequest);
    if (answer.status === 204) return undefined;
    if (answer.status === 304)
      throw new AdminError(304, { title: "Not changed: use response(), which returns the 304" });
    const json = parseJson(await answer.text());
    if (json === undefined)
      throw new AdminError(answer.status, notAdminApi(urlOf(base, endpoint, adminRequest), answer));
    return json;
  };
  const dryRun = (endpoint: string, adminRequest: UntypedRequest = {}) =>
    request(endpoint, { ...adminRequest, query: { ...adminRequest.query, dryRun: true } });
  async function* pages(endpoint: string, adminRequest: UntypedRequest = {}): AsyncGenerator<readonly unknown[]> {
    let cursor = adminRequest.query?.["cursor"];
    do {
      const page = await request(endpoint, { ...adminRequest, query: { ...adminRequest.query, cursor } });
      const { items, cursor: next } = page as { items: readonly unknown[]; cursor?: string };
      yield items;
      if (next !== undefined && next === cursor) throw new Error(`${endpoint}: the server sent the same cursor again`);
      cursor = next;
    } while (cursor !== undefined);
  }
  return { request, dryRun, response, pages } as AdminClient;
}

function baseOf(url: string): string {
  const parsedUrl = URL.canParse(url) ? new URL(url) : undefined;
  if (parsedUrl && /^https?:$/.test(parsedUrl.protocol) && parsedUrl.search + parsedUrl.hash === "") {
    return url.replace(/\/$/, "");
  }
  throw new TypeError(`url: must be the address of the Worker, such as https://mcp.example.com, not ${url}`);
}

/** Throws if a parameter is not a path segment: `..` as a secret's name would address its tenant. */
function urlOf(base: string, endpoint: string, { params = {}, query = {} }: UntypedRequest): string {
  const path = endpoint.slice(endpoint.indexOf("/")).replaceAll(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = params[name] ?? "";
    if (["", ".", ".."].includes(value)) throw new TypeError(`${name}: "${value}" is not a valid name`);
    return encodeURIComponent(value);
  });
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    for (const item of values) if (item !== undefined) search.append(name, textOf(item));
  }
  return `${base}/admin/v1${path}${search.size === 0 ? "" : `?${search.toString()}`}`;
}

/** The server reads a boolean parameter as 1 or 0. */
const textOf = (value: unknown) => String(typeof value === "boolean" ? Number(value) : value);

function initOf(
  endpoint: string,
  { body, content, headers, signal }: UntypedRequest,
  token: string | undefined,
): RequestInit {
  return {
    method: endpoint.slice(0, endpoint.indexOf(" ")),
    headers: {
      accept: "application/json, */*;q=0.5",
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    // Following a redirect would drop the token or the body.
    redirect: "manual",
    ...(signal && { signal }),
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(content !== undefined && { body: content, duplex: "half" }),
  } as RequestInit;
}

/** Adds the URL to the error of `fetch`, which does not name the host that it could not reach. */
async function fetchWithUrlInError(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    const { message, cause } = error as Error;
    const reason = cause instanceof Error && cause.message !== "" ? cause.message : message;
    throw new TypeError(`${url} cannot be reached: ${reason}`, { cause: error });
  }
}

async function toAdminError(url: string, answer: Response): Promise<AdminError> {
  const { status, headers } = answer;
  const body: unknown = parseJson(await answer.text());
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  const problem = isProblem(body) ? body : notAdminApi(url, answer);
  return new AdminError(status, problem, Number.isNaN(seconds) ? undefined : seconds);
}

function isProblem(value: unknown): value is AdminProblem {
  if (typeof value !== "object" || value === null) return false;
  const { title, errors = [] } = value as { title?: unknown; errors?: unknown };
  return typeof title === "string" && Array.isArray(errors) && errors.every((one) => typeof one === "object" && one);
}

function parseJson(text: string): object | undefined {
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}

/** Describes an answer of something else: another server, or a proxy that answers while the Worker is away. */
function notAdminApi(url: string, { status, headers }: Response): AdminProblem {
  if (status >= 500) return { title: `${url} answered ${status}, but not like the admin API` };
  const location = headers.get("location");
  const redirectHint = location === null ? "" : ` and redirects to ${location}`;
  return {
    title: `${url} answered ${status}${redirectHint}: no admin API is there. url must be the Worker's URL, without /mcp/TENANT`,
  };
}
