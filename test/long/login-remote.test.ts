// mcp-remote, as a client that only starts programs runs it: it opens a browser at the tenant's login, keeps what it is
// given in its home, and the next start needs no person.

import { beforeAll, expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { installForeign } from "../support/foreign-servers.ts";
import { startLoginWorker } from "../support/login-tenant.ts";
import { remoteAt } from "./mcp-remote.ts";

const INSTALLED_WITHIN_MS = 180_000;
beforeAll(() => installForeign(), INSTALLED_WITHIN_MS);

const { origin } = await startLoginWorker();
const admin = fixtureAdmin(origin, "remote");

test("mcp-remote logs a person in once, and calls as them then and at its next start", async () => {
  const id = await admin.tenant({ mode: "oauth", auth: { login: { via: "key" } } });
  const { token, id: key } = await admin.key(id);
  const remote = remoteAt(`${origin}/mcp/${id}`, token, { args: ["--allow-http"] });
  for (let start = 1; start <= 2; start += 1) {
    const client = await remote.start();
    const { content } = await client.callTool({ name: "whoami", arguments: {} });
    expect(JSON.parse((content as { text: string }[])[0]?.text ?? "")).toMatchObject({ id: `key ${key}` });
    await client.close();
  }
  expect(remote.opened()).toBe(1);
});
