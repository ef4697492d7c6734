// Two Workers with one tenant each that shows the same to whoever looks, though the second one's has far more behind
// what is shown: notes, tags, prompts, tools, profiles, scopes, keys, suspensions, other tenants.

import { bundleWorker, startWorker, type OneWorker } from "../../support/start-worker.ts";
import type { Json } from "../../support/mcp-client.ts";

const ADMIN_TOKEN = "admin-token-of-two-worlds-0123456789";
export const TENANT = "worlds";

/** Words that visible texts have, and words that only hidden ones have. */
export const WORDS = ["apple", "banana", "cherry", "meeting", "otter", "budget"] as const;
export const HIDDEN_WORDS = ["hunter2xyz", "layoffs", "zebra"] as const;

/** Before, between and behind what is shown, in the order of URIs; no way of looking shows them. */
export const hiddenId = (at: number) =>
  [`b-${at}-private`, `open-m-${at}-private`, `open-zz-${at}-private`, `zz-${at}-private`][at % 4] as string;
export const visibleId = (at: number) => `open-${at % 2 === 0 ? "a" : "p"}-${String(at).padStart(3, "0")}`;
const HIDING = ["note://b-*", "note://open-m*", "note://open-zz*", "note://zz-*"];

/**
 * Ways of looking that hide the same: by denied ranges, by allowed ones, by the middle of a name, and by a key's scopes;
 * `many` by many patterns; `inner` leaves no ranges and is half of it a scope's.
 */
export const VIEWS = ["denied", "allowed", "middle", "many", "inner", "scoped", "both"] as const;
export type ViewName = (typeof VIEWS)[number];

const SEEN = ["note://open-a*", "note://open-p*", "note://open-new*"];
const READ = ["note_write", "note_read", "note_search", "note_list", "search", "fetch"];
const hides = { tools: { deny: ["note_delete"] }, prompts: { deny: ["hidden_*"] } };
const text = (body: string) => ({ messages: [{ role: "user", content: { type: "text", text: body } }] });

const PLAIN: Json = {
  mode: "open",
  search: true,
  maxStalenessMs: 500,
  instructions: "Look around.",
  tools: { note_delete: { enabled: false } },
  prompts: { greet: { arguments: [{ name: "who" }], ...text("Hello, {{who}}") } },
  scopes: {
    reader: { tools: READ, prompts: ["greet", "summarize_*"], resources: SEEN },
    inner: { tools: READ, prompts: ["greet", "summarize_*"], resources: ["note://open-?-0*", "note://*-new*"] },
  },
  profiles: {
    denied: { ...hides, resources: { deny: HIDING } },
    allowed: { ...hides, resources: { allow: SEEN } },
    middle: { ...hides, resources: { deny: ["*-private"] } },
    many: {
      ...hides,
      resources: { deny: [...HIDING, ...Array.from({ length: 120 }, (_none, at) => `note://no-${at}*`)] },
    },
    inner: { ...hides, resources: { allow: ["*"], deny: ["note://?-*e"] } },
    both: { ...hides, resources: { allow: ["note://*"], deny: ["note://b-*", "note://zz-*"] } },
  },
};

/** What the sights above do not show is there. */
const CROWDED: Json = {
  ...PLAIN,
  tools: {},
  prompts: { ...(PLAIN["prompts"] as Json), hidden_plan: text("hunter2xyz"), hidden_list: text("layoffs") },
  scopes: {
    ...(PLAIN["scopes"] as Json),
    "hidden-scope": { resources: ["*"] },
  },
  profiles: {
    ...(PLAIN["profiles"] as Json),
    "hidden-profile": { tools: { rename: { note_read: { name: "hidden_read" } } } },
    "hidden-view": { resources: { deny: ["*hunter?xyz*"] } },
  },
};

