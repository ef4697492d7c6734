// The entries that are deployed: the Worker as it is, whose answers name their release. `next` has a migration that adds a table to
// every tenant's object. On this machine, where nobody else counts, the entry counts what the bill would.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { OBJECT_CLASSES } from "../../src/tenants/directory/object-classes.ts";
import { RELEASE_HEADER, type Release, type TargetOptions } from "./target.ts";

/** Where a counted entry answers with its counters. */
export const COUNTERS_PATH = "/__verify/counters";

/** Gives the path of the entry. */
export async function writeEntry(
  { folder, worker, next }: TargetOptions,
  release: Release,
  isCounted: boolean,
): Promise<string> {
  const file = join(folder, `${release}.js`);
  const source = JSON.stringify(release === "first" ? worker : next);
  const migrated = release === "next" ? "migrated" : "";
  const classes = OBJECT_CLASSES.map((name) => {
    const wrappers = [isCounted ? "counted" : "", name === "TenantObject" ? migrated : ""].filter(Boolean);
    return `export class ${name} extends ${wrappers.reduce((inner, outer) => `${outer}(${inner})`, `worker.${name}`)} {}`;
  });
  await writeFile(
    file,
    `import * as worker from ${source};
export * from ${source};
const counters = { requests: 0, objectCalls: 0, kvReads: 0, kvWrites: 0 };
${isCounted ? COUNTING : "const countedEnv = (env) => env;"}
const migrated = (Base) => class extends Base {
  constructor(ctx, env) {
    super(ctx, env);
    ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS verified_release (name TEXT)");
  }
};
${classes.join("\n")}
export default {
  ...worker.default,
  async fetch(request, env, ctx) {
    ${isCounted ? `if (new URL(request.url).pathname === "${COUNTERS_PATH}") return Response.json(counters);` : ""}
    counters.requests += 1;
    const response = await worker.default.fetch(request, countedEnv(env), ctx);
    const named = new Response(response.body, response);
    named.headers.set("${RELEASE_HEADER}", "${release}");
    return named;
  },
};
`,
  );
  return file;
}

const COUNTING = `const KV = { get: "kvReads", getWithMetadata: "kvReads", put: "kvWrites" };
const envs = new WeakMap();
function countedEnv(env) {
  if (!envs.has(env)) envs.set(env, { ...env, BODIES: countedNamespace(env.BODIES) });
  return envs.get(env);
}
const countedNamespace = (namespace) => namespace && new Proxy(namespace, {
  get(target, member) {
    const value = target[member];
    if (typeof value !== "function") return value;
    return (...args) => {
      if (KV[member]) counters[KV[member]] += 1;
      return value.apply(target, args);
    };
  },
});
function counted(Base) {
  class Counted extends Base {
    constructor(ctx, env) {
      super(ctx, countedEnv(env));
    }
  }
  for (let shape = Base.prototype; shape && shape !== Object.prototype; shape = Object.getPrototypeOf(shape)) {
    for (const member of Object.getOwnPropertyNames(shape)) {
      const { value } = Object.getOwnPropertyDescriptor(shape, member);
      if (member === "constructor" || typeof value !== "function" || Object.hasOwn(Counted.prototype, member)) continue;
      Counted.prototype[member] = function (...args) {
        counters.objectCalls += 1;
        return value.apply(this, args);
      };
    }
  }
  return Counted;
}`;
