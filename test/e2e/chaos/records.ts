// The check of what is noted of calls: whoever was answered is counted once and recorded once, however often what an
// isolate noted had to be sent; whoever was not may have been called, once.

import { setTimeout as pause } from "node:timers/promises";
import { OPEN, type Check, type Played, type Scene } from "../jitter/check.ts";
import type { FaultsOnce } from "../../support/injected-faults.ts";
import { client2025, client2026, type Client, type Json } from "../../support/mcp-client.ts";
import { injectFaultsAt } from "../../support/worker-pair-with-faults.ts";
import { sized } from "../../support/tier.ts";

const LANES = 2;
const CALLS = sized({ usual: 12, long: 40 });
const TOOL = "lab_echo";
/** Longer than isolates keep what they noted, and try to hand it over. */
const HANDED_OVER_WITHIN_MS = 45_000;
/** In the fixture Worker, the deployment that notes calls. */
const NOTING = "fixture=noting";

interface Noted {
  /** By what was said. */
  readonly answered: Set<string>;
  readonly unknown: Set<string>;
}

async function connect({ workers, tag, draws }: Scene, at: number): Promise<Client> {
  for (;;) {
    const url = `${workers.origin(draws.below(2))}/mcp/${tag}?${NOTING}`;
    if (at % 2 === 0) return client2026(url);
    const client = await client2025(url).catch(() => undefined);
    if (client) return client;
    await pause(50);
  }
}

async function call(client: Client, text: string, { answered, unknown }: Noted): Promise<void> {
  const reply = await client.request("tools/call", { name: TOOL, arguments: { said: text } }).catch(() => undefined);
  const isAnswered = reply?.status === 200 && "result" in (reply.messages.at(-1) ?? {});
  (isAnswered ? answered : unknown).add(text);
}

async function lane(scene: Scene, at: number, noted: Noted): Promise<void> {
  const client = await connect(scene, at);
  for (let nth = 0; nth < CALLS; nth += 1) await call(client, `${at}-${nth}`, noted);
}

/** Of the first batch of each isolate: it is taken, and sent again. */
async function loseAnswers({ workers }: Scene): Promise<void> {
  const lost: FaultsOnce = { "TenantObject usage.add": "answer lost", "TenantObject call-audit.append": "answer lost" };
  for (const at of [0, 1]) await injectFaultsAt(workers.origin(at), lost);
}

async function counted({ workers, tag }: Scene): Promise<number> {
  const { text } = await workers.insist("GET", `/tenants/${tag}/usage/calls?open=1&${NOTING}`);
  const lines = text.split("\n").filter(Boolean);
  const calls = lines.map((line) => JSON.parse(line) as { name: string; calls: number });
  return calls.filter(({ name }) => name === TOOL).reduce((sum, one) => sum + one.calls, 0);
}

/** How often each is recorded, by what was said. */
async function recorded({ workers, tag }: Scene): Promise<ReadonlyMap<string, number>> {
  const { text } = await workers.insist("GET", `/tenants/${tag}/calls?${NOTING}`);
  const times = new Map<string, number>();
  for (const line of text.split("\n").filter(Boolean)) {
    const { entry } = JSON.parse(line) as { entry?: { arguments: { redacted?: Json } } };
    const answer = entry?.arguments.redacted?.["said"];
    if (typeof answer === "string") times.set(answer, (times.get(answer) ?? 0) + 1);
  }
  return times;
}

async function judge(scene: Scene, { answered, unknown }: Noted): Promise<readonly string[]> {
  const until = Date.now() + HANDED_OVER_WITHIN_MS;
  for (;;) {
    const [count, times] = [await counted(scene), await recorded(scene)];
    const lacking = [...answered].filter((text) => !times.has(text));
    const twice = [...times]
      .filter(([, often]) => often > 1)
      .map(([text, often]) => `${text} is recorded ${often} times`);
    const isMore = count > answered.size + unknown.size;
    if (twice.length > 0 || isMore)
      return [...twice, ...(isMore ? [`${count} are counted of ${answered.size} answered`] : [])];
    if (lacking.length === 0 && count >= answered.size) return [];
    if (Date.now() > until)
      return [`${count} are counted of ${answered.size} answered; ${lacking.join(", ") || "none"} not recorded`];
    await pause(500);
  }
}

async function play(scene: Scene): Promise<Played> {
  const body = { id: scene.tag, document: { ...OPEN, audit: { calls: "redacted" } } };
  const made = await scene.workers.insist("POST", `/tenants?${NOTING}`, { body });
  if (made.status !== 201) throw new Error(`${scene.tag} is not made: ${made.status} ${made.text}`);
  const noted: Noted = { answered: new Set(), unknown: new Set() };
  const lanes = Array.from({ length: LANES }, (_none, at) => at);
  await scene.stormy(async () => {
    await loseAnswers(scene);
    await Promise.all(lanes.map((at) => lane(scene, at, noted)));
  });
  const later = async () => {
    // Who comes next hands over what could not be handed over.
    for (const at of [0, 1])
      await call(client2026(`${scene.workers.origin(at)}/mcp/${scene.tag}?${NOTING}`), `last-${at}`, noted);
    return judge(scene, noted);
  };
  return { operations: noted.answered.size + noted.unknown.size, violations: [], later };
}

export const records: Check = {
  name: "records",
  claim: "a call that was answered is counted once and recorded once",
  play,
};
