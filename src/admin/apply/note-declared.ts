// Owns making a tenant that the author's function declares known to lists, which nobody else could say exists.

import { askedDirectory } from "./asked-directory.ts";
import type { AdminEnv } from "../route.ts";

/** From now on lists have it. */
export async function noteDeclared(env: AdminEnv, id: string): Promise<void> {
  await askedDirectory(env, id).declare(id, true);
}
