// Owns that some tenant is private before the first test, where one workerd serves several files: then an unknown name is answered
// alike in all of them, whichever ran before.

import { env } from "cloudflare:workers";
import { beforeAll } from "vitest";
import { directoryOf } from "../../../src/tenants/directory/directory.ts";
import { ANYWHERE } from "../../../src/tenants/directory/placement.ts";

beforeAll(async () => {
  const one = await directoryOf(env, "someone-private").add("someone-private", ANYWHERE);
  await directoryOf(env, one.id).mark(one, { isPrivate: true });
});
