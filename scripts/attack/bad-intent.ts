// What somebody with a key, a token or nothing at all gained once: names of private tenants, a key that outlives its revocation,
// a way inside and an oracle on secrets by webhooks, the platform's object kept busy.

import { createKey } from "../../src/auth/api-key.ts";
import { rowOf, type Attack, type Row } from "./report.ts";
import type { Json, Target } from "./target.ts";

export const badIntent: Attack = {
  name: "bad intent",
  classes: [
    "hidden things that influence visible answers",
    "a name outlives its thing",
    "a door to the inside",
    "who may undo whom",
  ],
  run: async (target) => [
    await preflights(target),
    await rotatedKey(target),
    await webhooks(target),
    await anotherName(target),
    ...(target.lab ? [await ownName(target.lab)] : []),
    await forgedTokens(target),
  ],
};

async function preflights(target: Target): Promise<Row> {
  const upstreams = { up: { url: target.peer.origin, headers: { "x-secret-header": "{{client:x-secret-header}}" } } };
  const tenant = await target.tenant({ mode: "key", upstreams });
  const headers = { origin: "http://localhost:1", "access-control-request-headers": "x-secret-header, x-nobodys" };
  const ask = async (name: string) => {
    const answer = await target.send(`/mcp/${name}`, {
      method: "OPTIONS",
      headers: { ...headers, "access-control-request-method": "POST" },
    });
    return `${answer.status} ${answer.headers.get("access-control-allow-headers") ?? ""}`;
  };
  const [private_, nobodys] = [await ask(tenant), await ask(`${tenant}-nobodys`)];
  const gaveWay = private_ === nobodys ? [] : [`a private tenant answered ${private_}, nobody's ${nobodys}`];
  return rowOf("31 preflights tell of private tenants", "headers that its upstreams map", gaveWay, "the same for both");
}

async function rotatedKey(target: Target): Promise<Row> {
  const tenant = await target.tenant({ mode: "key" });
  const stolen = await target.key(tenant);
  const rotated = await target.admin("POST", `/tenants/${tenant}/keys/self/rotate`, {}, stolen.token);
  await target.must("DELETE", `/tenants/${tenant}/keys/${stolen.id}`);
  const { token } = rotated.json;
  const key = typeof token === "string" ? token : undefined;
  const { status } = await target.call(tenant, "tools/list", {}, { key });
  const gaveWay = rotated.status < 300 && status === 200 ? ["the thief's key was served after the revocation"] : [];
  return rowOf("31 a stolen key outlives its revocation", "a key made by the stolen one", gaveWay, `${status} with it`);
}

async function webhooks(target: Target): Promise<Row> {
  const tenant = await target.tenant({ limits: undefined });
  const { token } = await target.operator("tenant-admin", [tenant]);
  const hook = { url: target.peer.origin, secret: "{{secret:ANY}}" };
  const { status } = await target.admin(
    "PUT",
    `/tenants/${tenant}/document`,
    { mode: "open", maxStalenessMs: 200, webhooks: { x: hook } },
    token,
  );
  const gaveWay = status < 400 ? [`a tenant-admin's webhook was taken: ${status}`] : [];
  return rowOf("31 webhooks lead inside", "a webhook to this machine, by a tenant-admin", gaveWay, `${status}`);
}

/** What operators stopped, made anew under another name by the tenant's administrator. */
async function anotherName(target: Target): Promise<Row> {
  const up = { url: target.peer.origin };
  const bounds = { upstreamBounds: { hosts: ["127.0.0.1"], most: 5 } };
  const document = { mode: "open", maxStalenessMs: 200, ...bounds };
  const tenant = await target.tenant({ ...document, profiles: { inner: {} }, upstreams: { crm: up } });
  const { token } = await target.operator("tenant-admin", [tenant]);
  const { token: operator } = await target.operator("operator");
  const at = `/tenants/${tenant}`;
  const other = { ...document, upstreams: { crm: up }, profiles: { again: {} } };
  const tries: readonly (readonly [stop: readonly [string, Json], method: string, path: string, body: Json])[] = [
    [[`${at}/suspensions`, { kind: "profile", name: "inner", note: "x" }], "PUT", `${at}/document`, other],
    [["/tools/crm__wipe/block", { note: "x" }], "PUT", `${at}/upstreams/crm2`, up],
  ];
  const gaveWay: string[] = [];
  for (const [[stop, about], method, path, body] of tries) {
    await target.must("POST", stop, about, operator);
    const { status } = await target.admin(method, path, body, token);
    if (status !== 403) gaveWay.push(`${method} ${path} after ${stop}: ${status}`);
  }
  await target.must("DELETE", "/tools/crm__wipe/block", undefined, operator);
  const what = "a profile and an upstream's tool that operators stopped";
  return rowOf("31 what is stopped comes back renamed", what, gaveWay, "403 each");
}

/** A name of the Worker's that `HOSTS` lists, where the target was started so. */
export const CONSOLE = "console.attacked.test";

async function ownName(lab: Target): Promise<Row> {
  const tenant = await lab.tenant();
  const { token } = await lab.operator("operator");
  const document = { mode: "open", hostnames: [CONSOLE] };
  const { status } = await lab.admin("PUT", `/tenants/${tenant}/document`, document, token);
  const gaveWay = status < 400 ? [`an operator gave ${CONSOLE} away: ${status}`] : [];
  return rowOf(
    "31 a tenant has the Worker's own name",
    "a hostname that HOSTS lists, by an operator",
    gaveWay,
    `${status}`,
  );
}

const FORGED = 150;

/** Well made: what is no token at all costs no question. */
async function forgedTokens(target: Target): Promise<Row> {
  const { token } = await target.operator("operator");
  const me = () => target.admin("GET", "/tenants?limit=1", undefined, token);
  await me();
  const statuses: number[] = [];
  for (let at = 0; at < FORGED; at += 1) {
    const forged = await createKey("operator");
    statuses.push((await target.admin("GET", "/tenants?limit=1", undefined, forged.token)).status);
  }
  const mine = await me();
  const gaveWay = [
    ...(statuses.includes(429) ? [] : [`${FORGED} were asked about, and none was refused unasked`]),
    ...(mine.status === 200 ? [] : [`an operator who is known was refused: ${mine.status}`]),
  ];
  const limited = statuses.filter((status) => status === 429).length;
  return rowOf(
    "31 forged operators' tokens",
    `${FORGED} tokens from one address`,
    gaveWay,
    `${limited} refused unasked`,
  );
}
