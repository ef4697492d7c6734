// A person thinks about a question, and meanwhile whoever asked it dies: the answer completes the call, once, whichever
// Worker it reaches and however often it comes. Two Workers over one storage that outlives their process.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ResumableCall } from "../support/resumable-call.ts";
import { client2025, client2026, post, type Client, type Json } from "../support/mcp-client.ts";
import { startWorkerPair, type WorkerPair } from "../support/worker-pair.ts";

/** Calls of one session that wait at the same time, and what becomes of one becomes of all. */
const CALLS = 3;
/** How often each answer is given, to the Workers in turn, all at once. */
const ANSWERS = 4;
const YES = { action: "accept", content: { yes: true } };

let storage: string;
let workers: WorkerPair;
beforeAll(async () => {
  storage = await mkdtemp(join(tmpdir(), "tenantry-parked-"));
  workers = await startWorkerPair({}, storage);
});
afterAll(async () => {
  await workers.stop();
  await rm(storage, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

const urlOf = (at: number) => `${workers.both[at % 2]?.origin}/mcp/lab`;

interface Parked {
  readonly key: string;
  readonly call: ResumableCall;
}

async function park(client: Client, at: number): Promise<Parked> {
  const key = crypto.randomUUID();
  const params = { name: "lab_pay", arguments: { key } };
  return { key, call: await ResumableCall.begin(urlOf(at), client, { id: `pay-${at}`, params }) };
}

/** The question that the call's stream says next; throws when it says something else. */
async function questionOf({ call }: Parked, message: string): Promise<unknown> {
  const question = await call.next();
  expect(question).toMatchObject({ method: "elicitation/create", params: { message } });
  return question?.id;
}

async function answer(client: Client, id: unknown): Promise<void> {
  const answers = Array.from({ length: ANSWERS }, (_none, at) =>
    post(urlOf(at), { jsonrpc: "2.0", id, result: YES }, { headers: client.headers }),
  );
  for (const { status, text } of await Promise.all(answers))
    expect({ status, text }).toEqual({ status: 202, text: "" });
}

async function payments(key: string): Promise<string[]> {
  const prefix = `lab://payments/${key}/`;
  const { result } = await client2026(urlOf(0)).request("tools/call", { name: "lab_list", arguments: { prefix } });
  return (JSON.parse(String((result.content as Json[])[0]?.text)) as string[]).map((uri) => uri.slice(prefix.length));
}

/** What a stream behind this event is answered with. */
async function statusBehind(client: Client, lastEventId: string): Promise<number> {
  const { status } = await fetch(urlOf(0), { headers: { ...client.headers, "last-event-id": lastEventId } });
  return status;
}

const deaths = [
  {
    what: "its client's connection is gone",
    die: (parked: readonly Parked[]) => Promise.all(parked.map(({ call }) => call.drop())),
  },
  { what: "every object was reset", die: () => workers.crash() },
  {
    what: "its Worker's process was killed, with the connection",
    die: async () => {
      await workers.stop();
      workers = await startWorkerPair({}, storage);
    },
  },
];

describe.each(deaths)("a call that waits for a person when $what", ({ die }) => {
  test("is completed by the answer, once, and its client comes back for the result", async () => {
    const client = await client2025(urlOf(0), "2025-11-25", { elicitation: {} });
    const parked = await Promise.all(Array.from({ length: CALLS }, (_none, at) => park(client, at)));

    const sure = await Promise.all(parked.map((one) => questionOf(one, "Go on?")));
    await die(parked);
    await Promise.all(sure.map((id) => answer(client, id)));
    await Promise.all(parked.map(({ call }, at) => call.resume(urlOf(at + 1))));

    const thanks = await Promise.all(parked.map((one) => questionOf(one, "Paid. Was it fine?")));
    await die(parked);
    await Promise.all(thanks.map((id) => answer(client, id)));
    await Promise.all(parked.map(({ call }, at) => call.resume(urlOf(at))));

    for (const [at, { key, call }] of parked.entries()) {
      const done = await call.next();
      const [receipt, ...others] = await payments(key);
      expect(others).toEqual([]);
      const text = JSON.stringify({ receipt, thanks: '{"yes":true}' });
      expect(done).toEqual({ jsonrpc: "2.0", id: `pay-${at}`, result: { content: [{ type: "text", text }] } });
      expect(await call.next()).toBeUndefined();
      // Nothing comes after it, however often a question is answered again.
      await answer(client, sure[at]);
      await answer(client, thanks[at]);
      expect(await statusBehind(client, call.lastEventId)).toBe(204);
      expect(await payments(key)).toEqual([receipt]);
    }
  });
});

test("an answer that was acknowledged when the process died is not lost, and what is done once was not done twice", async () => {
  const client = await client2025(urlOf(0), "2025-11-25", { elicitation: {} });
  const parked = await Promise.all(Array.from({ length: CALLS }, (_none, at) => park(client, at)));
  const sure = await Promise.all(parked.map((one) => questionOf(one, "Go on?")));
  await Promise.all(sure.map((id) => answer(client, id)));
  await workers.stop();
  workers = await startWorkerPair({}, storage);
  for (const { key, call } of parked) {
    await call.resume(urlOf(0));
    const next = await call.next();
    const paid = await payments(key);
    // Where it died between the claim and its end, nobody knows whether it was done: the call says so and ends.
    if (next?.method === "elicitation/create") expect(paid).toHaveLength(1);
    else
      expect(next?.result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("not known") }] });
    expect(paid.length).toBeLessThanOrEqual(1);
  }
});
