// An object that was reset under a read of the admin API was answered with 500: a call that a reset cuts off is marked as that by
// the platform (`durableObjectReset`). What changes nothing is asked for once more, and then whoever asked is told to come again.

import { beforeAll, expect, test } from "vitest";
import { ADMIN_TOKEN, sharedWorkerPair, type SharedWorkerPair } from "../support/worker-pair.ts";

let workers: SharedWorkerPair;
beforeAll(async () => {
  workers = await sharedWorkerPair();
  await workers.one.admin("POST", "/tenants", { id: "reset", document: {} });
});

const ask = (path: string) =>
  fetch(`${workers.one.origin}/admin/v1/tenants/reset${path}`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });

test.each(["", "/document", "/export"])(
  "GET /tenants/ID%s is answered though an object is reset, and says to come again where it is reset twice",
  async (path) => {
    await workers.one.loseAnswer("policy.read");
    expect((await ask(path)).status).toBe(200);
    await workers.one.loseAnswer("policy.read", 2);
    const answer = await ask(path);
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
    expect((await ask(path)).status).toBe(200);
  },
);

test.each(["", "/export"])("GET /tenants/ID%s says so, too, while no object can be reached", async (path) => {
  await workers.one.cutOff();
  const answer = await ask(path);
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
  await workers.one.reconnect();
  expect((await ask(path)).status).toBe(200);
});
