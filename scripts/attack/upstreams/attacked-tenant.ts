// The ground of attacks by an upstream: a tenant with the hostile one between two that work, which is read before the
// attack begins, and how anybody asks it at both endpoints.

import { didIt, textOf, written, type Answer, type CallOptions, type Json, type Target } from "../target.ts";
import { OK, textResult, type HostileUpstreams } from "./hostile-upstream.ts";

/** What a caller of the neighbours may wait on a loud machine. */
const MOST_MS = 10_000;

const MOST_READINGS = 10;

/** What every tenant here knows under `{{secret:ATTACKED}}`; it never comes back to anybody. */
export const SECRET = "hunter+zebra/7&lock";

/** A tenant whose upstreams are `left`, `right` and, between them, `up`. */
export async function tenantWith(
  target: Target,
  hostile: HostileUpstreams,
  up: Json,
  document: Json = {},
): Promise<string> {
  const id = await target.tenant(document);
  await target.must("PUT", `/tenants/${id}/secrets/ATTACKED?wait=1`, { value: SECRET });
  const beside = (words: string) => ({
    url: hostile.at({ "tools/list": () => ({ tools: [OK] }), "tools/call": () => textResult(words) }),
    timeoutMs: MOST_MS,
  });
  const upstreams = { left: beside("left"), up: { timeoutMs: MOST_MS, ...up }, right: beside("right") };
  const { json } = await target.admin("GET", `/tenants/${id}`);
  await target.must("PUT", `/tenants/${id}/document?wait=1`, { ...(json.own as Json), upstreams });
  const readings = ["left", "right"].map((name) => readWell(target, id, name));
  await Promise.all([...readings, target.admin("POST", `${pathOf(id, "up")}/refresh?wait=1`)]);
  return id;
}

/** One that works, until it is read: where everything is busy, it may be late the first time. */
export async function readWell(target: Target, tenant: string, upstream: string): Promise<void> {
  for (let times = 0; times < MOST_READINGS; times += 1) {
    const { json } = await target.admin("POST", `${pathOf(tenant, upstream)}/refresh?wait=1`);
    if (json.read === true) return;
  }
  throw new Error(`${upstream} was read ${MOST_READINGS} times, and never well`);
}

export const pathOf = (tenant: string, upstream: string) => `/tenants/${tenant}/upstreams/${upstream}`;

/** What is wrong with the two beside the hostile one; nothing where both are listed, and answer in time. */
export async function neighbourFaults(target: Target, tenant: string, options: CallOptions = {}): Promise<string[]> {
  const faults: string[] = [];
  for (const side of ["left", "right"]) {
    const answer = await target.tool(tenant, `${side}__ok`, {}, options);
    if (!didIt(answer) || textOf(answer) !== side) faults.push(`${side} answered ${answer.text.slice(0, 120)}`);
    if (answer.ms > MOST_MS) faults.push(`${side} answered after ${Math.round(answer.ms)} ms`);
  }
  const listed = await target.call(tenant, "tools/list", {}, options);
  if (!listed.text.includes('"left__ok"') || listed.ms > MOST_MS) faults.push("the list lacks the others, or is late");
  return faults;
}

/** Some at a time: the attacker has one thread, and must not be the one that is late. */
export async function inWaves<T>(tries: readonly T[], attempt: (one: T) => Promise<void>): Promise<void> {
  const left = [...tries];
  const lanes = Array.from({ length: 5 }, async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await attempt(next);
  });
  await Promise.all(lanes);
}

export type Message = readonly [method: string, params: Json];

export interface EnvelopeOptions extends CallOptions {
  /** In place of a text, to see what is made of it; undefined: it is left out. */
  readonly server?: unknown;
}

/** The same at /gateway, where a message names its upstream. */
export function sendEnvelope(
  target: Target,
  tenant: string,
  message: Message,
  options: EnvelopeOptions = {},
): Promise<Answer> {
  const { path, headers, body } = writeEnvelope(tenant, message, options);
  return target.send(path, { method: "POST", headers, body });
}

export function writeEnvelope(tenant: string, [method, params]: Message, options: EnvelopeOptions) {
  const { server, profile, ...others } = options;
  const { headers, body } = written(method, params, others);
  const whole = { ...(JSON.parse(body) as Json), ...(server === undefined ? {} : { server_id: server }) };
  const path = `/gateway/${tenant}${profile === undefined ? "" : `/${profile}`}`;
  return { path, headers, body: JSON.stringify(whole) };
}

/** The names that a list has, over all its pages. */
export async function namesOf(target: Target, tenant: string, kind = "tools", options: CallOptions = {}) {
  const names: string[] = [];
  let cursor: unknown;
  for (let page = 0; page < 100; page += 1) {
    const { json } = await target.call(tenant, `${kind}/list`, cursor === undefined ? {} : { cursor }, options);
    const result = (json.result ?? {}) as Json;
    names.push(...((result[kind] ?? []) as Json[]).map(({ name, uri }) => String(kind === "resources" ? uri : name)));
    cursor = result.nextCursor;
    if (cursor === undefined) break;
  }
  return names;
}
