import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { authorityStore } from "../../../src/tenants/object/authority-store.ts";
import { ANY_UID } from "../../../src/tenants/object/tenant-uid.ts";
import { migrate, createRpcClient, type RpcInterface, type Store } from "../../../src/tenants/object/store.ts";
import { freshTenant, inside, rowsOf } from "../../support/workerd/tenant.ts";
import { callOn } from "../../support/workerd/object-calls.ts";

const CREATE = "CREATE TABLE steps (at INTEGER PRIMARY KEY, name TEXT NOT NULL)";
const step = (name: string) => `INSERT INTO steps (name) VALUES ('${name}')`;

function domain(migrations: readonly string[], name = "steps"): Store {
  return { name, methods: {}, migrations, open: () => ({ methods: {} }) };
}

function namesIn(sql: SqlStorage): unknown[] {
  return sql
    .exec("SELECT name FROM steps ORDER BY at")
    .toArray()
    .map((row) => row.name);
}

describe("migrate", () => {
  it("runs each step once and in order", async () => {
    const names = await inside(freshTenant(), ({ storage: { sql } }) => {
      const tables = [domain([CREATE, step("first"), step("second")])];
      migrate(sql, tables);
      migrate(sql, tables);
      return namesIn(sql);
    });
    expect(names).toEqual(["first", "second"]);
  });

  it("runs only what a newer version adds", async () => {
    const names = await inside(freshTenant(), ({ storage: { sql } }) => {
      for (const length of [2, 3, 5]) {
        migrate(sql, [domain([CREATE, step("1"), step("2"), step("3"), step("4")].slice(0, length))]);
      }
      return namesIn(sql);
    });
    expect(names).toEqual(["1", "2", "3", "4"]);
  });

  it("does not change the tables after a rollback to an older version", async () => {
    const names = await inside(freshTenant(), ({ storage: { sql } }) => {
      const all = [CREATE, step("1"), step("2")];
      migrate(sql, [domain(all)]);
      migrate(sql, [domain(all.slice(0, 2))]);
      migrate(sql, [domain([...all, step("3")])]);
      return namesIn(sql);
    });
    expect(names).toEqual(["1", "2", "3"]);
  });

  it("counts each domain's versions for itself", async () => {
    const names = await inside(freshTenant(), ({ storage: { sql } }) => {
      migrate(sql, [domain([CREATE, step("a1")])]);
      migrate(sql, [domain([CREATE, step("a1"), step("a2")]), domain([step("b1")], "other")]);
      return namesIn(sql);
    });
    expect(names).toEqual(["a1", "a2", "b1"]);
  });

  it("leaves no trace of a version that failed, and runs it whole the next time", async () => {
    const names = await inside(freshTenant(), ({ storage }) => {
      const upgrade = (last: string) =>
        storage.transactionSync(() => {
          migrate(storage.sql, [domain([CREATE, step("1")]), domain([step("2"), last], "other")]);
        });
      expect(() => {
        upgrade("INSERT INTO nowhere VALUES (1)");
      }).toThrow("no such table");
      expect(storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'steps'").toArray()).toEqual([]);
      upgrade(step("3"));
      return namesIn(storage.sql);
    });
    expect(names).toEqual(["1", "2", "3"]);
  });

  it.each([
    ["has tables of before there was a marker", ["CREATE TABLE schema_versions (name TEXT)"]],
    [
      "has another marker",
      [
        "CREATE TABLE schema (name TEXT, version INTEGER, oldest INTEGER)",
        "INSERT INTO schema VALUES ('marker', 0, 0)",
      ],
    ],
  ])("refuses storage that %s, and writes nothing", async (_title, statements) => {
    // An object of another class, in which nothing was made yet.
    await runInDurableObject(
      exports.UpstreamObject.getByName(crypto.randomUUID()),
      (_instance, { storage: { sql } }) => {
        for (const statement of statements) sql.exec(statement);
        const stored = () => sql.exec("SELECT name, sql FROM sqlite_master ORDER BY name").toArray();
        const before = stored();
        expect(() => {
          migrate(sql, [domain([CREATE])]);
        }).toThrow("unreleased version");
        expect(stored()).toEqual(before);
      },
    );
  });

  it("does not run again after an eviction", async () => {
    const tenant = freshTenant();
    const versions = () => rowsOf(tenant, "SELECT name, version FROM schema ORDER BY name");
    await createRpcClient(tenant.stub, authorityStore).markSeeded();
    const before = await versions();
    expect(before).toContainEqual({ name: "authority", version: authorityStore.migrations.length });
    await evictDurableObject(tenant.object);
    expect(await versions()).toEqual(before);
    expect((await createRpcClient(tenant.stub, authorityStore).state()).seeded).toBe(true);
  });
});

describe("remote", () => {
  it("calls a method by name with its arguments, and says whether that may be repeated", async () => {
    const calls: unknown[] = [];
    const stub = {
      call: async (...called: unknown[]) => {
        calls.push(called);
        return "answer";
      },
    };
    interface Sums {
      add(a: number, b: number): number;
      reset(): void;
    }
    const sums: RpcInterface<Sums> = { name: "sums", methods: { add: { idempotent: true }, reset: {} } };
    expect(await createRpcClient(stub, sums).add(1, 2)).toBe("answer");
    await createRpcClient(stub, sums).reset();
    expect(calls).toEqual([
      ["sums.add", [1, 2], true],
      ["sums.reset", [], false],
    ]);
  });

  it("is not taken for a promise by what returns it", async () => {
    const { stub } = freshTenant();
    const open = async () => createRpcClient(stub, authorityStore);
    expect((await (await open()).state()).seeded).toBe(false);
  });

  it.each(["constructor", "toString", "__proto__", "put"])("has no method %s", (method) => {
    const authority = createRpcClient(freshTenant().stub, authorityStore) as unknown as Record<string, unknown>;
    expect(authority[method]).toBeUndefined();
  });

  it.each(["authority.constructor", "authority.put", "nobody.lease", "constructor.lease", "run", "#run", "sql"])(
    "reaches nothing of the object as %s",
    async (method) => {
      const called = (async () => callOn(freshTenant().object, method, ANY_UID))().catch(String);
      expect(await called).toContain("does not implement");
    },
  );
});
