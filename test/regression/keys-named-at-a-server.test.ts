// The admin API refuses as a key's id what is no id: a name was refused with 422 before the command looked for it.

import { expect, test } from "vitest";
import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import { CommandLine } from "../support/command-line.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";

const origin = fixtureOrigin();
const admin = fixtureAdmin(origin, "named-keys");

test("a key is rotated and revoked by its name, and a name that no key has is not found", async () => {
  const id = await admin.tenant({});
  const cli = new CommandLine("/", { HOME: "/nowhere", TENANTRY_URL: origin, TENANTRY_TOKEN: ADMIN_TOKEN });
  const run = (...args: string[]) => cli.run(["key", ...args]);
  for (const name of ["first", "second"]) expect(await run("create", id, "--name", name)).toMatchObject({ exit: 0 });
  expect(await run("rotate", id, "frist")).toMatchObject({ exit: 3 });
  expect(await run("revoke", id, "frist", "--yes")).toMatchObject({ exit: 3 });
  expect(await run("rotate", id, "first")).toMatchObject({ exit: 0, stdout: expect.stringMatching(/^tnt_/) });
  expect(await run("revoke", id, "second", "--yes")).toMatchObject({ exit: 0 });
});
