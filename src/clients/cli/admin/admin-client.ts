// Owns speaking HTTP to the admin API: addresses, the token, streamed bodies, pages, and asking again where that is
// safe. Refuses to know any command. Shapes are the contract's; the server has validated what it sends.

import { Readable } from "node:stream";
import type { Target } from "../config.ts";
import { CliError, EXIT, usageError } from "../exit.ts";
import { isLoopback } from "../server-url.ts";
import { isTransient, serverRefusal, ServerRefused, unreachable } from "../terminal/problem.ts";

export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

export interface Body {
  readonly size: number;
  readonly mimeType: string;
  /** Called again for each attempt, because a stream can be read only once. */
  open(): AsyncIterable<Uint8Array>;
}

export interface Ask {
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  /** The segments after /admin/v1, not encoded yet. */
  readonly path: readonly string[];
  readonly query?: Query;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly body?: Body;
}

export interface AdminApi {
  readonly base: string;
  /** The parsed answer; undefined for 204. */
  json<T>(ask: Ask): Promise<T>;
  /** The answer itself; throws where it is a refusal. */
  answer(ask: Ask): Promise<Response>;
  /**
   * For routes that say 404 where there is nothing to delete. undefined for 204, and where an attempt whose answer was
   * lost has deleted it: the next one finds nothing.
   */
  remove<T>(ask: Omit<Ask, "method">): Promise<T | undefined>;
  /** undefined where the server says 404. */
  find<T>(ask: Ask): Promise<T | undefined>;
  pages<T>(ask: Ask, limit?: number): AsyncGenerator<readonly T[]>;
}

interface Page<T> {
  readonly items: readonly T[];
  readonly cursor?: string;
}

const PAGE = 1000;
/** The pauses between attempts when the connection broke. */
const PAUSES_MS = [200, 1000, 3000] as const;
/** The pause when the server is busy and does not say for how long. */
const BUSY_PAUSE_MS = 1000;
/** The most that all pauses of one request may take together: after a minute a person should be told. */
const MAX_WAIT_MS = 60_000;

export function createAdminApi(target: Target, signal: AbortSignal): AdminApi {
  const answer = (ask: Ask) => send(target, ask, signal);
  const json = async <T>(ask: Ask): Promise<T> => readJson<T>(await answer(ask));
  return {
    base: target.url,
    answer,
    json,
    remove: async <T>(ask: Omit<Ask, "method">) => {
      const response = await send(target, { ...ask, method: "DELETE" }, signal, isGone);
      if (!isGone(response)) return readJson<T>(response);
      await response.body?.cancel();
      return undefined;
    },
    find: async <T>(ask: Ask) => {
      try {
        return await json<T>(ask);
      } catch (error) {
        if (error instanceof ServerRefused && error.status === 404) return undefined;
        throw error;
      }
    },
    async *pages<T>(ask: Ask, limit = Infinity) {
      let cursor: string | undefined;
      let left = limit;
      do {
        const query = { ...ask.query, limit: Math.min(PAGE, left), cursor };
        const page: Page<T> = await json<Page<T>>({ ...ask, query });
        yield page.items.slice(0, left);
        left -= page.items.length;
        ({ cursor } = page);
      } while (cursor !== undefined && left > 0);
    },
  };
}

export async function collectPages<T>(pages: AsyncIterable<readonly T[]>): Promise<T[]> {
  const all: T[] = [];
  for await (const page of pages) for (const item of page) all.push(item);
  return all;
}

async function readJson<T>(response: Response): Promise<T> {
  if (response.status === 204) return undefined as T;
  const text = await response.text();
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    const message = `${response.url} answered ${response.status} without JSON: no admin API answers there`;
    throw new CliError(EXIT.refused, message, { cause: error });
  }
}

const isGone = ({ status }: Response) => status === 404;

