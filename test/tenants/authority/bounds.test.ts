// Every table of every Durable Object has a bound, which docs/state.md states: whatever grows with use and never shrinks
// fills an object some day. A new table is red until somebody said what bounds it.

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { SESSION_MIGRATIONS } from "../../../src/sessions/session-object.ts";
import { UPSTREAM_MIGRATIONS } from "../../../src/gateway/sessions/upstream-object.ts";
import { CLASSES, namespaceOf } from "../../../src/tenants/directory/namespaces.ts";
import { WHOEVER } from "../../../src/tenants/authority/incarnation.ts";
import page from "../../../docs/state.md?raw";
import { callOn } from "../../support/workerd/object-calls.ts";

/** What SQLite and the platform keep for themselves, and the tables under a full-text index, which grow with it. */
const THEIRS = /^(?:sqlite_|_cf_|resource_words_)/;

const stated = [...page.matchAll(/^\| `(\w+)` +\| `(\w+)` +\| (.+?) +\|$/gm)].map(([, binding, table, bound = ""]) => ({
  name: `${binding} ${table}`,
  bound,
}));

/** Of objects that make their tables when they have something to remember. */
const LATER: Readonly<Record<string, readonly string[]>> = {
  SessionObject: SESSION_MIGRATIONS,
  UpstreamObject: UPSTREAM_MIGRATIONS,
};

async function tablesOf(binding: string, namespace: DurableObjectNamespace): Promise<string[]> {
  // A shard of the directory has one of sixteen names.
  const stub = namespace.getByName(binding === "DirectoryObject" ? "names-0" : `t-${crypto.randomUUID()}`);
  const rows = await runInDurableObject(stub, async (instance, { storage: { sql } }) => {
    // Others make their tables when they are first asked for anything that only a tenant has.
    await Promise.resolve(callOn(instance, "changes.hubs", WHOEVER)).catch(() => {});
    const tables = () => sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'").toArray();
    for (const statement of LATER[binding] ?? []) sql.exec(statement);
    return tables();
  });
  return rows.map(({ name }) => name).flatMap((name) => (THEIRS.test(name) ? [] : [`${binding} ${name}`]));
}

it("is stated for every table of every class, and for none that is gone", async () => {
  const found = await Promise.all(CLASSES.map(async (name) => tablesOf(name, namespaceOf(env, name))));
  expect(stated.map(({ name }) => name).toSorted()).toEqual(found.flat().toSorted());
});

it("is a number, or what it is as large as", () => {
  for (const { name, bound } of stated)
    expect([name, bound]).toEqual([name, expect.stringMatching(/\d|one row|as many as|until/)]);
});
