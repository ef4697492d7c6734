// Who may undo whom: a tenant's own administrator against what an operator decided, and every role against every route.

import { operationsOf, pathIn } from "./late-rights.ts";
import { rowOf, type Attack, type Row } from "./report.ts";
import { didIt, toolsOf, type Answer, type Json, type Target } from "./target.ts";

const BRAKE_WITHIN_MS = 12_000;

/** Limits are an operator's to write: a tenant-admin who leaves them out would be refused for that. */
const OWN_LIMITS = { limits: undefined };

export const brakes: Attack = {
  name: "brakes",
  classes: ["who may undo whom", "one object in everybody's way"],
  run: async (target) => [await leases(target), await slowestBrake(target), await block(target)],
};

async function leases(target: Target): Promise<Row> {
  const gaveWay: string[] = [];
  const tenant = await target.tenant(OWN_LIMITS);
  const { token } = await target.operator("tenant-admin", [tenant]);
  const tries: Json[] = [
    { mode: "open", maxStalenessMs: 300_000 },
    { mode: "open", maxStalenessMs: 10_001 },
  ];
  for (const document of tries) {
    const { status } = await target.admin("PUT", `/tenants/${tenant}/document`, document, token);
    if (status < 400) gaveWay.push(`${JSON.stringify(document)} was taken: ${status}`);
  }
  return rowOf(
    "3 a tenant delays every brake",
    `${tries.length} longer leases, written by a tenant-admin`,
    gaveWay,
    "refused each",
  );
}

/** With the longest lease that a tenant's own administrator may write, held by a caller who goes on asking. */
async function slowestBrake(target: Target): Promise<Row> {
  const tenant = await target.tenant(OWN_LIMITS);
  const { token } = await target.operator("tenant-admin", [tenant]);
  await target.must("PUT", `/tenants/${tenant}/document`, { mode: "open", maxStalenessMs: 10_000 }, token);
  await target.call(tenant, "tools/list");
  const answer = await target.admin("POST", `/tenants/${tenant}/suspensions`, { kind: "tenant", note: "stop" });
  const after = await target.call(tenant, "tools/list");
  const gaveWay = [
    ...(answer.status >= 300 ? [`the suspension answered ${answer.status}`] : []),
    ...(answer.ms > BRAKE_WITHIN_MS ? [`acknowledged after ${Math.round(answer.ms)} ms`] : []),
    ...(after.status === 200 ? ["served after the acknowledgement"] : []),
  ];
  return rowOf(
    "3 a tenant delays every brake",
    "suspension under the longest lease that its tenant-admin may write",
    gaveWay,
    `in force after ${Math.round(answer.ms)} ms`,
  );
}

async function block(target: Target): Promise<Row> {
  const tenant = await target.tenant({ maxStalenessMs: 10_000 });
  // One that no other attack needs to run.
  const tool = (await toolsOf(target, tenant)).find(({ name }) => name.endsWith("_delete"));
  if (!tool) throw new Error("no tool to block");
  const began = Date.now();
  const { rollout } = await target.must("POST", `/tools/${tool.name}/block`, { note: "stop" });
  const { state } = await target.must("GET", `/rollouts/${String(rollout)}`);
  const ms = Date.now() - began;
  const call = await target.tool(tenant, tool.name, {});
  await target.must("DELETE", `/tools/${tool.name}/block`);
  const gaveWay = [
    ...(state === "done" ? [] : [`the block is ${String(state)}`]),
    ...(didIt(call) ? ["the tool ran after the block was in force"] : []),
  ];
  return rowOf(
    "3 a tenant delays every brake",
    `platform-wide block of ${tool.name}`,
    gaveWay,
    `in force after ${Math.round(ms)} ms`,
  );
}

export const roles: Attack = {
  name: "roles",
  classes: ["who may undo whom"],
  run: async (target) => [
    await lifting(target),
    await bound(target),
    await keyLimit(target),
    ...(await everyRoute(target)),
  ],
};

async function lifting(target: Target): Promise<Row> {
  const gaveWay: string[] = [];
  const tenant = await target.tenant({ profiles: { p: {} } });
  const { token } = await target.operator("tenant-admin", [tenant]);
  const [tool] = await toolsOf(target, tenant);
  const kinds = { tenant: undefined, profile: "p", principal: "anonymous", tool: tool?.name };
  for (const [kind, name] of Object.entries(kinds)) {
    const named = name === undefined ? {} : { name };
    await target.must("POST", `/tenants/${tenant}/suspensions`, { kind, ...named, note: "by the operator" });
    const path = `/tenants/${tenant}/suspensions/${kind}${name === undefined ? "" : `/${name}`}`;
    await target.admin("POST", `/tenants/${tenant}/suspensions`, { kind, ...named, note: "mine" }, token);
    await target.admin("DELETE", path, undefined, token);
    const left = await target.must("GET", `/tenants/${tenant}/suspensions`);
    const stands = (left.items as { kind: string; note: string }[]).some(
      (one) => one.kind === kind && one.note === "by the operator",
    );
    if (!stands) gaveWay.push(`the suspension of a ${kind} is gone`);
    await target.admin("DELETE", path);
  }
  return rowOf(
    "8 a tenant-admin lifts a suspension",
    "4 kinds, written over and lifted by a tenant-admin",
    gaveWay,
    "all of them stand",
  );
}

