// Signing in by the browser: what it is sent with, what is kept, and what is said where it does not come to an end. The
// browser is a fetch that follows redirects; the authorization server is a real one.

import { spawnSync } from "node:child_process";
import { chmod, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { commandLine, CommandLine, type Around, type Ended } from "../../support/command-line.ts";
import type { FakeAdmin } from "../../support/fake-admin.ts";
import type { Json } from "../../support/mcp-client.ts";
import { startSignInServer, type SignInServer } from "../../support/sign-in-server.ts";

let admin: FakeAdmin;
let cli: CommandLine;
let issuer: SignInServer;
let file: string;
/** What `GET /admin/login` says; undefined: 404. */
let client: Json | undefined;
/** The tokens that the server was sent, as their claims. */
let sent: Json[];
/** What the browser showed in the end. */
let shown: string[];

beforeEach(async () => {
  const made = await commandLine();
  admin = made.admin;
  cli = new CommandLine(made.folder, { HOME: made.folder, TENANTRY_URL: admin.url });
  file = join(made.folder, ".config/tenantry/config.json");
  issuer = await startSignInServer();
  client = { issuer: issuer.server.issuer, clientId: "tenantry-cli", scopes: ["openid", "email"] };
  sent = [];
  shown = [];
  admin.intercept = ({ url, header }) => {
    if (url === "/admin/login") return client === undefined ? { status: 404 } : { json: client };
    const [, payload] = /^Bearer [\w-]+\.([\w-]+)\./.exec(header("authorization") ?? "") ?? [];
    if (payload === undefined) return undefined;
    sent.push(JSON.parse(Buffer.from(payload, "base64url").toString()) as Json);
    return { json: { items: [] } };
  };
});

/** Opens what it is told to, as a person does. */
function person(open = true): Pick<Around, "onStderr"> {
  return {
    onStderr: (text) => {
      const [url] = /^http:\/\/\S+\/authorize\S+/m.exec(text) ?? [];
      if (url === undefined || !open) return;
      void fetch(url).then(async (page) => shown.push(await page.text()));
    },
  };
}

const login = (args: readonly string[] = [], around: Around = {}): Promise<Ended> =>
  cli.run(["login", "--browser", "--yes", ...args], { ...person(), ...around });
const kept = async () => JSON.parse(await readFile(file, "utf8")) as Json & { signIns: Record<string, Json> };

describe("tenantry login", () => {
  test("sends a person to the server's issuer with PKCE, state and nonce, and keeps what came of it", async () => {
    issuer.claims = { email: "alice@example.com" };
    const { exit, stdout, stderr } = await login();
    expect({ exit, stdout }).toEqual({
      exit: 0,
      stdout: `Logged in to ${admin.url} as alice@example.com; stored in ${file}\n`,
    });
    expect(stderr).toContain(`Signing in to ${admin.url} with ${issuer.server.issuer}\n`);
    const [requests, token] = issuer.requests;
    expect(requests?.form).toEqual({
      response_type: "code",
      client_id: "tenantry-cli",
      redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/) as string,
      scope: "openid email",
      code_challenge: expect.stringMatching(/^[\w-]{43}$/) as string,
      code_challenge_method: "S256",
      state: expect.stringMatching(/^[\w-]{43}$/) as string,
      nonce: expect.stringMatching(/^[\w-]{43}$/) as string,
    });
    expect(token?.form).toMatchObject({ grant_type: "authorization_code", client_id: "tenantry-cli" });
    expect(((await stat(file)).mode & 0o777).toString(8)).toBe("600");
    await expect.poll(() => shown.join()).toContain("You are signed in to ");
    expect((await cli.run(["tenant", "list"])).exit).toBe(0);
    expect(sent.map(({ aud, sub }) => [aud, sub])).toEqual([
      ["tenantry-cli", "alice"],
      ["tenantry-cli", "alice"],
    ]);
  });

  test("brings an access token for the audience that the server names, which the issuer is asked for", async () => {
    const audience = `${admin.url}/admin`;
    client = { ...client, audience, scopes: ["operate"] };
    expect((await login()).exit).toBe(0);
    const [asked, token] = issuer.requests.map(({ form }) => form);
    expect([asked?.["resource"], asked?.["nonce"], token?.["resource"]]).toEqual([audience, undefined, audience]);
    expect(sent).toMatchObject([{ aud: audience }]);
  });

  test("sends nobody to an issuer for the token of another server", async () => {
    client = { ...client, audience: "https://mcp.example.com/admin" };
    const { exit, stderr } = await login();
    expect([exit, stderr]).toEqual([
      1,
      `tenantry: ${admin.url} asks for a token for another server, https://mcp.example.com/admin; nothing was sent\n`,
    ]);
    expect(issuer.server.asked).toEqual([]);
  });

  test("begins by itself where a person sits, and asks for a token where the server knows no issuer", async () => {
    const tty = { tty: true, env: { BROWSER: "true" } };
    expect((await cli.run(["login"], { ...person(), ...tty, stdin: "y\n" })).exit).toBe(0);
    client = undefined;
    const { exit, stderr } = await cli.run(["login"], { ...tty, stdin: "fake-owner-token\n" });
    expect([exit, stderr]).toEqual([0, expect.stringContaining(`Token for ${admin.url}: `)]);
    const refused = await login();
    expect([refused.exit, refused.stderr]).toEqual([
      3,
      `tenantry: ${admin.url} has no sign-in in the browser: run tenantry login without --browser, and give a token\n`,
    ]);
  });

  test("comes back to the port that it is told, and says so where that is taken", async () => {
    const { port } = new URL(admin.url);
    const taken = await login(["--port", port]);
    expect([taken.exit, taken.stderr]).toEqual([2, expect.stringContaining(`--port ${port}: listen EADDRINUSE`)]);
    expect((await login(["--port", "x"])).stderr).toContain("a whole number from 0 to 65535");
  });

  test("does not go to an issuer, nor to a server elsewhere, in the clear", async () => {
    client = { ...client, issuer: "http://login.example.com" };
    expect((await login()).stderr).toContain("has http://login.example.com, which is not an https URL");
    const insecure = await cli.run(["login", "--browser", "--yes", "--url", "http://mcp.invalid"]);
    expect(insecure.exit).not.toBe(0);
    expect(issuer.requests).toEqual([]);
  });

  test.each([
    ["nothing", {}],
    ["an issuer alone", { issuer: "https://login.example.com" }],
    ["scopes in one text", { issuer: "https://login.example.com", clientId: "x", scopes: "openid" }],
  ])("says that no tenantry server answers where it says %s of how to sign in", async (_what, said) => {
    client = said;
    const { exit, stderr } = await login();
    expect([exit, stderr]).toEqual([1, expect.stringContaining("does not say how to sign in")]);
  });
});

