// A token that a person got for one endpoint let them in at another deployment of the script, which has no login() and so looked at
// neither its endpoint nor its scopes.

import { afterAll, beforeAll, expect, test } from "vitest";
import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import { beginning, redeem, signIn } from "../support/oauth-client.ts";
import { listAs } from "../support/login-tenant.ts";
import { ERAS } from "../support/mcp-client.ts";
import { bundleWorker, startWorker, type OneWorker } from "../support/start-worker.ts";

let worker: OneWorker;
beforeAll(async () => {
  worker = await startWorker(await bundleWorker("half-login-worker"), { vars: { ADMIN_TOKEN } });
});
afterAll(() => worker.stop());

async function admin(path: string, json: unknown) {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" };
  const answer = await fetch(`${worker.origin}/admin/v1${path}`, {
    method: "POST",
    headers,
    body: JSON.stringify(json),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()) as { readonly token: string };
}

test("it is refused there, and a key is not", async () => {
  const document = { mode: "key+oauth", auth: { login: { via: "key" } } };
  await admin("/tenants", { id: "acme", document });
  const { token: key } = await admin("/tenants/acme/keys", { name: "Ada" });
  const login = await beginning(`${worker.origin}/mcp/acme`);
  const { access_token: token } = await redeem(login, await signIn(login, key));
  for (const { revision } of ERAS) {
    const statusAt = async (mount: string, credential: string) =>
      (await listAs(`${worker.origin}${mount}/mcp/acme`, revision, credential)).status;
    expect([await statusAt("", token), await statusAt("/two", token)]).toEqual([200, 401]);
    expect(await statusAt("/two", key)).toBe(200);
  }
});