async function bound(target: Target): Promise<Row> {
  const gaveWay: string[] = [];
  const base = `attacked-${process.pid.toString(36)}`;
  await target.must("PUT", `/bases/${base}`, {
    bind: ["tools", "limits"],
    tools: { note_write: { enabled: false } },
    limits: { keys: 1 },
  });
  const tenant = await target.tenant({ extends: [base] });
  const { token } = await target.operator("tenant-admin", [tenant]);
  for (const by of [token, undefined]) {
    await target.admin(
      "PUT",
      `/tenants/${tenant}/document?wait=1`,
      {
        extends: [base],
        mode: "open",
        maxStalenessMs: 200,
        tools: { note_write: { enabled: true }, "*": { enabled: true } },
      },
      by,
    );
    if (didIt(await target.tool(tenant, "note_write", { title: "x", text: "x" })))
      gaveWay.push("what a base disables ran");
  }
  const left = await target.admin("PUT", `/tenants/${tenant}/document`, { mode: "open" }, token);
  if (left.status < 400) gaveWay.push("the tenant-admin left the base");
  return rowOf(
    "8 what a base binds",
    "a bound tool enabled again by tenant-admin and operator; the base left",
    gaveWay,
    "the base holds",
  );
}

async function keyLimit(target: Target): Promise<Row> {
  const tenant = await target.tenant({ limits: { keys: 3 }, mode: "key" });
  const { token } = await target.operator("tenant-admin", [tenant]);
  const keys: string[] = [];
  const make = async (path: string, body: Json) => {
    const { status, json } = await target.admin("POST", path, body, token);
    if (status === 201) keys.push(String(json.token));
    return json;
  };
  let last: Json = {};
  for (let at = 0; at < 5; at += 1) {
    const made = await make(`/tenants/${tenant}/keys`, { name: `k${at}` });
    if (made.id !== undefined) last = made;
  }
  for (let at = 0; at < 6; at += 1) {
    const made = await make(`/tenants/${tenant}/keys/${String(last.id)}/rotate`, { overlapSeconds: 2_592_000 });
    if (made.id !== undefined) last = made;
  }
  const alive = await Promise.all(
    keys.map(async (key) => (await target.call(tenant, "tools/list", {}, { key })).status === 200),
  );
  const count = alive.filter(Boolean).length;
  // One that is being replaced counts beside the limit.
  return rowOf(
    "8 key limit passed by rotating",
    "5 keys and 6 rotations with 30 days of overlap, at a limit of 3",
    count > 4 ? [`${count} keys are valid`] : [],
    `${count} keys are valid, one of them being replaced`,
  );
}

async function everyRoute(target: Target): Promise<readonly Row[]> {
  const operations = await operationsOf(target);
  const [own, other] = [await target.tenant(), await target.tenant()];
  const { token: tenantAdmin } = await target.operator("tenant-admin", [own]);
  const { token: auditor } = await target.operator("auditor");
  const { token: key } = await target.key(own);
  const gaveWay: string[] = [];
  let tried = 0;
  const expectRefused = ({ status }: Answer, what: string) => {
    tried += 1;
    if (status < 400 || status >= 500) gaveWay.push(`${what}: ${status}`);
  };
  for (const { method, path } of operations) {
    const at = (id: string) =>
      pathIn(path, { id, kind: "tool" }) + (path.endsWith("/content") ? "?uri=note%3A%2F%2Fx" : "");
    const body = method === "GET" || method === "DELETE" ? undefined : { note: "x", name: "x" };
    const strangers = { "no token": "", "a tenant's key": key, "a made-up token": "tno_0123456789_x" };
    for (const [who, token] of Object.entries(strangers))
      expectRefused(await target.admin(method, at(own), body, token), `${method} ${path} with ${who}`);
    if (path.includes("{id}") && path.startsWith("/tenants/")) {
      expectRefused(
        await target.admin(method, at(other), body, tenantAdmin),
        `${method} ${path} of another's tenant by a tenant-admin`,
      );
    } else if (!(method === "GET" && path === "/tenants")) {
      expectRefused(await target.admin(method, at(own), body, tenantAdmin), `${method} ${path} by a tenant-admin`);
    }
    if (method !== "GET")
      expectRefused(await target.admin(method, at(own), body, auditor), `${method} ${path} by an auditor`);
  }
  return [
    rowOf(
      "8 roles",
      `${operations.length} admin routes by who may not call them (${tried} requests)`,
      gaveWay,
      "4xx each",
    ),
  ];
}
