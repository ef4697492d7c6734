// Who reads after a notification never reads what was there before it. Two Workers over one storage stand for two
// isolates: one writes, through a tool and through the admin API in turn; clients of both eras listen and read in the other.

import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { client2026, type Client, type Json } from "../support/mcp-client.ts";
import { listen2025, listen2026, type Listening } from "../support/notification-streams.ts";
import { sharedWorkerPair, type SharedWorkerPair } from "../support/worker-pair.ts";

const WRITES = 50;
const BURST = 10;
const URI = "lab://counters/one";
const UPDATED = "notifications/resources/updated";

let workers: SharedWorkerPair;
beforeAll(async () => {
  workers = await sharedWorkerPair();
});

/** A counter that is written in Worker two; what is committed lies between what was acknowledged and what was begun. */
interface Counter {
  readonly tenant: string;
  readonly acknowledged: number;
  readonly begun: number;
  /** Writes the next value; odd ones through a tool, even ones through the admin API. */
  write(): Promise<void>;
}

let made = 0;
async function newCounter(): Promise<Counter> {
  const { one, two } = workers;
  made += 1;
  const tenant = `counting-${made}`;
  await one.admin("POST", "/tenants", { id: tenant, document: { mode: "open", maxStalenessMs: 50 } });
  const tool = client2026(`${two.origin}/mcp/${tenant}`);
  const content = `/tenants/${tenant}/resources/content?uri=${encodeURIComponent(URI)}`;
  const counter = { tenant, acknowledged: 0, begun: 0 };
  const write = async () => {
    const value = (counter.begun += 1);
    if (value % 2 === 0) await two.admin("PUT", content, value);
    else {
      const args = { uri: URI, mimeType: "application/json", text: String(value) };
      const { result, text } = await tool.request("tools/call", { name: "lab_write", arguments: args });
      if (result.isError === true || result.content === undefined) throw new Error(text);
    }
    counter.acknowledged = value;
  };
  return Object.assign(counter, { write });
}

async function read(client: Client): Promise<number> {
  const { result } = await client.request("resources/read", { uri: URI });
  return Number((result.contents as Json[])[0]?.text);
}

interface Reader {
  readonly era: string;
  readonly stream: Listening;
}

/** Both eras, in Worker one. */
async function listenTo({ tenant }: Counter): Promise<readonly Reader[]> {
  const url = `${workers.one.origin}/mcp/${tenant}`;
  const [older, newer] = await Promise.all([listen2025(url, [URI]), listen2026(url, [URI])]);
  onTestFinished(async () => {
    await Promise.all([older.events.close(), newer.events.close()]);
  });
  return [
    { era: "2025", stream: older },
    { era: "2026", stream: newer },
  ];
}

/** Reads on every notification, at once, and knows what everybody knew by then. */
class Watch {
  readonly #counter: Counter;
  readonly #told = new Map<Reader, number>();
  /** What each reader read, in the order in which it learnt it. */
  readonly values = new Map<Reader, number[]>();
  #newest = 0;

  constructor(counter: Counter) {
    this.#counter = counter;
  }

  /** Settles when a notification led to this value, and every reading that was begun has ended. */
  async until(reader: Reader, value: number): Promise<void> {
    const reading: Promise<number>[] = [];
    let last = 0;
    while (last < value) {
      await reader.stream.nextNotification(UPDATED, URI);
      reading.push(this.#read(reader));
      // While there are writes to begin, this was not the last notification, and no reading waits for another.
      if (this.#counter.begun >= value) last = (await reading.at(-1)) ?? last;
    }
    await Promise.all(reading);
  }

  async #read(reader: Reader): Promise<number> {
    const count = (this.#told.get(reader) ?? 0) + 1;
    this.#told.set(reader, count);
    // What was acknowledged, what anybody has read, and as many writes as there were notifications.
    const least = Math.max(this.#counter.acknowledged, this.#newest, count);
    const value = await read(reader.stream.client);
    if (value < least || value > this.#counter.begun) throw new Error(`read ${value} when ${least} was known`);
    this.#newest = Math.max(this.#newest, value);
    this.values.set(reader, [...(this.values.get(reader) ?? []), value]);
    return value;
  }
}

describe("a client that reads after a notification, in an isolate that did not write", () => {
  test("reads exactly what was written, when every write waits for its notification", async () => {
    const counter = await newCounter();
    const readers = await listenTo(counter);
    for (let value = 1; value <= WRITES; value += 1) {
      const writing = counter.write();
      // The notification may come before the writer has its acknowledgement.
      const values = await Promise.all(
        readers.map(async ({ era, stream }) => {
          await stream.nextNotification(UPDATED, URI);
          return { era, value: await read(stream.client) };
        }),
      );
      await writing;
      expect(values).toEqual(readers.map(({ era }) => ({ era, value })));
    }
  });

  test("reads nothing older than anybody knew by then, and the last value in the end, when writes come in bursts", async () => {
    const counter = await newCounter();
    const readers = await listenTo(counter);
    const watch = new Watch(counter);
    for (let last = BURST; last <= WRITES; last += BURST) {
      const reading = readers.map((reader) => watch.until(reader, last));
      for (let at = 0; at < BURST; at += 1) await counter.write();
      await Promise.all(reading);
    }
    for (const reader of readers) {
      const values = watch.values.get(reader) ?? [];
      expect(values.length).toBeGreaterThanOrEqual(WRITES / BURST);
      expect(Math.max(...values)).toBe(WRITES);
    }
  });
});