describe("what a browser brings is refused", () => {
  test.each([
    ["from another issuer", { iss: "https://login.example.com" }, 'unexpected "iss" (issuer) response parameter value'],
    ["without its issuer", { iss: undefined }, '"iss" (issuer) missing'],
    ["with a code that is not good", { code: "x" }, "refused (invalid_grant: the code is not good)"],
    [
      "with a refusal",
      { code: undefined, error: "access_denied" },
      "refused (access_denied): run tenantry login again",
    ],
  ])("%s, with the next step, and nothing is kept", async (_what, brings, why) => {
    issuer.brings = brings;
    const { exit, stderr } = await login();
    expect(exit).not.toBe(0);
    expect(stderr).toMatch(/(?:run tenantry login again|ask its operator)\n$/);
    expect(stderr).toContain(why);
    await expect.poll(() => shown.join()).toContain(`You are not signed in to ${admin.url}: the terminal says why.`);
    await expect(stat(file)).rejects.toThrow("ENOENT");
  });

  test("with another nonce, or for another client", async () => {
    for (const idClaims of [{ nonce: "x" }, { aud: "other-client" }]) {
      issuer.idClaims = idClaims;
      const { exit, stderr } = await login();
      expect([exit, stderr]).toEqual([1, expect.stringContaining("sent an invalid answer")]);
    }
  });

  test("with another state: nobody hears of it, and the right one is still waited for", async () => {
    let others: number[] = [];
    const { exit } = await login([], {
      onStderr: (text) => {
        const [url] = /^http:\/\/\S+\/authorize\S+/m.exec(text) ?? [];
        if (url === undefined) return;
        const back = new URL(url).searchParams.get("redirect_uri") ?? "";
        const wrong = [`${back}?code=x&state=wrong`, `${back}?code=x`, new URL("/", back).href];
        void Promise.all(wrong.map(async (one) => (await fetch(one)).status)).then(async (statuses) => {
          others = statuses;
          return fetch(url);
        });
      },
    });
    expect([exit, others]).toEqual([0, [404, 404, 404]]);
  });
});

