// A document with names that do not exist was accepted once 100 of its patterns matched nothing: warnings and refusals were
// counted together, and the rest was not judged.

import { expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";

const admin = fixtureAdmin(fixtureOrigin(), "behind-patterns");

const each = <T>(count: number, make: (at: number) => T) =>
  Object.fromEntries(Array.from({ length: count }, (_none, at) => [`p${at}`, make(at)]));
const unmatched = (count: number) => each(count, (at) => ({ tools: { allow: [`x${at}*`] } }));

test.each([99, 101, 400])(
  "a name that does not exist is refused behind %i patterns that match nothing",
  async (count) => {
    const document = { mode: "open", profiles: unmatched(count), scopes: { s: { tools: ["no_such_tool"] } } };
    const made = { id: "behind-patterns-made", document };
    await expect(admin.ask("POST", "/tenants?dryRun=1", made)).rejects.toThrow(
      /: 422 .*"scopes\.s\.tools\.0".*there is no tool of this name/,
    );
  },
);

test("a hundred patterns that match nothing are warned of, and not more", async () => {
  const document = { mode: "open", profiles: unmatched(150) };
  const { warnings } = await admin.ask("PUT", `/tenants/${await admin.tenant()}/document?dryRun=1`, document);
  expect(warnings).toHaveLength(100);
});
