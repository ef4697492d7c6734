// `tenantry suspend --principal` took a key's id, and `tenantry grant list --principal` found nothing by it.

import { expect, test } from "vitest";
import { commandLine } from "../support/command-line.ts";

const ID = "Yk3v0Qp8sD";

test.each([
  { typed: ID, sent: `key ${ID}` },
  { typed: `key ${ID}`, sent: `key ${ID}` },
  { typed: "oauth https://login.example ada", sent: "oauth https://login.example ada" },
  { typed: "anonymous", sent: "anonymous" },
])("--principal $typed means the same to grant list, suspend and resume", async ({ typed, sent }) => {
  const { admin, cli } = await commandLine();
  const tenant = admin.addTenant("acme");
  await cli.run(["grant", "list", "acme", "--principal", typed]);
  const [, query = ""] = admin.requests.at(-1)?.split("?") ?? [];
  expect(new URLSearchParams(query).get("principal")).toBe(sent);
  await cli.run(["suspend", "acme", "--principal", typed, "--note", "Left"]);
  expect([...tenant.suspensions.keys()]).toEqual([`principal ${sent}`]);
  expect((await cli.run(["resume", "acme", "--principal", typed])).exit).toBe(0);
  expect(tenant.suspensions.size).toBe(0);
});

test("help says the same of it everywhere", async () => {
  const { cli } = await commandLine();
  for (const words of [["grant", "list"], ["suspend"], ["resume"]]) {
    const { stdout } = await cli.run(["help", ...words], { columns: 300 });
    expect(stdout).toContain(`this caller: a key's id, "oauth ISSUER SUBJECT", "app ID" or "worker NAME"`);
  }
});