test("a person without a role is told so, and nothing is kept", async () => {
  const answered = admin.intercept;
  const title = "A valid token is needed";
  admin.intercept = (asked) =>
    asked.url.startsWith("/admin/v1") ? { status: 401, json: { title, detail: "no role here" } } : answered(asked);
  const { exit, stderr } = await login();
  expect(exit).toBe(4);
  expect(stderr).toContain(`no role here (the token of ${issuer.server.issuer} was refused by `);
  await expect(stat(file)).rejects.toThrow("ENOENT");
});

describe("the browser", () => {
  test("is the program that BROWSER names", async () => {
    const program = join(cli.folder, "browser");
    const opened = join(cli.folder, "opened");
    await writeFile(program, `#!/bin/sh\nprintf %s "$1" > ${opened}\n`);
    await chmod(program, 0o755);
    const ends = new AbortController();
    const done = login([], { onStderr: () => {}, env: { BROWSER: program }, signal: ends.signal });
    await expect.poll(() => readFile(opened, "utf8").catch(() => "")).toContain("/authorize?");
    expect((await fetch(await readFile(opened, "utf8"))).status).toBe(200);
    const { exit, stderr } = await done;
    expect([exit, stderr]).toEqual([0, expect.stringContaining("If no browser opens, open this URL:")]);
  });

  test("is anybody's where none can be opened: the address is printed, and how to come there from elsewhere", async () => {
    const { exit, stderr } = await login([], { env: { SSH_CONNECTION: "x", DISPLAY: ":0" } });
    expect(exit).toBe(0);
    expect(stderr).toContain("Open this URL in a browser on this machine:\n");
    expect(stderr).toMatch(
      /For a browser on another machine, first run there: ssh -L (\d+):127\.0\.0\.1:\1 THIS-MACHINE\n/,
    );
  });

  test("that never comes back is waited for until somebody interrupts", async () => {
    const ends = new AbortController();
    const { exit, stderr } = await login([], {
      signal: ends.signal,
      onStderr: (text) => {
        if (text.includes("/authorize?")) ends.abort();
      },
    });
    expect([exit, stderr]).toEqual([130, expect.stringContaining("interrupted")]);
  });
});

