// What is noted of calls: of nobody else's to read, and not to be pushed out by who is over a limit.

import { rowOf, type Attack, type Row } from "./report.ts";
import { REVISIONS, type Json, type Target } from "./target.ts";

const CALLS = 60;
const ALLOWED = 10;
const MADE_UP = 60;
/** More than is recorded of arguments. */
const LONG = 12_000;
/** Of each kind of thing one that nobody gave, in one hour or two. */
const MOST_LINES = 12;
/** Of one tenant and isolate, in a minute or two. */
const MOST_FAULTS = 40;

export const whatIsNoted: Attack = {
  name: "what is noted",
  classes: ["rows that only grow", "a door to the inside", "who may undo whom"],
  run: async (target) => [await flooded(target), await filled(target), await secrets(target), await ofOthers(target)],
};

/** What is refused costs who sends it nothing, so it must not make what was done go. */
async function flooded(target: Target): Promise<Row> {
  const tenant = await target.tenant({ limits: { addressMessages: ALLOWED }, audit: { calls: "digest" } });
  await Promise.all(Array.from({ length: CALLS }, () => target.tool(tenant, "note_list", {})));
  let limited: Json[] = [];
  const timesOf = () => limited.reduce((sum, { times }) => sum + Number(times ?? 1), 0);
  for (let tries = 0; tries < 20 && timesOf() < CALLS - ALLOWED; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 250));
    const { text } = await target.admin("GET", `/tenants/${tenant}/calls`);
    const lines = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Json);
    limited = lines.map(({ entry }) => (entry ?? {}) as Json).filter(({ error }) => error === "limited");
  }
  const seen = `${limited.length} entries for ${timesOf()} refusals`;
  const isHeld = timesOf() > 0 && limited.length < ALLOWED;
  return rowOf("11 record pushed out", `${CALLS} calls, ${ALLOWED} allowed, recorded`, isHeld ? [] : [seen], seen);
}

/** What a caller makes up must not become rows of its own, nor rows as large as they like. */
async function filled(target: Target): Promise<Row> {
  const tenant = await target.tenant({ audit: { calls: "redacted", wait: true } });
  const sent = Array.from({ length: MADE_UP }, (_none, at) => at);
  const long = "x".repeat(LONG);
  await Promise.all(
    sent.map(async (at) => {
      const revision = at % 2 === 0 ? REVISIONS[0] : REVISIONS[1];
      const headers = { "cf-ray": `made-up-${at}`, traceparent: long.slice(0, 1000) };
      await target.tool(tenant, `made_up_${at}`, { [`name_${at}`]: long });
      await target.call(tenant, `made/up/${at}`, { name: long.slice(0, 1000) }, { revision, headers });
      await target.call(
        tenant,
        "resources/read",
        { uri: `made-up://${at}/${long.slice(0, 1000)}` },
        { revision, headers },
      );
      await target.call(tenant, "prompts/get", { name: `made_up_${at}` }, { revision, headers });
    }),
  );
  const linesOf = async (path: string) => {
    const { text } = await target.admin("GET", `/tenants/${tenant}/${path}`);
    return text.split("\n").filter(Boolean);
  };
  let usage: string[] = [];
  for (let tries = 0; tries < 80 && usage.length === 0; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 250));
    usage = await linesOf("usage/calls?open=1");
  }
  const calls = await linesOf("calls");
  const { json } = await target.admin("GET", `/tenants/${tenant}/errors?limit=100`);
  const faults = (json["items"] as Json[] | undefined)?.length ?? Infinity;
  const largest = Math.max(...calls.map(({ length }) => length));
  const gaveWay = [
    ...(usage.length === 0 || usage.length > MOST_LINES ? [`${usage.length} lines of usage`] : []),
    ...(usage.some((line) => line.includes("made")) ? ["usage names what was made up"] : []),
    ...(calls.length === 0 || largest > LONG ? [`an entry of ${largest} characters among ${calls.length}`] : []),
    ...(calls.some((line) => /"name":"made_up/.test(line)) ? ["a record names a tool that there is not"] : []),
    ...(faults > MOST_FAULTS ? [`${faults} errors kept`] : []),
  ];
  const seen = `${usage.length} lines of usage, ${calls.length} entries up to ${largest} characters, ${faults} errors`;
  return rowOf("11 record filled", `${4 * MADE_UP} calls of what was made up, by anybody`, gaveWay, seen);
}

/** `ACME__X__KEY` among the Worker's secrets is of the tenant acme--x. */
async function secrets(target: Target): Promise<Row> {
  const tenant = await target.tenant({ upstreamBounds: { hosts: ["hooks.example.com", "example.com"] } });
  const { token } = await target.operator("tenant-admin", [tenant]);
  const path = `/admin/v1/tenants/${tenant}/document`;
  const { json } = await target.send(path, { headers: { authorization: `Bearer ${token}` } });
  const gaveWay: string[] = [];
  const good = { url: "https://hooks.example.com/", secret: "{{secret:HOOK}}" };
  const tried: Json[] = [
    { ...good, secret: "{{secret:X__KEY}}" },
    { ...good, secret: "in clear" },
    { ...good, url: "https://10.0.0.1/" },
    { ...good, url: "https://169.254.169.254/latest" },
    { ...good, url: "http://example.com/" },
  ];
  const put = async (hook: Json) => {
    const document = { ...json, webhooks: { ops: hook } };
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", "if-match": "*" };
    return target.send(path, { method: "PUT", headers, body: JSON.stringify(document) });
  };
  for (const hook of tried) {
    const { status } = await put(hook);
    if (status < 400 || status >= 500) gaveWay.push(`${JSON.stringify(hook)}: ${status}`);
  }
  const { status, text } = await put(good);
  if (status !== 200) gaveWay.push(`not even a good one: ${status} ${text.slice(0, 200)}`);
  return rowOf("11 webhooks to the inside", `${tried.length} webhooks of a tenant-admin`, gaveWay, "each refused");
}

async function ofOthers(target: Target): Promise<Row> {
  const [own, other] = [await target.tenant(), await target.tenant()];
  const { token } = await target.operator("tenant-admin", [own]);
  const gaveWay: string[] = [];
  const paths = [
    ...["calls", "usage/calls", "errors", "webhooks", "backup"].map((what) => `/tenants/${other}/${what}`),
    "/errors",
    "/errors?requestId=a",
    "/metrics",
    `/tenants/${own}/backup`,
  ];
  for (const path of paths) {
    const { status } = await target.admin("GET", path, undefined, token);
    if (status !== 403 && status !== 404) gaveWay.push(`${path}: ${status}`);
  }
  const forged = { keys: [], suspensions: [], secrets: [] };
  const { status } = await target.admin("PUT", `/tenants/${own}/backup`, forged, token);
  if (status !== 403) gaveWay.push(`a restore by a tenant-admin: ${status}`);
  return rowOf(
    "11 what is noted of others",
    `${paths.length + 1} routes, by another's tenant-admin`,
    gaveWay,
    "each refused",
  );
}
