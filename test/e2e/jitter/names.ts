// The check of names: tenants are made twice at once, deleted and made again, and take hostnames from each other. No
// hostname has two owners, none of a document is nobody's, and an id is one tenant's.

import { setTimeout as pause } from "node:timers/promises";
import { unexpected, json, makeTenant, OPEN, type Check, type Played, type Scene } from "./check.ts";
import type { Draws } from "./draws.ts";
import { sendRaw, write } from "../../support/raw-http.ts";
import { sized } from "../../support/tier.ts";

const ACTORS = 5;
const STEPS = sized({ usual: 4, long: 5 });
/** As long as an isolate remembers whose a hostname was. */
const FORGOTTEN_MS = 10_000;

interface Names {
  readonly ids: readonly string[];
  readonly hostnames: readonly string[];
}

const namesOf = (tag: string): Names => ({
  ids: ["a", "b", "c"].map((name) => `${tag}-${name}`),
  hostnames: ["one", "two", "three"].map((name) => `${name}.${tag}.example`),
});

interface Shown {
  readonly created: string;
  readonly state: string;
  readonly effective: { readonly hostnames?: readonly string[] };
}

async function act(scene: Scene, draws: Draws, { ids, hostnames }: Names): Promise<readonly string[]> {
  const { workers } = scene;
  const violations: string[] = [];
  for (let step = 0; step < STEPS; step += 1) {
    const at = draws.below(2);
    const id = draws.pick(ids);
    const path = `/tenants/${id}`;
    const document = { ...OPEN, title: id, hostnames: draws.some(hostnames, 0.4) };
    const kind = draws.unit();
    if (kind < 0.3) {
      const made = await workers.ask(at, "POST", "/tenants", { body: { id, document } });
      violations.push(...unexpected(`POST of ${id}`, made, [201, 409, 404]));
    } else if (kind < 0.85) {
      const { etag } = draws.chance(0.6) ? await workers.ask(at, "GET", `${path}/document`) : { etag: null };
      const asked = { body: document, ...(etag === null ? {} : { ifMatch: etag }) };
      // Two at once with one If-Match: as two operators who have read the same.
      const puts = draws.chance(0.5)
        ? [workers.ask(at, "PUT", `${path}/document`, asked), workers.ask(at + 1, "PUT", `${path}/document`, asked)]
        : [workers.ask(at, "PUT", `${path}/document`, asked)];
      for (const put of await Promise.all(puts))
        violations.push(...unexpected(`PUT of ${id}`, put, [200, 404, 409, 412]));
    } else {
      const gone = await workers.ask(at, "DELETE", path);
      violations.push(...unexpected(`DELETE of ${id}`, gone, [204, 404, 409]));
    }
  }
  return violations;
}

/** Every tenant that there is, as it shows itself; what is being deleted is deleted. */
async function settled({ workers }: Scene, ids: readonly string[]): Promise<ReadonlyMap<string, Shown>> {
  const shown = new Map<string, Shown>();
  for (const id of ids) {
    const answer = await workers.insist("GET", `/tenants/${id}`);
    // What was cut off while it was made is ended by its operator, or made.
    if (answer.status === 404) await workers.insist("DELETE", `/tenants/${id}`);
    if (answer.status === 404) continue;
    const tenant = json(answer) as unknown as Shown;
    if (tenant.state === "deleting") await workers.insist("DELETE", `/tenants/${id}`);
    else shown.set(id, tenant);
  }
  return shown;
}

/** Which tenant answers on a hostname: each says its id for a title. */
async function answersOn({ workers }: Scene, at: number, hostname: string): Promise<string> {
  const { headers, body } = write("2026-07-28", "server/discover", {});
  const reply = await sendRaw(`${workers.origin(at)}/mcp`, {
    headers: { ...headers, host: hostname },
    body: JSON.stringify(body),
  });
  return /"title":"([^"]*)"/.exec(reply.text)?.[1] ?? `${reply.status} ${reply.text.slice(0, 200)}`;
}

interface Judged {
  readonly violations: readonly string[];
  /** What no document names, and may still be held for a write that was cut off. */
  readonly held: readonly string[];
}

async function judge(scene: Scene, { ids, hostnames }: Names, probe: string): Promise<Judged> {
  const { workers } = scene;
  const held: string[] = [];
  const tenants = await settled(scene, ids);
  const violations: string[] = [];
  for (const hostname of hostnames) {
    const owners = [...tenants]
      .filter(([, { effective }]) => effective.hostnames?.includes(hostname))
      .map(([id]) => id);
    if (owners.length > 1) violations.push(`${hostname} is in the documents of ${owners.join(" and ")}`);
    const [owner] = owners;
    const document = { ...OPEN, hostnames: [hostname] };
    const asked = await workers.insist("PUT", `/tenants/${probe}/document?dryRun=1`, { body: document });
    if (owner !== undefined && asked.status !== 409)
      violations.push(`${hostname} of ${owner} is free for another tenant: ${asked.status}`);
    if (owner === undefined) {
      const left = await takes(scene, probe, hostname);
      if (scene.isFaulty && left.length > 0) held.push(hostname);
      else violations.push(...left);
    } else for (const at of [0, 1]) violations.push(...(await isServed(scene, at, { hostname, owner })));
  }
  return { violations, held };
}

/** What no document names, another tenant can have: at the latest when nobody can be about to take it. */
async function takes({ workers }: Scene, probe: string, hostname: string): Promise<readonly string[]> {
  const path = `/tenants/${probe}/document`;
  const { status, text } = await workers.insist("PUT", path, { body: { ...OPEN, hostnames: [hostname] } });
  await workers.insist("PUT", path, { body: OPEN });
  return status === 200 ? [] : [`${hostname}, which no document names, cannot be had: ${status} ${text.slice(0, 300)}`];
}

async function isServed(
  scene: Scene,
  at: number,
  { hostname, owner }: { readonly hostname: string; readonly owner: string },
): Promise<readonly string[]> {
  let output = "";
  for (const until = Date.now() + FORGOTTEN_MS; Date.now() < until; await pause(250)) {
    output = await answersOn(scene, at, hostname);
    if (output === owner) return [];
  }
  return [`on ${hostname} of ${owner} answers ${output}`];
}

async function play(scene: Scene): Promise<Played> {
  const names = namesOf(scene.tag);
  const probe = `${scene.tag}-probe`;
  await makeTenant(scene, probe);
  const acted = await scene.stormy(() =>
    Promise.all(Array.from({ length: ACTORS }, () => act(scene, scene.draws.fork(), names))),
  );
  const { violations, held } = await judge(scene, names, probe);
  const later = async () => (await Promise.all(held.map((hostname) => takes(scene, probe, hostname)))).flat();
  return {
    operations: ACTORS * STEPS,
    violations: [...acted.flat(), ...violations],
    ...(held.length > 0 ? { later } : {}),
  };
}

export const names: Check = {
  name: "names",
  claim: "a hostname has one owner, none that a document names is free, and none that no document names is taken",
  play,
};