describe("a token that ends", () => {
  /** As if the time had come, with other members of what is kept. */
  async function signedIn(more: Json = { renews: 0 }): Promise<Json> {
    await login();
    const config = await kept();
    const signIn = { ...config.signIns[admin.url], ...more };
    await writeFile(file, JSON.stringify({ ...config, signIns: { [admin.url]: signIn } }));
    return signIn;
  }
  const tokenRequests = () => issuer.requests.filter(({ path }) => path === "/token");

  test("is followed by the next one a minute before, and the refresh token by the next one", async () => {
    const { refreshToken: first, renews, expires } = await signedIn({});
    expect(Number(expires) - Number(renews)).toBe(60_000);
    expect((await cli.run(["tenant", "list"])).exit).toBe(0);
    expect(tokenRequests()).toHaveLength(1);
    const { refreshToken: second } = await signedIn();
    expect(second).not.toBe(first);
    expect((await cli.run(["tenant", "list"])).exit).toBe(0);
    expect(((await stat(file)).mode & 0o777).toString(8)).toBe("600");
    expect((await cli.run(["tenant", "list"])).exit).toBe(0);
    expect(tokenRequests()).toHaveLength(3);
    expect(tokenRequests().at(-1)?.form).toMatchObject({ grant_type: "refresh_token", refresh_token: second });
    expect((await kept()).signIns[admin.url]?.["refreshToken"]).not.toBe(second);
  });

  test("that lives for less than two minutes is not renewed for every request", async () => {
    issuer.lives = 60;
    await signedIn({});
    expect((await cli.run(["tenant", "list"])).exit).toBe(0);
    expect(tokenRequests()).toHaveLength(1);
  });

  test("is renewed once for all commands that run at the same time", async () => {
    await signedIn();
    const ended = await Promise.all(Array.from({ length: 20 }, () => cli.run(["tenant", "list"])));
    expect(ended.map(({ exit }) => exit)).toEqual(Array.from(ended, () => 0));
    expect(tokenRequests()).toHaveLength(2);
    expect(issuer.goodRefreshTokens()).toBe(1);
  });

  test("goes on to its end where the issuer gives no other, and then says how to sign in again", async () => {
    issuer.givesRefreshTokens = false;
    expect((await login()).stdout).toMatch(/ as alice, until \d{4}-\d\d-\d\dT/);
    await signedIn();
    expect((await cli.run(["tenant", "list"])).exit).toBe(0);
    await signedIn({ renews: 0, expires: Date.now() - 1 });
    const { exit, stderr } = await cli.run(["tenant", "list"]);
    expect([exit, stderr]).toEqual([
      4,
      `tenantry: the sign-in to ${admin.url} has ended: run tenantry login --url ${admin.url}\n`,
    ]);
  });

  test("whose refresh token was ended at the issuer says how to sign in again", async () => {
    await signedIn({ renews: 0, refreshToken: "ended" });
    const { exit, stderr } = await cli.run(["tenant", "list"]);
    expect([exit, stderr]).toEqual([
      4,
      `tenantry: ${issuer.server.issuer} refused (invalid_grant): run tenantry login again\n`,
    ]);
  });

  test("that is still good is used while the issuer is away", async () => {
    await signedIn();
    issuer.server.isAway = true;
    expect((await cli.run(["tenant", "list"])).exit).toBe(0);
  });
});

describe("tenantry logout", () => {
  test("forgets the tokens, and ends the sign-in at its issuer", async () => {
    await login();
    expect((await cli.run(["logout"])).stdout).toBe(`The token of ${admin.url} is deleted\n`);
    expect(issuer.goodRefreshTokens()).toBe(0);
    expect(await readFile(file, "utf8")).not.toMatch(/eyJ|refreshToken/);
    expect((await cli.run(["tenant", "list"])).exit).toBe(4);
  });

  test("forgets them though the issuer cannot be told, and says so", async () => {
    await login();
    issuer.server.isAway = true;
    const { exit, stderr } = await cli.run(["logout"]);
    expect([exit, stderr]).toEqual([
      0,
      expect.stringContaining(`the sign-in at ${issuer.server.issuer} was not ended: `),
    ]);
    expect(await readFile(file, "utf8")).not.toMatch(/eyJ|refreshToken/);
  });
});

test("a token that is given takes the place of a sign-in, with all that was kept of it", async () => {
  await login();
  expect((await cli.run(["login", "--token", "fake-owner-token"])).exit).toBe(0);
  const { tokens, signIns } = await kept();
  expect([tokens, signIns]).toEqual([{ [admin.url]: "fake-owner-token" }, {}]);
});

test("a lock that somebody left behind is no obstacle", async () => {
  await login();
  const ended = spawnSync(process.execPath, ["-e", ""]).pid;
  await writeFile(`${file}.lock`, JSON.stringify({ pid: ended, began: "" }));
  expect((await cli.run(["logout"])).exit).toBe(0);
  await login();
  await writeFile(`${file}.lock`, "");
  const before = new Date(Date.now() - 181_000);
  await utimes(`${file}.lock`, before, before);
  expect((await cli.run(["logout"])).exit).toBe(0);
  await expect(stat(`${file}.lock`)).rejects.toThrow("ENOENT");
});
