// The check of calls that an upstream answers, at `/mcp` in both eras and at `/gateway`: what changes something is sent
// to it at most once, and an answer is the upstream's own.

import { setTimeout as pause } from "node:timers/promises";
import { makeTenant, type Check, type Played, type Scene } from "../jitter/check.ts";
import { client2025, client2026, post, type Json, type Reply } from "../../support/mcp-client.ts";
import { startUpstream, type Upstream } from "../../support/upstream.ts";
import { sized } from "../../support/tier.ts";

const LANES = 3;
const CALLS = sized({ usual: 12, long: 30 });
const WAYS = ["2025", "2026", "gateway"] as const;

async function call(scene: Scene, way: (typeof WAYS)[number], key: string): Promise<Reply> {
  const origin = scene.workers.origin(scene.draws.below(2));
  const url = `${origin}/mcp/${scene.tag}`;
  if (way === "gateway") {
    const params = { name: "spend", arguments: { key } };
    const message = { server_id: "plain", jsonrpc: "2.0", id: key, method: "tools/call", params };
    return post(`${origin}/gateway/${scene.tag}`, message);
  }
  const params = { name: "plain__spend", arguments: { key } };
  const client = way === "2026" ? client2026(url) : await client2025(url);
  return client.request("tools/call", params);
}

async function lane(scene: Scene, at: number): Promise<readonly string[]> {
  const violations: string[] = [];
  for (let nth = 0; nth < CALLS; nth += 1) {
    const way = WAYS[(at + nth) % WAYS.length] ?? "2026";
    const key = `${at}-${nth}`;
    const reply = await call(scene, way, key).catch(() => undefined);
    if (!reply || reply.status >= 500) continue;
    const [content] = (reply.result["content"] ?? []) as { text: string }[];
    const isOurs = reply.error?.code === -32603 || reply.error?.code === -32000;
    if (!isOurs && content?.text !== `spent ${key}`)
      violations.push(`${way} ${key} was answered ${reply.status} ${reply.text}`);
  }
  return violations;
}

/** Until its tool is there. */
async function isRead({ workers, tag }: Scene): Promise<void> {
  const client = client2026(`${workers.origin(0)}/mcp/${tag}`);
  let output = "";
  for (let tries = 0; tries < 200; tries += 1) {
    const { text } = await client.request("tools/call", { name: "plain__spend", arguments: { key: `warm ${tries}` } });
    if (text.includes("spent")) return;
    output = text;
    await pause(50);
  }
  throw new Error(`the upstream is not read: ${output}`);
}

function twice({ requests: heard }: Upstream): readonly string[] {
  const counts = new Map<string, number>();
  for (const { message } of heard) {
    if (message["method"] !== "tools/call") continue;
    const { key } = (message["params"] as Json)["arguments"] as { key: string };
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].filter(([, count]) => count > 1).map(([key, count]) => `${key} was sent ${count} times`);
}

async function play(scene: Scene): Promise<Played> {
  const spend = (params: Json) => {
    const { key } = params["arguments"] as { key: string };
    return { content: [{ type: "text", text: `spent ${key}` }] };
  };
  const upstream = await startUpstream({ spend });
  try {
    await makeTenant(scene, scene.tag, { upstreams: { plain: { url: upstream.url } } });
    await isRead(scene);
    const lanes = Array.from({ length: LANES }, (_none, at) => at);
    const violations = await scene.stormy(() => Promise.all(lanes.map((at) => lane(scene, at))));
    return { operations: LANES * CALLS, violations: [...violations.flat(), ...twice(upstream)] };
  } finally {
    upstream.close();
  }
}

export const upstreams: Check = {
  name: "upstreams",
  claim: "what changes something is sent on at most once, and answered as the upstream did",
  play,
};