/** `endsRepetition`: which refusal is none where an earlier attempt may have been carried out. */
async function send(
  target: Target,
  ask: Ask,
  signal: AbortSignal,
  endsRepetition: (response: Response) => boolean = () => false,
): Promise<Response> {
  let waited = 0;
  let breaks = 0;
  for (;;) {
    const outcome = await sendOnce(target, ask, signal);
    const pause = outcome instanceof Response ? busyPause(ask, outcome) : breakPause(ask, outcome, breaks++);
    if (pause === undefined || waited + pause > MAX_WAIT_MS) {
      const isDone = breaks > 0 && outcome instanceof Response && endsRepetition(outcome);
      return isDone ? outcome : judge(outcome, target);
    }
    if (outcome instanceof Response) await outcome.body?.cancel();
    await sleep(pause, signal);
    waited += pause;
  }
}

/** How long to wait before the next attempt; undefined where another one could do harm, or would not help. */
function breakPause({ method }: Ask, error: Error, breaks: number): number | undefined {
  return method !== "POST" && isTransient(error) ? PAUSES_MS[breaks] : undefined;
}

function busyPause({ method }: Ask, { status, headers }: Response): number | undefined {
  if (status !== 429 && (status !== 503 || method === "POST")) return undefined;
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  return seconds > 0 ? seconds * 1000 : BUSY_PAUSE_MS;
}

async function judge(outcome: Response | Error, target: Target): Promise<Response> {
  if (!(outcome instanceof Response)) throw unreachable(outcome, target.url);
  if (outcome.ok) return outcome;
  throw explain(await serverRefusal(outcome), target);
}

async function sendOnce(target: Target, ask: Ask, signal: AbortSignal): Promise<Response | Error> {
  const url = urlOf(target.url, ask);
  const token = target.current ? await target.current(signal) : target.token;
  try {
    return await fetch(url, requestOf(token, ask, signal));
  } catch (error) {
    if (signal.aborted) throw new CliError(EXIT.interrupted, "interrupted", { cause: error });
    return error as Error;
  }
}

function requestOf(token: string | undefined, ask: Ask, signal: AbortSignal): RequestInit {
  const headers = new Headers(ask.headers);
  headers.set("accept", "application/json, */*;q=0.5");
  if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
  const { body, json } = ask;
  if (body) {
    headers.set("content-type", body.mimeType);
    // With it the server can refuse a body that is too large before it is sent.
    headers.set("content-length", String(body.size));
  } else if (json !== undefined) headers.set("content-type", "application/json");
  return {
    method: ask.method ?? "GET",
    headers,
    // A redirect would lose the token or the body, so a person must name the new address.
    redirect: "manual",
    signal,
    ...(body && { body: body.size === 0 ? "" : Readable.toWeb(Readable.from(body.open())), duplex: "half" }),
    ...(json !== undefined && { body: JSON.stringify(json) }),
  } as RequestInit;
}

export function urlOf(base: string, { path, query = {} }: Pick<Ask, "path" | "query">): string {
  // As a part of a path they would be another path: DELETE of the secret `..` would be one of the tenant.
  if (path.some((one) => one === "." || one === "..")) throw usageError(`${path.join("/")}: names nothing`);
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const one of Array.isArray(value) ? (value as readonly string[]) : [value]) params.append(name, String(one));
  }
  const search = params.size === 0 ? "" : `?${params.toString()}`;
  return `${base}/admin/v1/${path.map(encodeURIComponent).join("/")}${search}`;
}

function explain(refusal: ServerRefused, { url, token, tokenFrom, current }: Target): ServerRefused {
  if (refusal.status !== 401) return refusal;
  const hint =
    token === undefined
      ? `no token: set TENANTRY_TOKEN or run tenantry login${isLoopback(url) ? "; in the folder of npm start, or of .dev.vars with ADMIN_TOKEN, it is found" : ""}`
      : `the token of ${tokenFrom} was refused${current ? "; tenantry login gets another one" : ""}`;
  return new ServerRefused(401, `${refusal.message} (${hint})`);
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
