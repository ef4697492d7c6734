// The check of ends: a tenant is deleted by two at once and made again, several times, while uploads, keys, documents
// and calls of each are under way. Nothing of one is in the next, what the last one acknowledged is there, and no body
// stays in KV.

import { setTimeout as pause } from "node:timers/promises";
import { write } from "../../support/raw-http.ts";
import { sized } from "../../support/tier.ts";
import { json, OPEN, unexpected, type Check, type Played, type Scene } from "./check.ts";
import { isUnknown, type Answer } from "./unreliable-workers.ts";

const LIVES = sized({ usual: 2, long: 3 });
const SHARED = "lab://shared";
/** Up to so long after it was begun to be deleted, what belongs to a tenant is sent. */
const LATE_MS = 900;
/** What a Worker that was killed could not clear up itself is cleared up by then. */
const CLEARED_WITHIN_MS = 30_000;

interface Life {
  readonly scene: Scene;
  readonly mark: string;
}

const contentOf = ({ tag }: Scene, uri: string) => `/tenants/${tag}/resources/content?uri=${encodeURIComponent(uri)}`;

/** Everything that somebody asks of a tenant, each by its name. */
function asksOf({ scene, mark }: Life): Readonly<Record<string, () => Promise<Answer>>> {
  const { workers, tag, draws } = scene;
  const at = draws.below(2);
  const call = write("2026-07-28", "tools/call", {
    name: "lab_write",
    arguments: { uri: `lab://${mark}/called`, text: `${mark} called` },
  });
  return {
    "an upload": () => workers.ask(at, "PUT", contentOf(scene, `lab://${mark}/one`), { plain: `${mark} one` }),
    "an upload of what others have": () =>
      workers.ask(at + 1, "PUT", contentOf(scene, SHARED), { plain: "the same in all" }),
    "a key": () => workers.ask(at, "POST", `/tenants/${tag}/keys`, { body: { name: mark } }),
    "a document": () => workers.ask(at + 1, "PUT", `/tenants/${tag}/document`, { body: { ...OPEN, title: mark } }),
    "a secret": () =>
      workers.ask(at, "PUT", `/tenants/${tag}/secrets/${mark.toUpperCase()}`, { body: { value: mark } }),
    "a call": () =>
      workers.send(at, `/mcp/${tag}`, { method: "POST", headers: call.headers, body: JSON.stringify(call.body) }),
  };
}

/** As soon as the name is free; gives when it was made. */
async function made({ workers, tag }: Scene, mark: string): Promise<string> {
  for (;;) {
    const body = { id: tag, document: { ...OPEN, title: mark, description: mark } };
    const answer = await workers.insist("POST", "/tenants", { body });
    if (answer.status === 201) return String(json(answer)["created"]);
    // An earlier try of this one may have made it, though its answer was lost.
    const shown = await workers.insist("GET", `/tenants/${tag}`);
    const { effective, created, state } = shown.status === 200 ? (json(shown) as unknown as Shown) : NOBODY;
    if (state === "active" && effective.description === mark) return created;
    if (answer.status !== 409) throw new Error(`${tag} is not made: ${answer.status} ${answer.text}`);
    await pause(50);
  }
}

interface Shown {
  readonly created: string;
  readonly state: string;
  readonly effective: { readonly description?: string };
}

const NOBODY: Shown = { created: "", state: "", effective: {} };

/** Until it is gone, by whichever of those that delete it. */
async function deleted({ workers, tag }: Scene, created: string): Promise<readonly string[]> {
  const path = `/tenants/${tag}?created=${encodeURIComponent(created)}`;
  const [first, second] = await Promise.all([workers.ask(0, "DELETE", path), workers.ask(1, "DELETE", path)]);
  const last = await workers.insist("DELETE", path);
  const statuses = [204, 404, 412];
  return [first, second, last].flatMap((answer) => unexpected("DELETE", answer, statuses));
}

interface Late {
  readonly mark: string;
  /** Milliseconds since the epoch; Infinity: not yet. */
  begun: number;
  ended: number;
  work: Promise<unknown>;
}

/**
 * Half of it begins before the tenant is deleted, half of it while that is done and when another one may have its name. Each has a
 * mark of its own: what is asked of whoever has the name then, is asked of the next one.
 */
function under({ scene, mark }: Life): readonly Late[] {
  const draws = scene.draws.fork();
  return Object.keys(asksOf({ scene, mark })).map((what, at) => {
    const own = `${mark.slice(0, -1)}y${at}x`;
    const late: Late = { mark: own, begun: Infinity, ended: Infinity, work: Promise.resolve() };
    // Drawn now: when each of them begins must not change what the seed gives.
    const ask = asksOf({ scene, mark: own })[what];
    late.work = pause(draws.below(LATE_MS)).then(async () => {
      late.begun = Date.now();
      await ask?.();
      late.ended = Date.now();
    });
    return late;
  });
}

