// `tenantry listen` before a real Worker: what operators change is printed as it happens. Connections that break are in
// test/cli/commands/listen.test.ts.

import { expect, onTestFinished, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { StdioClient } from "../support/stdio-client.ts";

const origin = fixtureOrigin();
const admin = fixtureAdmin(origin, "watch");
const URI = "lab://notes/watched";

async function watching(id: string, ...args: string[]): Promise<StdioClient> {
  const watch = new StdioClient(["listen", id, "--url", origin, ...args]);
  onTestFinished(async () => void (await watch.interrupt()));
  await watch.untilLogged("Ctrl+C ends it.");
  return watch;
}

test("prints what changes of an open tenant", async () => {
  const id = await admin.tenant();
  const watch = await watching(id, "--tools", "--resource", URI);
  await admin.store(id, URI, "one");
  expect(await watch.line()).toMatch(/^\d\d:\d\d:\d\d {2}lab:\/\/notes\/watched changed$/);
  await admin.apply(id, { tools: { lab_echo: { enabled: false } } });
  expect(await watch.line()).toMatch(/ {2}tools changed$/);
  expect(watch.stderr).toBe(`Watching ${origin}/mcp/${id}; Ctrl+C ends it.\n`);
  expect(await watch.interrupt()).toBe(130);
});

test("watches a private tenant with its key, and says when the key is withdrawn", async () => {
  const id = await admin.tenant({ mode: "key" });
  const key = await admin.key(id);
  const watch = await watching(id, "--prompts", "--key", key.token);
  const messages = [{ role: "user", content: { type: "text", text: "Hello" } }];
  await admin.apply(id, { mode: "key", prompts: { hello: { messages } } });
  expect(await watch.line()).toMatch(/ {2}prompts changed$/);
  await admin.ask("DELETE", `/tenants/${id}/keys/${key.id}`);
  await watch.untilLogged("the key of --key was refused");
  expect((await watch.end()).exit).toBe(4);
});
