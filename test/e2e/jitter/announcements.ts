// The check of notifications: whoever listens, in either era and in either Worker, and reads when told or when its
// stream is opened again, knows in the end what is stored, without ever asking on its own. What is stored is what was
// acknowledged last, or a write of which nobody knows what came of it: one that was cut off may still be done, also
// after later ones.

import { createHash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { Client, Json } from "../../support/mcp-client.ts";
import { listen2025, listen2026, type Listen, type Listening } from "../../support/notification-streams.ts";
import { sized } from "../../support/tier.ts";
import { makeTenant, type Check, type Played, type Scene } from "./check.ts";
import { isUnknown } from "./unreliable-workers.ts";

const WRITES = sized({ usual: 6, long: 10 });
const URIS = ["lab://first", "lab://second"];
const LISTENERS: readonly { readonly at: number; readonly listen: Listen; readonly what: string }[] = [
  { at: 0, listen: listen2025, what: "2025 in one" },
  { at: 1, listen: listen2025, what: "2025 in two" },
  { at: 0, listen: listen2026, what: "2026 in one" },
  { at: 1, listen: listen2026, what: "2026 in two" },
];
/** Streams that were lost come back after a while, and what they missed is told then. */
const TOLD_WITHIN_MS = 30_000;
const UPDATED = "notifications/resources/updated";

interface Known {
  readonly value: number;
  /** When it was asked for, as this listener counts: an answer to an earlier request says less. */
  readonly requestCount: number;
}

/** What one of them knows: by URI, the number that it asked for last. */
class Listener {
  readonly known = new Map<string, Known>();
  notifications = 0;
  reads = 0;
  #isOver = false;
  #stream: Listening | undefined;
  readonly #scene: Scene;
  readonly #about: (typeof LISTENERS)[number];

  constructor(scene: Scene, about: (typeof LISTENERS)[number]) {
    this.#scene = scene;
    this.#about = about;
  }

  get what(): string {
    return this.#about.what;
  }

  /** Until `stop`. Never rejects. */
  async listen(): Promise<void> {
    while (!this.#isOver) {
      await this.#once().catch(() => {});
      await pause(100);
    }
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#stream?.events.close();
  }

  async #once(): Promise<void> {
    const { workers, tag } = this.#scene;
    // A Worker that was killed is somewhere else afterwards.
    const stream = await this.#about.listen(`${workers.origin(this.#about.at)}/mcp/${tag}`, URIS);
    this.#stream = stream;
    if (this.#isOver) return;
    for (const uri of URIS) {
      // In era 2026 the stream itself says so; that a subscription was refused in this weather is not listening.
      const { error } = stream.client.era === "2025" ? await stream.client.request("resources/subscribe", { uri }) : {};
      if (error) throw new Error(error.message);
      void this.#read(stream.client, uri);
    }
    for (;;) {
      const { params } = await stream.nextNotification(UPDATED);
      this.notifications += 1;
      void this.#read(stream.client, String((params as Json)["uri"]));
    }
  }

  #learn(uri: string, next: Known): void {
    const before = this.known.get(uri);
    if (!before || next.requestCount > before.requestCount) this.known.set(uri, next);
  }

  /** Again where the answer was an error: that is not having read. */
  async #read(client: Client, uri: string): Promise<void> {
    for (let tries = 0; tries < 50 && !this.#isOver; tries += 1) {
      const requestCount = (this.reads += 1);
      const reply = await client.request("resources/read", { uri }).catch(() => undefined);
      const contents = (reply?.result["contents"] ?? []) as Json[];
      for (const { text } of contents) this.#learn(uri, { value: Number(text), requestCount });
      // There is none yet, or the stream that it was read for is of a Worker that is no more.
      if (contents.length > 0 || !reply || isAbsent(reply.error?.code)) return;
      await pause(100);
    }
  }
}

const isAbsent = (code: number | undefined) => code === -32002 || code === -32602;

