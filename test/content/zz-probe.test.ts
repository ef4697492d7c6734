import { env } from "cloudflare:workers";
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { test, vi } from "vitest";
import { openStore } from "../../src/content/store.ts";
import { contentTables } from "../../src/content/tables.ts";
import { remote } from "../../src/tenants/tables.ts";
const e = env as any;
const st = (n: string) => e.TENANTS.getByName(n);
const alarmOf = (s: any) => runInDurableObject(s, async (_i: any, state: any) => state.storage.getAlarm());
const store = (n: string) => openStore(n, remote(st(n), contentTables), e.BODIES);
test("rollback", async () => {
  const s = st("p3");
  await store("p3").write({ uri: "a:b", name: "x", blob: new Uint8Array(300_000) });
  try {
    await s.run("content", "put", [
      {
        row: {
          uri: "a:b",
          name: null,
          title: null,
          description: null,
          mimeType: "x",
          binary: false,
          size: 1,
          hash: "h",
          audience: null,
          priority: null,
          tags: [],
        },
        searchText: "",
        copy: null,
        ifAbsent: false,
      },
    ]);
  } catch (err) {
    console.log("err", String(err));
  }
  console.log(
    "alarm after failed",
    await alarmOf(s),
    await store("p3")
      .get("a:b")
      .then((m) => m?.size),
  );
  await store("p3").delete("a:b");
  console.log(
    "alarm after delete",
    await alarmOf(s),
    await runInDurableObject(s, async (_i: any, state: any) =>
      state.storage.sql.exec("SELECT * FROM garbage").toArray(),
    ),
  );
});
test("real alarm, evicted", async () => {
  const s = st("p6");
  await store("p6").write({ uri: "a:b", name: "x", text: "to go" });
  const { keys } = await e.BODIES.list({ prefix: "body/p6/" });
  await store("p6").delete("a:b");
  await runInDurableObject(s, async (_i: any, state: any) => {
    state.storage.sql.exec("UPDATE garbage SET collect_at = 1");
    await state.storage.setAlarm(Date.now() + 500);
  });
  await evictDurableObject(s);
  await new Promise((r) => setTimeout(r, 1500));
  console.log(keys.length, (await e.BODIES.list({ prefix: "body/p6/" })).keys.length);
  console.log(
    await runInDurableObject(
      s,
      async (_i: any, state: any) =>
        state.storage.sql.exec("SELECT * FROM garbage").toArray().length + " " + state.id.name,
    ),
  );
});
test("due race", async () => {
  const s = st("p7");
  const S = store("p7");
  await S.write({ uri: "a:1", name: "x", text: "one" });
  await S.write({ uri: "a:2", name: "x", text: "two" });
  await S.delete("a:1");
  await S.delete("a:2");
  await runInDurableObject(s, async (i: any, state: any) => {
    state.storage.sql.exec("UPDATE garbage SET collect_at = 1");
    console.log("env same", i.env.BODIES === e.BODIES);
  });
});
