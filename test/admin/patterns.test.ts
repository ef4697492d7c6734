// In a Worker with the admin API tenants write patterns, which are looked for by what does not take long over any.

import { expect, it } from "vitest";
import { admin } from "../../src/admin/admin.ts";
import { globMatches } from "../../src/tenants/document/glob.ts";
import { searchGlob } from "../../src/tenants/document/glob-search.ts";

it("patterns are matched by the platform's search once there is the admin API", () => {
  admin();
  expect(globMatches).toBe(searchGlob);
});