interface Written {
  readonly uri: string;
  readonly acknowledged: readonly number[];
  readonly unknown: readonly number[];
  readonly refusals: readonly string[];
}

const pathOf = (tag: string, uri: string) => `/tenants/${tag}/resources/content?uri=${encodeURIComponent(uri)}`;

/** Counts up, through either Worker. */
async function write({ workers, draws, tag }: Scene, uri: string): Promise<Written> {
  const own = draws.fork();
  const [acknowledged, unknown]: [number[], number[]] = [[], []];
  const refusals: string[] = [];
  for (let value = 1; value <= WRITES; value += 1) {
    const answer = await workers.ask(own.below(2), "PUT", pathOf(tag, uri), { plain: String(value) });
    if (isUnknown(answer)) unknown.push(value);
    else if (answer.status < 300) acknowledged.push(value);
    else refusals.push(`${uri} ${value} was refused: ${answer.status} ${answer.text}`);
    await pause(own.below(120));
  }
  return { uri, acknowledged, unknown, refusals };
}

const hashOf = (value: number) => createHash("sha256").update(String(value)).digest("hex");

/** The numbers that were stored, in their order, as the audit log has them; it may lack the last for a second. */
async function storedIn({ workers, tag }: Scene, uri: string): Promise<number[]> {
  const { text } = await workers.insist("GET", `/tenants/${tag}/audit?limit=100`);
  const { items } = JSON.parse(text) as { readonly items: readonly { target: string; after: Json | null }[] };
  const values = new Map(Array.from({ length: WRITES }, (_none, at) => [hashOf(at + 1), at + 1]));
  const own = items.filter(({ target }) => target === `resource ${uri}`);
  return own.map(({ after }) => values.get(String(after?.["hash"])) ?? 0).toReversed();
}

/** What somebody does not know, and what was acknowledged and is not stored, or in another order. */
async function missedOf(scene: Scene, listeners: readonly Listener[], { uri, ...written }: Written): Promise<string[]> {
  const { status, text } = await scene.workers.insist("GET", pathOf(scene.tag, uri));
  const stored = status === 200 ? Number(text) : undefined;
  const all = await storedIn(scene, uri);
  const missed: string[] = [];
  if (all.at(-1) !== stored) missed.push(`${uri} is ${stored}, and ${all.join(", ")} were stored`);
  const acknowledged = all.filter((value) => !written.unknown.includes(value));
  if (acknowledged.join() !== written.acknowledged.join())
    missed.push(`${uri}: ${written.acknowledged.join(", ")} were acknowledged, and ${all.join(", ")} were stored`);
  for (const { what, known } of listeners) {
    const { value } = known.get(uri) ?? {};
    if (value !== stored) missed.push(`${what} knows ${value} of ${uri}, and it is ${stored}`);
  }
  return missed;
}

async function play(scene: Scene): Promise<Played> {
  await makeTenant(scene, scene.tag);
  const listeners = LISTENERS.map((about) => new Listener(scene, about));
  const listening = listeners.map((listener) => listener.listen());
  const written = await scene.stormy(() => Promise.all(URIS.map((uri) => write(scene, uri))));
  const look = async () => (await Promise.all(written.map((each) => missedOf(scene, listeners, each)))).flat();
  let missed = await look();
  for (const until = Date.now() + TOLD_WITHIN_MS; missed.length > 0 && Date.now() < until;) {
    await pause(50);
    missed = await look();
  }
  await Promise.all(listeners.map((listener) => listener.stop()));
  await Promise.all(listening);
  const operations = listeners.reduce((sum, { notifications, reads }) => sum + notifications + reads, 2 * WRITES);
  return { operations, violations: [...written.flatMap(({ refusals }) => refusals), ...missed] };
}

export const announcements: Check = {
  name: "notifications",
  claim:
    "what is stored in the end is known to each listener, by what it is told and by what it sees when its stream is opened again",
  play,
};
