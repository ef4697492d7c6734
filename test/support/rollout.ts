// Waits for a rollout, for tests over HTTP.

import type { Json } from "./mcp-client.ts";

export async function waitForRollout(
  ask: (method: string, path: string) => Promise<Json>,
  version: number,
): Promise<void> {
  while ((await ask("GET", `/rollouts/${version}`))["state"] === "running") {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
