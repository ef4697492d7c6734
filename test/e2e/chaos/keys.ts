// The check of keys: a good one is never refused, and a revoked one is from the moment that its end is acknowledged.

import { makeTenant, json, type Check, type Played, type Scene } from "../jitter/check.ts";
import { isUnknown } from "../jitter/unreliable-workers.ts";
import { client2026, post } from "../../support/mcp-client.ts";
import { sized } from "../../support/tier.ts";

const LANES = 3;
const KEYS = sized({ usual: 4, long: 10 });

/** The status of a call with this key, in this era. */
async function ask({ workers, tag }: Scene, token: string, at: number): Promise<number> {
  const url = `${workers.origin(at)}/mcp/${tag}`;
  const bearer = { authorization: `Bearer ${token}` };
  const params = { name: "lab_echo", arguments: {} };
  try {
    if (at % 4 < 2) return (await client2026(url, {}, {}, bearer).request("tools/call", params)).status;
    return (await post(url, { jsonrpc: "2.0", id: at, method: "tools/call", params }, { headers: bearer })).status;
  } catch {
    return 0;
  }
}

async function lane(scene: Scene): Promise<readonly string[]> {
  const { workers, tag } = scene;
  const draws = scene.draws.fork();
  const violations: string[] = [];
  for (let at = 0; at < KEYS; at += 1) {
    const made = await workers.ask(draws.below(2), "POST", `/tenants/${tag}/keys`, { body: { name: "short-lived" } });
    if (isUnknown(made)) continue;
    const { id, token } = json(made) as { id: string; token: string };
    for (let use = 0; use < 4; use += 1) {
      const status = await ask(scene, token, draws.below(4));
      if (status === 401 || status === 403) violations.push(`a good key was answered ${status}`);
    }
    const ended = await workers.ask(draws.below(2), "DELETE", `/tenants/${tag}/keys/${id}`);
    if (isUnknown(ended)) continue;
    const after = await Promise.all([0, 1, 2, 3].map((use) => ask(scene, token, use)));
    if (after.includes(200)) violations.push(`a revoked key was answered ${after.join()}`);
  }
  return violations;
}

async function play(scene: Scene): Promise<Played> {
  await makeTenant(scene, scene.tag, { mode: "key" });
  const lanes = Array.from({ length: LANES }, () => scene);
  const violations = await scene.stormy(() => Promise.all(lanes.map(lane)));
  return { operations: LANES * KEYS * 10, violations: violations.flat() };
}

export const keys: Check = {
  name: "keys",
  claim: "a good key is never refused, a revoked one always",
  play,
};
