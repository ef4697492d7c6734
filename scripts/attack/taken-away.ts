// What was taken away is not there any more as soon as that is acknowledged, in whatever way it was taken; and what
// belonged to a deleted tenant does not reach the next one of its name.

import { setTimeout as pause } from "node:timers/promises";
import { rowOf, type Attack, type Row } from "./report.ts";
import { argumentsFor, REVISIONS, toolsOf, type Json, type Revision, type Target } from "./target.ts";

export const takenAway: Attack = {
  name: "taken away",
  classes: ["a rule with an exception for comfort"],
  run: async (target) => [await denied(target), await prompts(target)],
};

/** Ways to take a tool away, by what the document says afterwards. */
const WAYS: Readonly<Record<string, (tool: string) => Json>> = {
  "disabled by name": (tool) => ({ tools: { [tool]: { enabled: false } } }),
  "disabled by pattern": () => ({ tools: { "*": { enabled: false } } }),
  "denied in the profile": (tool) => ({ profiles: { p: { tools: { deny: [tool] } } } }),
  "not allowed in the profile": () => ({ profiles: { p: { tools: { allow: ["nothing*"] } } } }),
  "out of the key's scope": () => ({ scopes: { s: { tools: ["nothing*"] } } }),
};

async function denied(target: Target): Promise<Row> {
  const gaveWay: string[] = [];
  let tried = 0;
  const before = {
    mode: "key",
    maxStalenessMs: 200,
    deprecatedNameDays: 30,
    profiles: { p: {} },
    scopes: { s: { tools: ["*"], resources: ["*"] } },
  };
  for (const [way, document] of Object.entries(WAYS)) {
    const tenant = await target.tenant(before);
    const { token: key } = await target.key(tenant, { scopes: ["s"] });
    const options = { profile: "p", key };
    const tools = await toolsOf(target, tenant, options);
    for (const tool of tools) {
      await target.tool(tenant, tool.name, argumentsFor(tool), options);
      await target.must("PUT", `/tenants/${tenant}/document?wait=1`, { ...before, ...document(tool.name) });
      const call = (revision: Revision) => target.tool(tenant, tool.name, argumentsFor(tool), { ...options, revision });
      const ran = (await Promise.all(REVISIONS.map(call))).filter(({ text }) => wasRun(text)).length;
      tried += REVISIONS.length;
      if (ran > 0) gaveWay.push(`${tool.name}, ${way}: still runs in ${ran} of ${REVISIONS.length} revisions`);
      await target.must("PUT", `/tenants/${tenant}/document?wait=1`, before);
    }
  }
  return rowOf(
    "7 denied is not denied",
    `${tried} calls of tools right after they were ${Object.keys(WAYS).join(", ")}`,
    gaveWay,
    "none ran",
  );
}

/** A tool that is not there answers with an error of the protocol; one that ran has a result, be it an error of its own. */
function wasRun(text: string): boolean {
  return text.includes('"result"') && !/unknown tool|no tool/i.test(text);
}

async function prompts(target: Target): Promise<Row> {
  const gaveWay: string[] = [];
  const tenant = await target.tenant({ deprecatedNameDays: 30 });
  const prompt = { messages: [{ role: "user", content: { type: "text", text: "taken" } }] };
  await target.must("PUT", `/tenants/${tenant}/prompts/taken?wait=1`, prompt);
  const { status } = await target.call(tenant, "prompts/get", { name: "taken" });
  if (status !== 200) gaveWay.push(`the prompt could not be had before: ${status}`);
  await target.admin("DELETE", `/tenants/${tenant}/prompts/taken?wait=1`);
  for (const revision of REVISIONS) {
    const { json } = await target.call(tenant, "prompts/get", { name: "taken" }, { revision });
    if (json.result !== undefined) gaveWay.push(`a deleted prompt is served (${revision})`);
  }
  return rowOf("7 denied is not denied", "a deleted prompt, in both eras", gaveWay, "gone");
}

export const recreated: Attack = {
  name: "deleted and made again",
  classes: ["a name outlives its thing"],
  run: async (target) => [await recreation(target)],
};

const ROUNDS = 5;

/** Requests to the tenant of a name, held back until that was deleted and another made under the same name. */
async function recreation(target: Target): Promise<Row> {
  const gaveWay: string[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const document = { mode: "open", maxStalenessMs: 200 };
    const tenant = await target.tenant(document);
    const token = { authorization: `Bearer ${target.adminToken}` };
    const json = { ...token, "content-type": "application/json" };
    const admin = `/admin/v1/tenants/${tenant}`;
    const held = {
      "a half-sent key request": target.slow("POST", `${admin}/keys`, json, '{"name": "of the old one"}'),
      "a held-back tool call": target.slowCall(tenant, "tools/call", {
        name: "note_write",
        arguments: { id: "of-the-old-one", title: "x", text: "x" },
      }),
      "a held-back document": target.slow(
        "PUT",
        `${admin}/document`,
        json,
        '{"mode": "open", "title": "of the old one"}',
      ),
      "a half-sent upload": target.slow(
        "PUT",
        `${admin}/resources/content?uri=note%3A%2F%2Fof-the-old-upload`,
        { ...token, "content-type": "text/plain" },
        "of the old one ".repeat(100),
      ),
      "a half-sent secret": target.slow("PUT", `${admin}/secrets/of_the_old`, json, '{"value": "of the old one"}'),
    };
    await pause(200);
    await target.must("DELETE", `/tenants/${tenant}`);
    await target.must("POST", "/tenants", { id: tenant, document: { ...document, mode: "key" } });
    for (const [what, slow] of Object.entries(held)) {
      const { status } = await slow.finish().catch(() => ({ status: 0 }));
      if (status >= 200 && status < 300 && what !== "a held-back tool call") gaveWay.push(`${what}: ${status}`);
    }
    const keys = (await target.must("GET", `/tenants/${tenant}/keys`)).items as unknown[];
    const resources = (await target.must("GET", `/tenants/${tenant}/resources`)).items as unknown[];
    const { effective } = (await target.must("GET", `/tenants/${tenant}`)) as { effective?: { mode?: string } };
    if (keys.length > 0) gaveWay.push("a key of the old one is in the new one");
    if (JSON.stringify(resources).includes("of-the-old")) gaveWay.push("a resource of the old one is in the new one");
    if (effective?.mode !== "key") gaveWay.push(`the new one's mode became ${String(effective?.mode)}`);
    await target.admin("DELETE", `/tenants/${tenant}`);
  }
  const what = `${ROUNDS} rounds of key, call, document, upload and secret, begun before, finished after`;
  return rowOf(
    "12 a deleted tenant reaches the new one",
    what,
    [...new Set(gaveWay)],
    "nothing of the old one in the new",
  );
}