export interface HiddenFixture {
  readonly origin: string;
  readonly url: (view: ViewName) => string;
  readonly headers: (view: ViewName) => Readonly<Record<string, string>>;
  readonly admin: (method: string, path: string, json?: unknown) => Promise<Json>;
  readonly store: (id: string, text: string) => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** The one without hidden things, and the one with them. */
export async function startFixtures(): Promise<readonly [HiddenFixture, HiddenFixture]> {
  const modules = await bundleWorker("demo-worker");
  const workers = await Promise.all(
    [1, 2].map(() => startWorker(modules, { vars: { ADMIN_TOKEN }, flags: ["nodejs_als"] })),
  );
  const [plain, crowded] = await Promise.all(workers.map(async (worker, at) => makeFixture(worker, at === 1)));
  return [plain as HiddenFixture, crowded as HiddenFixture];
}

async function makeFixture(worker: OneWorker, isCrowded: boolean): Promise<HiddenFixture> {
  const { origin } = worker;
  const admin: HiddenFixture["admin"] = async (method, path, json) => {
    const init = json === undefined ? {} : { body: typeof json === "string" ? json : JSON.stringify(json) };
    const type = typeof json === "string" ? "text/markdown" : "application/json";
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": type };
    const response = await fetch(`${origin}/admin/v1${path}`, { method, headers, ...init });
    const message = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${message}`);
    return (message === "" ? {} : JSON.parse(message)) as Json;
  };
  const store: HiddenFixture["store"] = async (id, body) => {
    const tags = body.split(" ").slice(0, 2);
    const query = new URLSearchParams([
      ["uri", `note://${id}`],
      ["title", body.slice(0, 30)],
      ...tags.map((tag) => ["tag", tag]),
    ]);
    await admin("PUT", `/tenants/${TENANT}/resources/content?${query}`, body);
  };
  await admin("POST", "/tenants", { id: TENANT, document: isCrowded ? CROWDED : PLAIN });
  for (let at = 0; at < 30; at += 1) {
    const hidden = isCrowded ? [0, 1, 2, 3].map((more) => at * 4 + more) : [];
    await Promise.all(hidden.map(async (one) => store(hiddenId(one), hiddenText(one))));
    await store(visibleId(at), visibleText(at));
  }
  if (isCrowded) await fill(admin);
  const made = await admin("POST", `/tenants/${TENANT}/keys`, { name: "reader", scopes: ["reader"] });
  const bound = await admin("POST", `/tenants/${TENANT}/keys`, { name: "bound", scopes: ["reader"], profile: "both" });
  const inner = await admin("POST", `/tenants/${TENANT}/keys`, { name: "inner", scopes: ["inner"], profile: "inner" });
  const tokens: Partial<Record<ViewName, string>> = {
    scoped: made["token"] as string,
    both: bound["token"] as string,
    inner: inner["token"] as string,
  };
  return {
    origin,
    url: (view) => `${origin}/mcp/${TENANT}${view === "scoped" ? "" : `/${view}`}`,
    headers: (view) => (tokens[view] === undefined ? {} : { authorization: `Bearer ${tokens[view]}` }),
    admin,
    store,
    stop: () => worker.stop(),
  };
}

const pick = (words: readonly string[], at: number) => words[at % words.length] as string;
const visibleText = (at: number) =>
  `${pick(WORDS, at)} ${pick(WORDS, at * 5 + 1)} notes of day ${at % 7}. More follows.`;
export const hiddenText = (at: number) =>
  `${pick(HIDDEN_WORDS, at)} ${pick(WORDS, at)} ${pick(HIDDEN_WORDS, at + 1)} apple otter meeting budget`;

/** Other tenants, keys and suspensions. */
async function fill(admin: HiddenFixture["admin"]): Promise<void> {
  for (const id of ["hidden-one", "hidden-two"]) {
    await admin("POST", "/tenants", { id, document: { mode: "key", profiles: { "hidden-profile": {} } } });
    await admin(
      "PUT",
      `/tenants/${id}/resources/content?${new URLSearchParams({ uri: "note://open-a-000" })}`,
      "hunter2xyz",
    );
  }
  const gone = await admin("POST", `/tenants/${TENANT}/keys`, { name: "hidden-key" });
  await admin("DELETE", `/tenants/${TENANT}/keys/${String(gone["id"])}`);
  await admin("POST", `/tenants/${TENANT}/keys`, { name: "hidden-key-2", scopes: ["hidden-scope"] });
  const suspensions = `/tenants/${TENANT}/suspensions`;
  await admin("POST", suspensions, { kind: "profile", name: "hidden-profile", note: "hunter2xyz" });
  await admin("POST", suspensions, { kind: "tool", name: "note_delete", note: "hunter2xyz" });
}
