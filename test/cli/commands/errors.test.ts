// `tenantry errors` and `tenantry metrics`: the error behind an id that a client was told, and what an isolate counted.

import { expect, test } from "vitest";
import { commandLine } from "../../support/command-line.ts";

const FAULT = {
  sequence: 7,
  at: "2026-11-23T10:00:00.000Z",
  requestId: "8f3a2c71",
  tenant: "acme",
  method: "tools/call",
  name: "quote",
  message: "Error: no such table",
  stack: "Error: no such table\n    at quote (worker.js:1:20)\u001b[2J",
};

async function answering(items: readonly object[]) {
  const { admin, cli } = await commandLine();
  const requests: string[] = [];
  admin.intercept = ({ url }) => {
    requests.push(url);
    return { json: { items } };
  };
  return { cli, requests };
}

test("an id that a client was told leads to the error, with its stack, and nothing of it steers the terminal", async () => {
  const { cli, requests } = await answering([FAULT]);
  const { exit, stdout } = await cli.run(["errors", "8f3a2c71"]);
  expect(exit).toBe(0);
  expect(requests.join()).toMatch(/\/admin\/v1\/errors\?.*requestId=8f3a2c71/);
  for (const part of ["acme", "tools/call quote", "no such table", "at quote (worker.js:1:20)"])
    expect(stdout).toContain(part);
  expect(stdout).not.toContain("\u001b");
});

test("--tenant lists the last errors of a tenant", async () => {
  const { cli, requests } = await answering([FAULT]);
  const { stdout } = await cli.run(["errors", "--tenant", "acme"]);
  expect(requests.join()).toContain("/admin/v1/tenants/acme/errors");
  expect(stdout).toMatch(/acme +tools\/call quote +Error: no such table +8f3a2c71/);
});

test.each([{ flags: [] }, { flags: ["--json"] }])(
  "a list that ends at its limit says so where there are more, $flags",
  async ({ flags }) => {
    const { cli } = await answering([FAULT, { ...FAULT, requestId: "older" }]);
    const { stdout, stderr } = await cli.run(["errors", "--limit", "1", ...flags]);
    expect(stderr).toBe("tenantry: only the newest 1 shown; --limit shows more\n");
    expect(stdout).toContain("8f3a2c71");
    expect(stdout).not.toContain("older");
    expect((await cli.run(["errors", "--limit", "2", ...flags])).stderr).toBe("");
  },
);

test("an id that nothing is kept under is said to be none", async () => {
  const { cli } = await answering([]);
  const { exit, stderr } = await cli.run(["errors", "nothing"]);
  expect(exit).toBe(3);
  expect(stderr).toContain("no error is stored with the id nothing");
});

test("logs says how errors that are kept with their tenant are shown, and that there are none", async () => {
  const { cli } = await answering([{ ...FAULT, message: "", stack: "" }]);
  expect((await cli.run(["errors"])).stderr).toContain("tenantry errors REQUEST, or --tenant, shows them");
  const { cli: empty } = await answering([]);
  expect((await empty.run(["errors"])).stderr).toContain("No errors in the last two weeks");
});

test("counters are shown by name", async () => {
  const { admin, cli } = await commandLine();
  const counted = { counts: { requests: 12 }, refusals: { limited: 3 } };
  admin.intercept = () => ({ json: counted });
  expect((await cli.run(["metrics"])).stdout).not.toContain("now:");
  admin.intercept = () => ({ json: { ...counted, levels: { openStreams: 4, backlog: 5 } } });
  const { stdout } = await cli.run(["metrics"]);
  expect(stdout).toMatch(/^now: openStreams +4/m);
  expect(stdout).toMatch(/^now: backlog +5/m);
  expect(stdout).toMatch(/^requests +12/m);
  expect(stdout).toMatch(/^refused: limited +3/m);
});
