// A rollout that changes HUB_SHARDS: Workers and objects of both releases are there at once, and streams of the old one
// stand for half an hour afterwards. Who tells and who listens meet all the same, whichever of them has more hubs.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { client2026 } from "../support/mcp-client.ts";
import { listen2025, reopen2025, STREAM_KINDS } from "../support/notification-streams.ts";
import { startWorkerPair, type WorkerPair } from "../support/worker-pair.ts";

const STREAMS = 12;
const LIST_CHANGED = "notifications/resources/list_changed";
const UPDATED = "notifications/resources/updated";

// All objects are of Worker one; it is the one that tells.
describe.each([
  ["1", "4"],
  ["4", "1"],
  ["2", "3"],
])("objects with HUB_SHARDS %s and a Worker with %s", (ofOne, ofTwo) => {
  let workers: WorkerPair;
  const urlAt = (worker: "one" | "two") => `${workers[worker].origin}/mcp/shards`;
  beforeAll(async () => {
    workers = await startWorkerPair({ HUB_SHARDS: ofOne }, undefined, false, {
      ofTwo: { HUB_SHARDS: ofTwo },
    });
    await workers.one.admin("POST", "/tenants", { id: "shards", document: { mode: "open", maxStalenessMs: 50 } });
  });
  afterAll(async () => {
    await workers.stop();
  });

  const write = (uri: string, at: "one" | "two" = "one") =>
    client2026(urlAt(at)).request("tools/call", { name: "lab_write", arguments: { uri, text: crypto.randomUUID() } });

  test.each(STREAM_KINDS)(
    "$kind of either are told of a change, also after the hubs were reset",
    async ({ listen }) => {
      const streams = await Promise.all(
        Array.from({ length: STREAMS }, (_none, at) => listen(urlAt(at % 2 === 0 ? "one" : "two"), [])),
      );
      const told = () => Promise.all(streams.map((stream) => stream.nextNotification(LIST_CHANGED)));
      for (const isReset of [false, true]) {
        const all = told();
        if (isReset) await workers.evict();
        await write(`lab://shards/${crypto.randomUUID()}`);
        await all;
      }
      await Promise.all(streams.map(({ events }) => events.close()));
    },
  );

  test("a session that subscribes and ends at one of them has its stream at the other", async () => {
    const sessions = await Promise.all(Array.from({ length: 6 }, () => listen2025(urlAt("two"), [])));
    for (const session of sessions) {
      const { client } = session;
      const uri = `lab://shards/${crypto.randomUUID()}`;
      await write(uri);
      const elsewhere = await fetch(urlAt("one"), {
        method: "POST",
        headers: {
          ...client.headers,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: "s", method: "resources/subscribe", params: { uri } }),
      });
      expect(await elsewhere.text()).toContain('"result"');
      const updated = session.nextNotification(UPDATED, uri);
      await write(uri);
      await updated;
    }
    for (const session of sessions) {
      const { client } = session;
      const over = expect(session.nextNotification("none")).rejects.toThrow("ended");
      expect((await fetch(urlAt("one"), { method: "DELETE", headers: client.headers })).status).toBe(204);
      await over;
      await expect(reopen2025(urlAt("one"), client)).rejects.toThrow("404");
    }
  });
});
