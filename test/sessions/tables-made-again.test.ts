import { runInDurableObject } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { expect, it } from "vitest";
import { UPSTREAM_MIGRATIONS } from "../../src/gateway/sessions/upstream-object.ts";
import { SESSION_MIGRATIONS } from "../../src/sessions/session-object.ts";

interface Methods {
  setLogLevel(level: string, expires: number): Promise<unknown>;
  claim(request: object): Promise<unknown>;
}

const namespaces = exports as unknown as Record<string, DurableObjectNamespace>;
const claim = { key: "k", owner: "o", callMs: 1, meant: {}, name: "n" };

it.each([
  ["SessionObject", SESSION_MIGRATIONS, (object: Methods) => object.setLogLevel("debug", Date.now() + 60_000)],
  ["UpstreamObject", UPSTREAM_MIGRATIONS, (object: Methods) => object.claim(claim)],
] as const)("%s can be used after its last table could not be made at first", async (name, migrations, use) => {
  const stub = namespaces[name]?.getByName(crypto.randomUUID());
  if (!stub) throw new Error(`no namespace of ${name}`);
  const statements = migrations as string[];
  const last = statements.pop() ?? "";
  statements.push("CREATE TABLE IF NOT (broken");
  const attempt = () =>
    runInDurableObject(stub, async (object) => use(object as unknown as Methods).then(() => "used", String));
  expect(await attempt()).toContain("syntax error");
  statements.splice(-1, 1, last);
  expect(await attempt()).toBe("used");
});
