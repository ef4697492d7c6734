// Two Workers over one storage, as two isolates of production are: the fixture Worker twice in one Miniflare, each with
// its own memory, both with the Durable Objects and the KV of the first.

import { convertV4MiniflareOptions, Miniflare, NoOpLog } from "miniflare";
import type { Json } from "./mcp-client.ts";
import { waitForRollout } from "./rollout.ts";
import { OBJECT_CLASSES } from "../../src/tenants/directory/object-classes.ts";
import { bundleWorker, compatibilityDate } from "./start-worker.ts";

export const ADMIN_TOKEN = "admin-token-of-two-workers-0123456789";
const NAMES = ["one", "two"] as const;

/** One of the two. */
export interface WatchedWorker {
  /** `http://127.0.0.1:PORT`, without a path: a socket of its own. */
  readonly origin: string;
  /** Calls the admin API as root, below `/admin/v1`; throws for what is refused. A rollout is waited for. */
  admin(method: string, path: string, json?: unknown): Promise<Json>;
  /** Every call to a Durable Object, KV or a limiter since the last `reset`, in order: `TenantObject policy.lease`. */
  calls(): Promise<readonly string[]>;
  /** The Durable Objects that came to life in this Worker since then, in order: `HubObject`. All of them live in Worker one. */
  lives(): Promise<readonly string[]>;
  /** Bytes that its isolate counts as held for clients that are slow. */
  held(): Promise<number>;
  /** What KV has under this key. */
  value(key: string): Promise<string | null>;
  /** The names of all that KV has under names that begin so. */
  keys(prefix: string): Promise<readonly string[]>;
  reset(): Promise<void>;
  /** From now on KV does to this Worker what its documentation says: see the fixture. */
  bindKv(kv: "lenient" | "strict" | "far"): Promise<void>;
  /** Keys that a strict KV refused to write. */
  refusals(): Promise<readonly string[]>;
  /**
   * From now on no call of this Worker reaches this tenant's authority; without a tenant, anybody's; no object of a
   * binding that is named in its place, such as `SessionObject`.
   */
  cutOff(tenant?: string): Promise<void>;
  /** From now on each call of this Worker to an object or to KV takes up to so many milliseconds more. */
  delay(milliseconds: number, seed: number): Promise<void>;
  /** The next calls of this Worker to a method of tables, as `login.redeem`, are done, and their answers do not arrive. */
  loseAnswer(method: string, times?: number): Promise<void>;
  /** Ends that, for all that nobody called. */
  keepAnswers(): Promise<void>;
  /** Ends what `cutOff` began with the same name, or without one. */
  reconnect(tenant?: string): Promise<void>;
}

export interface Evicted {
  /** Only this tenant's authority; all objects of all classes without one. */
  readonly tenant?: string;
  /** What becomes of accepted sockets; closed by default. */
  readonly webSockets?: "close" | "hibernate";
}

export interface WorkerPair {
  readonly one: WatchedWorker;
  readonly two: WatchedWorker;
  readonly both: readonly [WatchedWorker, WatchedWorker];
  /** Ends what Durable Objects have in memory, once they have nothing to do; what they store stays. */
  evict(which?: Evicted): Promise<void>;
  /** The same for all of them, in the middle of whatever they do, as a deployment does. */
  crash(): Promise<void>;
  /** As when nobody has used the sessions at upstreams for some minutes: their object has them ended. */
  idle(): Promise<void>;
  /** As when so many milliseconds have gone by since any hostname was claimed, for those that were asked about since the start. */
  age(milliseconds: number): Promise<void>;
  /** Kills the process of both, in the middle of whatever they do. */
  stop(): Promise<void>;
}

/** Two that others use after this file. */
export type SharedWorkerPair = Omit<WorkerPair, "stop" | "crash">;

let shared: Promise<WorkerPair> | undefined;

/** Two that files share which run in this process one after the other, each with tenants of its own; nothing is cut off or delayed. */
export async function sharedWorkerPair(): Promise<SharedWorkerPair> {
  shared ??= startWorkerPair();
  const workers = await shared;
  for (const worker of workers.both) {
    await worker.reconnect();
    await worker.delay(0, 0);
    await worker.keepAnswers();
    await worker.bindKv("lenient");
    await worker.reset();
  }
  return workers;
}

/** As wrangler.toml has it where somebody takes it in: one limiter for both, as all isolates of a location have one. */
const RATELIMITS = { RATE_LIMITS: { namespace_id: "1001", simple: { limit: 20, period: 60 } } } as const;

/**
 * `storage`: a folder for what is stored, to start over it again; without one it goes with them. `isLimited`: with the
 * platform's limiter bound. `entry`: another Worker of test/fixtures; it need not know what is asked of a watched one. `ofTwo`:
 * what the second has in place of the first's, as in a rollout.
 */
