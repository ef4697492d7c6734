// Owns bringing to tenants what is blocked in every tenant: the platform's object decides, and theirs follow. Refuses to leave
// them with what was decided otherwise meanwhile: whoever told them looks again afterwards.

import type { Actor } from "../../tenants/authority/policy-records.ts";
import type { PolicyMethods } from "../../tenants/authority/policy-tables.ts";
import { remote, type Remote } from "../../tenants/authority/tables.ts";
import { baseTables, type BlockRecord } from "../platform/base-tables.ts";
import { platformOf, type PlatformEnv } from "../platform/platform-object.ts";

/**
 * Tells what is blocked, of this tool or of all, until that is what holds. Whoever decides otherwise writes it at the
 * platform before they tell anybody, so either they are later than this, or this sees it.
 */
export async function settled<T>(
  env: PlatformEnv,
  tool: string | null,
  tell: (blocks: readonly BlockRecord[]) => Promise<T>,
): Promise<T> {
  const read = async () =>
    (await remote(platformOf(env), baseTables).blocks()).filter(({ name }) => tool === null || name === tool);
  for (let blocks = await read(); ;) {
    const told = await tell(blocks);
    const now = await read();
    if (JSON.stringify(now) === JSON.stringify(blocks)) return told;
    blocks = now;
  }
}

/** What is blocked everywhere is blocked in this tenant, which the directory has already. */
export async function takeBlocks(env: PlatformEnv, policy: Remote<PolicyMethods>, actor: Actor): Promise<void> {
  const told = new Set<string>();
  await settled(env, null, async (blocks) => {
    for (const name of told) if (!blocks.some((block) => block.name === name)) await policy.unblockTool(name, actor);
    for (const { name, note } of blocks) {
      told.add(name);
      await policy.blockTool(name, note, actor);
    }
  });
}
