// The dimensions of `growth.ts`: what there is more and more of, and what each request should cost then.
import { Agent } from "node:http";
import { openStream } from "./fan-out.ts";
import { startListing, type Listing } from "./growth-upstream.ts";
import { ADMIN_TOKEN, request2026 } from "./scenarios.ts";

export interface Cost {
  readonly request: string;
  /** The slope that it should have: 0 is constant, 1 linear. */
  readonly expected: string;
  readonly run: () => Promise<unknown>;
  /** What precedes each of them, and is not measured. */
  readonly before?: () => Promise<unknown>;
  /** In one measurement. */
  readonly times?: number;
  readonly end?: () => void;
}

export interface Dimension {
  readonly name: string;
  readonly sizes: readonly number[];
  /** Absent: the same. */
  readonly quick?: readonly number[];
  /** `place`: where the Worker is. */
  readonly prepare: (place: URL, size: number) => Promise<readonly Cost[]>;
}

/** So short that the next request but few finds what changed. */
const LEASE_MS = 50;
const LANES = 8;
const READ_WITHIN_MS = 60_000;
const KB = 1024;
const ADD = { name: "add", arguments: { a: 1, b: 7 } };

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function admin(place: URL, method: string, path: string, body?: unknown): Promise<unknown> {
  const isText = typeof body === "string";
  const type = isText ? "text/plain" : "application/json";
  const response = await fetch(new URL(`/admin/v1/tenants${path}`, place), {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": type },
    ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
  });
  const answer = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status} ${answer.slice(0, 400)}`);
  return answer.startsWith("{") ? JSON.parse(answer.split("\n")[0] ?? "") : answer;
}

type Params = Parameters<typeof request2026>[2];

async function ask(place: URL, at: string, method: string, params: Params = {}, token?: string): Promise<void> {
  const to = { path: `/mcp/${at}`, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
  const { path, headers, body } = request2026(1, method, params, to);
  const response = await fetch(new URL(path, place), { method: "POST", headers, body });
  const answer = await response.text();
  const isRight = response.status === 200 && answer.includes('"result":') && !answer.includes('"isError":true');
  if (!isRight) throw new Error(`${at}: ${method} was answered ${response.status} ${answer.slice(0, 400)}`);
}

const make = (place: URL, id: string, document: object = {}) =>
  admin(place, "POST", "", { id, document: { mode: "open", ...document } });
const put = (place: URL, tenant: string, uri: string, text: string) =>
  admin(place, "PUT", `/${tenant}/resources/content?uri=${encodeURIComponent(uri)}`, text);

const cost = (request: string, expected: string, run: Cost["run"], more: Partial<Cost> = {}): Cost => {
  return { request, expected, run, ...more };
};
const warmCall = (place: URL, at: string, token?: string) =>
  cost("a warm call", "0", () => ask(place, at, "tools/call", ADD, token));
const page = (place: URL, at: string) => cost("a page of its tools", "0", () => ask(place, at, "tools/list"));

/** The first call that finds a change. */
const callAfter = (place: URL, at: string, what: string, expected: string, change: () => Promise<unknown>): Cost => {
  const before = async () => {
    await change();
    await pause(2 * LEASE_MS);
  };
  return cost(`the first call after ${what}`, expected, () => ask(place, at, "tools/call", ADD), { before });
};

async function inLanes(count: number, work: (at: number) => Promise<unknown>): Promise<void> {
  const waiting = Array.from({ length: count }, (_, at) => at).values();
  const lane = async () => {
    for (const at of waiting) await work(at);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

/** Makes a tenant with upstreams and waits until they are read; gives its whole document. */
async function withUpstreams(place: URL, id: string, listing: Listing, count: number, document: object) {
  const upstreams: Record<string, object> = {};
  for (let at = 0; at < count; at += 1) {
    const { url } = await startListing({ ...listing, label: `${id} ${at}` });
    upstreams[`u${at}`] = { url, era: "2026" };
  }
  const whole = { mode: "open", ...document, upstreams };
  await make(place, id, whole);
  const deadline = performance.now() + READ_WITHIN_MS;
  for (const name of Object.keys(upstreams)) {
    const isRead = () =>
      ask(place, id, "tools/call", { ...ADD, name: `${name}__add` }).then(
        () => true,
        () => false,
      );
    while (!(await isRead())) {
      if (performance.now() > deadline) throw new Error(`${id}: ${name} was not read within ${READ_WITHIN_MS} ms`);
      await pause(100);
    }
  }
  return whole;
}

const SMALL_TOOL = 250;
const LARGE_TOOL = 2000;

export const DIMENSIONS: readonly Dimension[] = [
  {
    name: "tenants",
    sizes: [10, 300, 2000],
    quick: [10, 100, 500],
    prepare: async (place, size) => {
      await inLanes(size, (at) => make(place, `of-${size}-${at}`));
      let made = 0;
      const more = () => make(place, `more-${size}-${(made += 1)}`);
      return [
        warmCall(place, `of-${size}-0`),
        cost("ten of the list", "0", () => admin(place, "GET", "?limit=10")),
        cost("make one", "0", more, { times: 10 }),
      ];
    },
  },
  {
    name: "patterns of a profile",
    sizes: [1, 20, 200],
    prepare: async (place, size) => {
      const allow = Array.from({ length: size }, (_, at) => (at === 0 ? "*d*" : `x*${at}*y`));
      const document = { maxStalenessMs: LEASE_MS, profiles: { p: { tools: { allow } } } };
      const id = `patterns-${size}`;
      const whole = await withUpstreams(place, id, { tools: 990, bytes: SMALL_TOOL }, 1, document);
      return [page(place, `${id}/p`), warmCall(place, `${id}/p`), afterDocument(place, id, whole, "/p")];
    },
  },
  {
    name: "tools of each of 5 upstreams",
    sizes: [10, 200, 990],
    prepare: async (place, size) => {
      const id = `catalog-${size}`;
      const document = { maxStalenessMs: LEASE_MS };
      const whole = await withUpstreams(place, id, { tools: size, bytes: SMALL_TOOL }, 5, document);
      let round = 0;
      const makeKey = () => admin(place, "POST", `/${id}/keys`, { name: "k" });
      const setLimit = () => admin(place, "PUT", `/${id}/limits/toolCalls`, { value: 100_000 + (round += 1) });
      const through = () => ask(place, id, "tools/call", { ...ADD, name: "u0__add" });
      return [
        page(place, id),
        cost("a call through it", "0", through),
        callAfter(place, id, "a key was made", "0", makeKey),
        callAfter(place, id, "a limit was set", "0", setLimit),
        afterDocument(place, id, whole),
      ];
    },
  },
  {
    name: "tenants with 3.4 MB of lists each",
    sizes: [1, 2, 4, 8],
    quick: [1, 2, 4],
    prepare: async (place, size) => {
      const ids = Array.from({ length: size }, (_, at) => `lists-${size}-${at}`);
      for (const id of ids) await withUpstreams(place, id, { tools: 844, bytes: LARGE_TOOL }, 2, {});
      let next = 0;
      return [
        cost("a call of each in turn", "no cliff", () => ask(place, ids[(next += 1) % size] ?? "", "tools/call", ADD)),
      ];
    },
  },
  {
    name: "stored resources",
    sizes: [100, 2000, 20_000],
    quick: [100, 500, 2000],
    prepare: async (place, size) => {
      const id = `store-${size}`;
      await make(place, id, { search: true });
      const write = (at: number) => put(place, id, `note:${at}`, `text of topic${at}x and all`);
      await inLanes(size, write);
      // The last word of a query may go on: `topic7` would find `topic70`, too.
      const query = { name: "search", arguments: { query: "topic7x" } };
      return [
        cost("the first page of the list", "0", () => ask(place, id, "resources/list")),
        cost("read one", "0", () => ask(place, id, "resources/read", { uri: "note:1" })),
        cost("search for one", "0", () => ask(place, id, "tools/call", query)),
        cost("write one again", "0", () => write(7), { times: 10 }),
      ];
    },
  },
  {
    name: "KB of a document",
    sizes: [2, 50, 500],
    prepare: async (place, size) => {
      const id = `document-${size}`;
      const texts = Array.from({ length: 20 }, (_, at) => [`s${at}`, "x".repeat((size * KB) / 20)]);
      const document = { mode: "open", maxStalenessMs: LEASE_MS, settings: Object.fromEntries(texts) as object };
      await make(place, id, document);
      let round = 0;
      const apply = () => admin(place, "PUT", `/${id}/document`, { ...document, title: `Title ${(round += 1)}` });
      return [warmCall(place, id), cost("apply", "1", apply, { times: 4 })];
    },
  },
  {
    name: "keys of a tenant",
    sizes: [1, 100, 5000],
    quick: [1, 100, 1000],
    prepare: async (place, size) => {
      const id = `keys-${size}`;
      await make(place, id, { mode: "key" });
      const makeKey = () => admin(place, "POST", `/${id}/keys`, { name: "k" }) as Promise<{ token: string }>;
      const { token } = await makeKey();
      await inLanes(size - 1, makeKey);
      return [
        warmCall(place, id, token),
        cost("make one", "0", makeKey, { times: 10 }),
        cost("ten of the list", "0", () => admin(place, "GET", `/${id}/keys?limit=10`)),
      ];
    },
  },
  {
    name: "streams of a tenant",
    sizes: [10, 300, 1000],
    quick: [10, 100, 300],
    prepare: async (place, size) => {
      const id = `streams-${size}`;
      await make(place, id);
      const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
      const opened: Awaited<ReturnType<typeof openStream>>[] = [];
      while (opened.length < size) opened.push(await openStream(agent, place, `/mcp/${id}`));
      let round = 0;
      const change = async () => {
        const told = opened.map((one) => one.told("notifications/resources/updated"));
        await put(place, id, "note:fan-out", `text ${(round += 1)}`);
        await Promise.all(told);
      };
      const end = () => {
        for (const { sent } of opened) sent.destroy();
        agent.destroy();
      };
      return [cost("one change told to all", "1", change, { times: 1, end })];
    },
  },
  {
    name: "KB of a body",
    sizes: [1, 100, 4000],
    prepare: async (place, size) => {
      const id = `body-${size}`;
      await make(place, id, { search: true });
      const text = { name: "text", arguments: { length: size * KB } };
      const write = () => put(place, id, "note:body", "0123456789abcde ".repeat((size * KB) / 16));
      await write();
      return [
        cost("a result from code", "1", () => ask(place, id, "tools/call", text), { times: 4 }),
        cost("read a resource", "1", () => ask(place, id, "resources/read", { uri: "note:body" }), { times: 4 }),
        cost("write a resource", "1", write, { times: 4 }),
      ];
    },
  },
  {
    name: "recorded calls",
    sizes: [100, 2000, 20_000],
    quick: [100, 500, 2000],
    prepare: async (place, size) => {
      const id = `calls-${size}`;
      await make(place, id, { audit: { calls: "redacted" } });
      const { run } = warmCall(place, id);
      await inLanes(size, run);
      const last = () => admin(place, "GET", `/${id}/calls?last=10`);
      return [cost("a recorded call", "0", run), cost("the last ten", "0", last)];
    },
  },
  {
    name: "requests at once",
    sizes: [1, 8, 64],
    prepare: async (place, size) => {
      const id = `at-once-${size}`;
      await make(place, id);
      const { run } = warmCall(place, id);
      const atOnce = () => Promise.all(Array.from({ length: size }, run));
      return [cost("all of them", "≤ 1", atOnce, { times: 8 })];
    },
  },
];

function afterDocument(place: URL, id: string, document: object, profile = ""): Cost {
  let round = 0;
  const apply = () => admin(place, "PUT", `/${id}/document`, { ...document, title: `Title ${(round += 1)}` });
  return callAfter(place, `${id}${profile}`, "the document changed", "1", apply);
}