export async function startWorkerPair(
  vars: Readonly<Record<string, string>> = {},
  storage?: string,
  isLimited = false,
  {
    entry = "watched-worker",
    ofTwo = {},
    flags = [],
  }: {
    readonly entry?: string;
    readonly ofTwo?: Readonly<Record<string, string>>;
    /** Compatibility flags that the fixture needs, and the product does not. */
    readonly flags?: readonly string[];
  } = {},
): Promise<WorkerPair> {
  const modules = await bundleWorker(entry);
  const settings = {
    compatibilityDate: compatibilityDate(),
    compatibilityFlags: [...flags],
    bindings: { ADMIN_TOKEN, ...vars },
    kvNamespaces: ["BODIES"],
    ...(isLimited ? { ratelimits: RATELIMITS } : {}),
  };
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      log: new NoOpLog(),
      handleStructuredLogs: () => {},
      ...(storage === undefined ? {} : { resourcePersistencePath: storage }),
      workers: NAMES.map((name) => ({
        name,
        modules,
        ...settings,
        bindings: { ...settings.bindings, ...(name === "two" ? ofTwo : {}) },
        durableObjects: objectsOf(name),
        unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
      })),
    }),
  );
  try {
    await miniflare.ready;
    const [one, two] = await Promise.all(
      NAMES.map(async (name) => watchedWorker((await miniflare.unsafeGetDirectURL(name)).origin)),
    );
    if (!one || !two) throw new Error("there are two Workers");
    return {
      one,
      two,
      both: [one, two],
      evict: (which = {}) => evict(miniflare, which),
      crash: async () => {
        await fetch(`${one.origin}/__watch`, { method: "POST", body: '{"crash":true}' });
      },
      idle: async () => {
        await fetch(`${one.origin}/__watch`, { method: "POST", body: '{"idle":true}' });
      },
      age: async (milliseconds) => {
        await fetch(`${one.origin}/__watch`, { method: "POST", body: JSON.stringify({ age: milliseconds }) });
      },
      stop: () => miniflare.dispose(),
    };
  } catch (error) {
    await miniflare.dispose();
    throw error;
  }
}

/** Bound by name: those of the second are the first's. */
function objectsOf(name: (typeof NAMES)[number]) {
  const elsewhere = name === "one" ? {} : { scriptName: "one" };
  return Object.fromEntries(
    OBJECT_CLASSES.map((className) => [className, { className, useSQLite: true, ...elsewhere }]),
  );
}

async function evict(miniflare: Miniflare, { tenant, webSockets = "close" }: Evicted): Promise<void> {
  if (tenant !== undefined) {
    await evictOne(miniflare, "TenantObject", { name: tenant, webSockets });
    return;
  }
  for (const className of OBJECT_CLASSES) {
    const ids = await miniflare.listDurableObjectIds(className, "one");
    await Promise.all(ids.map((id) => evictOne(miniflare, className, { id, webSockets })));
  }
}

type Named = Parameters<Miniflare["unsafeEvictDurableObject"]>[2];

async function evictOne(miniflare: Miniflare, className: string, object: Named): Promise<void> {
  try {
    await miniflare.unsafeEvictDurableObject("one", className, object);
  } catch (error) {
    // One that does not run has nothing in memory.
    if (!String(error).includes("not currently running")) throw error;
  }
}

function watchedWorker(origin: string): WatchedWorker {
  const control = async (change?: {
    cut?: string;
    reconnect?: string;
    reset?: boolean;
    jitter?: number;
    seed?: number;
    lose?: Readonly<Record<string, number>> | null;
    read?: string;
    list?: string;
    kv?: string;
  }) => {
    const init = change === undefined ? {} : { method: "POST", body: JSON.stringify(change) };
    const response = await fetch(`${origin}/__watch`, init);
    return (await response.json()) as {
      calls: string[];
      lives: string[];
      refusals: string[];
      held: number;
      value?: string;
      keys?: string[];
    };
  };
  const admin: WatchedWorker["admin"] = async (method, path, json) => {
    const response = await fetch(`${origin}/admin/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${ADMIN_TOKEN}`,
        ...(json === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
    const answer = JSON.parse(text || "{}") as Json;
    if (typeof answer["rollout"] === "number") await waitForRollout(admin, answer["rollout"]);
    return answer;
  };
  return {
    origin,
    admin,
    calls: async () => (await control()).calls,
    lives: async () => (await control()).lives,
    held: async () => (await control()).held,
    value: async (key) => (await control({ read: key })).value ?? null,
    keys: async (prefix) => (await control({ list: prefix })).keys ?? [],
    bindKv: async (kv) => {
      await control({ kv });
    },
    refusals: async () => (await control()).refusals,
    reset: async () => {
      await control({ reset: true });
    },
    delay: async (jitter, seed) => {
      await control({ jitter, seed });
    },
    cutOff: async (tenant = "*") => {
      await control({ cut: tenant });
    },
    loseAnswer: async (method, times = 1) => {
      await control({ lose: { [method]: times } });
    },
    keepAnswers: async () => {
      await control({ lose: null });
    },
    reconnect: async (tenant = "*") => {
      await control({ reconnect: tenant });
    },
  };
}
