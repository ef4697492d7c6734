// The admin API for commands: the exported client, plus a fresh token for each attempt, safe retries, and errors with
// advice for a person.

import {
  adminClient,
  AdminError,
  type AdminAnswer,
  type AdminArguments,
  type AdminClient,
  type AdminItem,
  type AdminList,
  type AdminRoute,
} from "../../admin/admin-client.ts";
import type { Target } from "../config.ts";
import { CliError, EXIT, usageError } from "../exit.ts";
import { isLoopback } from "../server-url.ts";
import { isTransientNetworkError, toResponseError, ResponseError, unreachableError } from "../terminal/server-error.ts";

export interface UploadBody {
  readonly size: number;
  readonly mimeType: string;
  /** Called for each attempt, because a stream can be read only once. */
  open(): AsyncIterable<Uint8Array>;
}

export interface AdminApi extends Pick<AdminClient, "request" | "dryRun" | "response"> {
  readonly base: string;
  /**
   * For routes that answer 404 if there is nothing to delete. undefined for 204, and for a retry that finds the item
   * already deleted by an attempt whose answer was lost.
   */
  remove<N extends AdminRoute>(route: N, ...args: AdminArguments<N>): Promise<AdminAnswer<N> | undefined>;
  /** For routes that answer `changed`. A retry may find the change already made by an attempt whose answer was lost. */
  change<N extends ChangeRoute>(route: N, ...args: AdminArguments<N>): Promise<ChangeResult<N>>;
  /** undefined if the server answers 404. */
  find<N extends AdminRoute>(route: N, ...args: AdminArguments<N>): Promise<AdminAnswer<N> | undefined>;
  /** At most `limit` items. */
  pages<N extends AdminList>(
    route: N,
    request: AdminArguments<N>[0],
    limit?: number,
  ): AsyncGenerator<readonly AdminItem<N>[]>;
}

type ChangeRoute = {
  [N in AdminRoute]: N extends `${"DELETE" | "PUT"} ${string}`
    ? AdminAnswer<N> extends { changed: boolean }
      ? N
      : never
    : never;
}[AdminRoute];
/** `repeated`: the answer to the first attempt was lost, and a retry found nothing left to change. */
type ChangeResult<N extends ChangeRoute> = AdminAnswer<N> & { readonly repeated?: true };

/** A route and its request, without the types that relate them. */
type UntypedRequest = (route: string, request?: object) => Promise<Response>;

interface Page {
  readonly items: readonly unknown[];
  readonly cursor?: string;
}

const PAGE_SIZE = 1000;
/** Delays between attempts after a broken connection. */
const RETRY_DELAYS_MS = [200, 1000, 3000] as const;
/** The delay if the server is busy without a Retry-After header. */
const BUSY_DELAY_MS = 1000;
/** The most that all delays of one request may add up to. After a minute, a person should see an error. */
const MAX_WAIT_MS = 60_000;

export function createAdminApi(target: Target, signal: AbortSignal): AdminApi {
  const createClient = (isAlreadyDone?: (response: Response) => boolean): UntypedRequest => {
    const fetch = (url: string, init: RequestInit) => send(target, { url, init }, signal, isAlreadyDone);
    const client: { response: unknown } = adminClient({ url: target.url, fetch });
    return async (route, request) => {
      rejectEmptyParams(request);
      return (client.response as UntypedRequest)(route, request);
    };
  };
  const response = createClient();
  const responseForRemoval = createClient(isNotFound);
  const request = async (route: string, args?: object) => readJson(await response(route, args));
  const api: Record<Exclude<keyof AdminApi, "base">, (...args: never) => unknown> = {
    response,
    request,
    dryRun: (route: string, args: { query?: object } = {}) =>
      request(route, { ...args, query: { ...args.query, dryRun: true } }),
    remove: (route: string, args?: object) =>
      responseForRemoval(route, args).then(readJson, (error: unknown) => {
        if (error instanceof AdminError) return undefined;
        throw error;
      }),
    change: async (route: string, args?: object) => {
      const answer = await response(route, args);
      const result = (await readJson(answer)) as { readonly changed: boolean };
      return !result.changed && RETRIED.has(answer) ? { ...result, changed: true, repeated: true } : result;
    },
    find: (route: string, args?: object) =>
      request(route, args).catch((error: unknown) => {
        if (error instanceof ResponseError && error.status === 404) return undefined;
        throw error;
      }),
    async *pages(route: string, args: { query?: object } = {}, limit = Infinity) {
      let cursor: string | undefined;
      let remaining = limit;
      do {
        const query = { ...args.query, limit: Math.min(PAGE_SIZE, remaining), cursor };
        const page = (await request(route, { ...args, query })) as Page;
        yield page.items.slice(0, remaining);
        remaining -= page.items.length;
        if (page.cursor !== undefined && page.cursor === cursor) throw repeatedCursor(route);
        ({ cursor } = page);
      } while (cursor !== undefined && remaining > 0);
    },
  };
  return { base: target.url, ...api } as AdminApi;
}

