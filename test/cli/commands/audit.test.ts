// `tenantry audit`: who changed what.

import { expect, test } from "vitest";
import { commandLine } from "../../support/command-line.ts";

test("the audit log shows who changed what, from what to what", async () => {
  const { admin, cli } = await commandLine();
  const { audit } = admin.addTenant("acme");
  const entry = { at: "2026-11-21T10:00:00.123Z", actor: "ci", action: "document.write", target: "document" };
  const [before, after] = [
    { mode: "open", title: "T", a: { b: [1] } },
    { mode: "key", title: "T", a: { b: [2] } },
  ];
  audit.push({ ...entry, sequence: 1, before, after });
  audit.push({ ...entry, sequence: 2, action: "key.revoke", target: "key a", before: { name: "a" }, after: null });
  audit.push({ ...entry, sequence: 3, action: "upstream.refresh", target: "upstream a", before: null, after: null });
  const [, ...rows] = (await cli.run(["audit", "acme"])).stdout.trimEnd().split("\n");
  expect(rows).toEqual([
    expect.stringMatching(/^2026-11-21T10:00:00Z +ci +upstream\.refresh +upstream a +-$/),
    expect.stringMatching(/ key\.revoke +key a +was \{"name":"a"\}$/),
    expect.stringMatching(/ document\.write +document +~ mode: "open" → "key", ~ a\.b: \[1\] → \[2\]$/),
  ]);
  expect(await cli.json("audit", "acme", "--limit", "1")).toHaveLength(1);
  const { stderr } = await cli.run(["audit", "acme", "--limit", "1"]);
  expect(stderr).toBe("tenantry: only the newest 1 shown; --limit shows more\n");
  expect((await cli.run(["audit", "acme", "--limit", "3"])).stderr).toBe("");
});

test("the audit log shows times as times, of a tenant and of the whole server", async () => {
  const { admin, cli } = await commandLine();
  const entry = {
    sequence: 1,
    at: "2026-11-25T10:00:00.123Z",
    actor: "root",
    action: "key.rotate",
    target: "key Yk3v0Qp8sD",
    before: { retires: null },
    after: { id: "Zk3v0Qp8sD", retires: Date.parse("2026-12-01T00:00:00.500Z") },
  };
  admin.addTenant("acme").audit.push(entry);
  admin.intercept = ({ url }) =>
    url.startsWith("/admin/v1/audit") ? { json: { items: [{ ...entry, target: "operator ci" }] } } : undefined;
  const { stdout } = await cli.run(["audit", "acme"]);
  expect(stdout).toContain('retires: null → "2026-12-01T00:00:00Z"');
  expect((await cli.run(["audit"])).stdout).toContain("operator ci");
  expect(JSON.parse((await cli.run(["audit", "acme", "--json"])).stdout)).toEqual([entry]);
});
