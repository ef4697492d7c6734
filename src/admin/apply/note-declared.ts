// Owns making a tenant that the author's function declares known to lists and blocks, which nobody else could say exists.

import { directoryOf } from "../../tenants/directory/directory.ts";
import type { AdminEnv } from "../route.ts";
import { takeBlocks } from "./blocks-everywhere.ts";
import { anyOf } from "./tenant-access.ts";

/** From now on lists and blocks reach it, and what is blocked everywhere is blocked in it. */
export async function noteDeclared(env: AdminEnv, id: string): Promise<void> {
  const directory = directoryOf(env, id);
  if (await directory.declare(id, false)) return;
  const policy = anyOf({ env }, id, null);
  await policy.incarnation(true);
  // A block that comes in now finds the tenant in the directory.
  await takeBlocks(env, policy, { name: "platform" });
  await directory.declare(id, true);
}