const repeatedCursor = (route: string) =>
  new CliError(EXIT.refused, `${route}: the server sent the same cursor again, so the list has no end`);

/** These values would change the path: DELETE of the secret `..` would delete its tenant. */
function rejectEmptyParams({ params = {} }: { readonly params?: Readonly<Record<string, string>> } = {}): void {
  for (const value of Object.values(params)) {
    if (["", ".", ".."].includes(value)) throw usageError(`"${value}": is not a valid name`);
  }
}

export async function collectPages<T>(pages: AsyncIterable<readonly T[]>): Promise<T[]> {
  const all: T[] = [];
  for await (const page of pages) for (const item of page) all.push(item);
  return all;
}

async function readJson(response: Response): Promise<unknown> {
  if (response.status === 204) return undefined;
  const text = await response.text();
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const message = `${response.url} answered ${response.status} without JSON: no admin API answers there`;
    throw new CliError(EXIT.refused, message, { cause: error });
  }
}

interface FetchRequest {
  readonly url: string;
  readonly init: RequestInit;
}

/** A 412 for a missing resource has no ETag. */
const isNotFound = ({ status, headers }: Response) => status === 404 || (status === 412 && !headers.has("etag"));

/** Answers to a retry whose first answer was lost. */
const RETRIED = new WeakSet<Response>();

/** `isAlreadyDone`: error answers that count as success, because an earlier attempt may have succeeded. */
async function send(
  target: Target,
  request: FetchRequest,
  signal: AbortSignal,
  isAlreadyDone: (response: Response) => boolean = () => false,
): Promise<Response> {
  let waited = 0;
  let failures = 0;
  for (;;) {
    const outcome = await sendOnce(target, request, signal);
    const delay =
      outcome instanceof Response ? busyDelay(request, outcome) : networkRetryDelay(request, outcome, failures++);
    if (outcome instanceof Response && failures > 0) RETRIED.add(outcome);
    if (delay === undefined || waited + delay > MAX_WAIT_MS) {
      const isDone = failures > 0 && outcome instanceof Response && isAlreadyDone(outcome);
      return isDone ? outcome : requireOk(outcome, target);
    }
    if (outcome instanceof Response) await outcome.body?.cancel();
    await sleep(delay, signal);
    waited += delay;
  }
}

/** The delay before the next attempt; undefined if another attempt could do harm or would not help. */
function networkRetryDelay({ init: { method } }: FetchRequest, error: Error, failures: number): number | undefined {
  return method !== "POST" && isTransientNetworkError(error) ? RETRY_DELAYS_MS[failures] : undefined;
}

function busyDelay({ init: { method } }: FetchRequest, { status, headers }: Response): number | undefined {
  if (status !== 429 && (status !== 503 || method === "POST")) return undefined;
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  return seconds > 0 ? seconds * 1000 : BUSY_DELAY_MS;
}

async function requireOk(outcome: Response | Error, target: Target): Promise<Response> {
  if (!(outcome instanceof Response)) throw unreachableError(outcome, target.url);
  if (outcome.ok) return outcome;
  throw withTokenHint(await toResponseError(outcome), target);
}

async function sendOnce(target: Target, { url, init }: FetchRequest, signal: AbortSignal): Promise<Response | Error> {
  const token = target.getToken ? await target.getToken(signal) : target.token;
  const headers = new Headers(init.headers);
  if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
  try {
    return await fetch(url, { ...init, headers, signal });
  } catch (error) {
    if (signal.aborted) throw new CliError(EXIT.interrupted, "interrupted", { cause: error });
    return error as Error;
  }
}

function withTokenHint(refusal: ResponseError, { url, token, tokenSource, getToken }: Target): ResponseError {
  if (refusal.status !== 401) return refusal;
  const hint =
    token === undefined
      ? `no token: set TENANTRY_TOKEN or run tenantry login${isLoopback(url) ? "; for a server on this machine, run the command in the folder of npm start or of .dev.vars" : ""}`
      : `the token of ${tokenSource} was refused by ${url}${getToken ? "; tenantry login gets a new one" : ""}`;
  return new ResponseError(401, `${refusal.message} (${hint})`);
}

async function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(done, milliseconds);
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
    signal.addEventListener("abort", done);
  });
  if (signal.aborted) throw new CliError(EXIT.interrupted, "interrupted");
}