/** The marks of what a tenant was asked, none of which may be in the next one: that one was made from `next` on. */
function strangers(lates: readonly Late[], end: { readonly begun: number; readonly next: number }): readonly string[] {
  return lates.filter(({ begun, ended }) => begun < end.begun || ended < end.next).map(({ mark }) => mark);
}

/** What belongs to the last one, each with whether it was acknowledged. */
async function writeLast(life: Life): Promise<readonly string[]> {
  const { scene, mark } = life;
  const found: Readonly<Record<string, string>> = {
    "an upload": `lab://${mark}/one`,
    "an upload of what others have": SHARED,
    "a key": `"name":"${mark}"`,
    "a secret": mark.toUpperCase(),
  };
  const acknowledged: string[] = [];
  for (const [what, ask] of Object.entries(asksOf({ scene, mark }))) {
    const answer = await ask();
    const text = found[what];
    if (!isUnknown(answer) && answer.status < 300 && text !== undefined) acknowledged.push(text);
  }
  return acknowledged;
}

interface Ended {
  /** Of the last one. */
  readonly acknowledged: readonly string[];
  /** Marks of what was asked of those before it. */
  readonly strange: readonly string[];
}

async function judge({ scene, mark }: Life, { acknowledged, strange }: Ended): Promise<readonly string[]> {
  const { workers, tag } = scene;
  const paths = ["", "/document", "/resources", "/keys", "/secrets", "/audit"].map((path) => `/tenants/${tag}${path}`);
  const shown = await Promise.all(paths.map((path) => workers.insist("GET", path)));
  const all = shown.map(({ text }) => text).join("\n");
  const violations = acknowledged
    .filter((text) => !all.includes(text))
    .map((text) => `acknowledged and not there: ${text}`);
  for (const old of strange) {
    const at = all.toLowerCase().indexOf(old);
    if (at >= 0) violations.push(`of the one before, in ${mark}: ${all.slice(Math.max(0, at - 100), at + 100)}`);
  }
  for (const uri of acknowledged.filter((text) => text.startsWith("lab://"))) {
    const { status, text } = await workers.insist("GET", contentOf(scene, uri));
    if (status !== 200) violations.push(`the body of ${uri} was answered ${status} ${text.slice(0, 200)}`);
  }
  return violations;
}

const markOf = ({ tag }: Scene, life: number) => `${tag.replaceAll("-", "")}x${life}x`;

/** What KV has of a tenant that is gone. */
async function bodiesLeft({ workers, tag }: Scene): Promise<readonly string[]> {
  let left: readonly string[] = [];
  for (const until = Date.now() + CLEARED_WITHIN_MS; Date.now() < until; await pause(500)) {
    left = (await Promise.all([`body/${tag}@`, `body/${tag}/`].map((prefix) => workers.keys(prefix)))).flat();
    if (left.length === 0) return [];
  }
  return left.map((key) => `KV has ${key} of a tenant that is gone`);
}

async function play(scene: Scene): Promise<Played> {
  const { workers, tag } = scene;
  const violations: string[] = [];
  const last: Life = { scene, mark: markOf(scene, LIVES - 1) };
  const ended = await scene.stormy(async () => {
    const ends: { readonly lates: readonly Late[]; readonly begun: number; readonly next: number }[] = [];
    let earlier = "";
    for (let at = 0; at < LIVES - 1; at += 1) {
      const mark = markOf(scene, at);
      earlier = await made(scene, mark);
      await workers.ask(0, "PUT", contentOf(scene, SHARED), { plain: "the same in all" });
      const lates = under({ scene, mark });
      await pause(scene.draws.below(LATE_MS / 2));
      const begun = Date.now();
      violations.push(...(await deleted(scene, earlier)));
      ends.push({ lates, begun, next: Date.now() });
    }
    const created = await made(scene, last.mark);
    const again = await workers.ask(1, "DELETE", `/tenants/${tag}?created=${encodeURIComponent(earlier)}`);
    violations.push(...unexpected("DELETE of the one before", again, [412]));
    const acknowledged = await writeLast(last);
    await Promise.all(ends.flatMap(({ lates }) => lates.map(({ work }) => work)));
    const own = ends.map((_end, at) => markOf(scene, at));
    return { created, acknowledged, strange: [...own, ...ends.flatMap((end) => strangers(end.lates, end))] };
  });
  violations.push(...(await judge(last, ended)));
  violations.push(...(await deleted(scene, ended.created)));
  violations.push(...(await bodiesLeft(scene)));
  return { operations: LIVES * 10, violations };
}

export const recreations: Check = {
  name: "ends",
  claim: "nothing of a tenant reaches the one that has its name after it, or stays in KV",
  play,
};
