// `tenantry login` signed in with whatever issuer and client a server named, and sent it the ID token: a server that named those of
// another one had a token that is good there. And a refresh without an ID token ended the sign-in, with wrong advice.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { CommandLine, commandLine, type Around } from "../support/command-line.ts";
import { FakeAdmin } from "../support/fake-admin.ts";
import type { Json } from "../support/mcp-client.ts";
import { startSignInServer, type SignInServer } from "../support/sign-in-server.ts";

interface Server {
  readonly url: string;
  /** What `GET /admin/login` says. */
  client: Json;
  /** The claims of the tokens that it was sent. */
  readonly sent: Json[];
}

let issuer: SignInServer;
let cli: CommandLine;
let file: string;
let real: Server;
let hostile: Server;
/** What the browser showed in the end. */
let shown: Promise<string> | undefined;

beforeEach(async () => {
  const made = await commandLine();
  const second = new FakeAdmin();
  await second.start();
  onTestFinished(() => second.stop());
  issuer = await startSignInServer();
  cli = new CommandLine(made.folder, { HOME: made.folder });
  file = join(made.folder, ".config/tenantry/config.json");
  [real, hostile] = [served(made.admin), served(second)];
  shown = undefined;
});

function served(admin: FakeAdmin): Server {
  const client = { issuer: issuer.server.issuer, clientId: "tenantry-cli", scopes: ["openid", "email"] };
  const server: Server = { url: admin.url, client, sent: [] };
  admin.intercept = ({ url, header }) => {
    if (url === "/admin/login") return { json: server.client };
    const [, payload] = /^Bearer [\w-]+\.([\w-]+)\./.exec(header("authorization") ?? "") ?? [];
    if (payload !== undefined) server.sent.push(JSON.parse(Buffer.from(payload, "base64url").toString()) as Json);
    return { json: { items: [] } };
  };
  return server;
}

function login({ url }: Server, args: readonly string[] = ["--yes"], around: Around = {}) {
  const onStderr = (text: string) => {
    const [page] = /^http:\/\/\S+\/authorize\S+/m.exec(text) ?? [];
    if (page !== undefined) shown = fetch(page).then((answer) => answer.text());
  };
  return cli.run(["login", "--browser", "--url", url, ...args], { onStderr, ...around });
}

test("a server that names issuer and client of another one is sent no token", async () => {
  expect((await login(real)).exit).toBe(0);
  const requestCount = issuer.requests.length;
  const { exit, stderr } = await login(hostile);
  expect([exit, stderr]).toEqual([
    1,
    expect.stringContaining(
      `${hostile.url} names the issuer and client of ${real.url}, which would accept its token, too`,
    ),
  ]);
  expect([hostile.sent, issuer.requests.length]).toEqual([[], requestCount]);
});

test.each([
  ["a slash behind it", (url: string) => `${url}/`],
  ["large letters", (url: string) => url.replace("http:", "HTTP:")],
  ["a dot for a folder", (url: string) => `${url}/.`],
])("so is one that names the issuer with %s", async (_what, spelled) => {
  expect((await login(real)).exit).toBe(0);
  hostile.client = { ...hostile.client, issuer: spelled(issuer.server.issuer) };
  const { exit, stderr } = await login(hostile);
  expect([exit, stderr]).toEqual([1, expect.stringContaining("nothing was sent")]);
  expect(hostile.sent).toEqual([]);
});

test("the first sign-in says server, issuer and client, and asks", async () => {
  const question = `Sign in to ${real.url} with ${issuer.server.issuer} as its client tenantry-cli`;
  const script = await login(real, []);
  expect([script.exit, script.stderr]).toEqual([2, expect.stringContaining(`${question}: add --yes`)]);
  const tty = { tty: true, env: { BROWSER: "true" } };
  const no = await login(real, [], { ...tty, stdin: "\n" });
  expect([no.exit, no.stderr]).toEqual([2, expect.stringContaining(`${question}? [y/N] `)]);
  expect([real.sent, issuer.requests]).toEqual([[], []]);
  expect((await login(real, [], { ...tty, stdin: "y\n" })).exit).toBe(0);
  expect(await shown).toContain(`You are signed in to ${real.url}.`);
  const again = await login(real, []);
  expect([again.exit, again.stderr]).toEqual([0, expect.not.stringContaining("[y/N]")]);
});

test.each([
  ["issuer", { issuer: "https://login.example.com" }],
  ["client", { clientId: "another" }],
])("another %s of a server that is known is refused until somebody logs out", async (_what, other) => {
  expect((await login(real)).exit).toBe(0);
  const requestCount = issuer.server.asked.length;
  real.client = { ...real.client, ...other };
  const { exit, stderr } = await login(real);
  expect([exit, stderr]).toEqual([1, expect.stringContaining(`run tenantry logout --url ${real.url}`)]);
  expect(issuer.server.asked).toHaveLength(requestCount);
});

test("an access token for another audience than the server's is not sent", async () => {
  real.client = { ...real.client, audience: `${real.url}/admin` };
  issuer.claims = { aud: "https://mcp.example.com/admin" };
  const { exit, stderr } = await login(real);
  expect([exit, stderr]).toEqual([4, expect.stringContaining(`gave no access token for ${real.url}/admin`)]);
  expect(real.sent).toEqual([]);
  expect(await shown).toContain(`You are not signed in to ${real.url}`);
});

test("a refresh without an ID token leaves the sign-in what it was, until that ends", async () => {
  issuer.claims = { aud: "somebody-else" };
  issuer.refreshesIdTokens = false;
  expect((await login(real)).exit).toBe(0);
  const list = () => cli.run(["tenant", "list", "--url", real.url]);
  const keep = async (more: Json) => {
    const config = JSON.parse(await readFile(file, "utf8")) as Json & { signIns: Record<string, Json> };
    const signIns = { [real.url]: { ...config.signIns[real.url], ...more } };
    await writeFile(file, JSON.stringify({ ...config, signIns }));
  };
  for (const _ of [1, 2]) {
    await keep({ renews: 0 });
    expect(await list()).toMatchObject({ exit: 0 });
  }
  expect(issuer.goodRefreshTokens()).toBe(1);
  await keep({ renews: 0, expires: 0 });
  const { exit, stderr } = await list();
  expect([exit, stderr]).toEqual([4, expect.stringContaining("gave no ID token: run tenantry login again")]);
});
