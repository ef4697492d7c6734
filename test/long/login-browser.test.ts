// The pages of a tenant's own authorization server in Chromium: clicked through from a client's request to its tokens, and
// held against what other pages and hasty hands do to them.

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, describe, expect, test } from "vitest";
import { beginLogin, tokensOf } from "../support/authorized-client.ts";
import { startBrowser, type BrowserPage } from "../support/browser.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { listAs, startLoginWorker } from "../support/login-tenant.ts";
import type { Json } from "../support/mcp-client.ts";
import { startIdentityProvider } from "../support/provider-login.ts";

const worker = await startLoginWorker();
const { origin } = worker;
const admin = fixtureAdmin(origin, "browser");
const open = await startBrowser();
const REVISION = "2026-07-28";
const LOOKS = [390, 1280].flatMap((width) => (["light", "dark"] as const).map((scheme) => ({ width, scheme })));

/** `html`: of the page that is at every path of it but those of `answer`. */
async function site(html: string, answer: (url: URL) => string | undefined = () => undefined): Promise<string> {
  const server: Server = createServer((request, response) => {
    const location = answer(new URL(request.url ?? "", "http://localhost"));
    response.writeHead(location === undefined ? 200 : 302, {
      "content-type": "text/html",
      ...(location && { location }),
    });
    response.end(html);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  afterAll(() => server.close());
  return `http://localhost:${(server.address() as AddressInfo).port}`;
}

/** The client's own page, to which its callback leads on from another host: browsers ask the page with the form about both. */
const arrived = await site("<p>arrived</p>");
const callback = await site("", ({ pathname, search }) =>
  pathname === "/callback" ? `${arrived}/in${search}` : undefined,
);
const redirect = `${callback.replace("localhost", "127.0.0.1")}/callback`;
const ARRIVED = new RegExp(`^${arrived}/in\\?`);

async function keyTenant(title = "Acme") {
  const id = await admin.tenant({ mode: "key+oauth", auth: { login: { via: "key" } }, title });
  const urls = { issuer: `${origin}/login/${id}`, account: `${origin}/account/${id}`, url: `${origin}/mcp/${id}` };
  return { id, ...urls, key: await admin.key(id) };
}

/** At its provider this person has a session. */
async function providerTenant(person: string) {
  let issuer = "";
  const provider = await startIdentityProvider(() => issuer);
  const login = { via: "oidc", issuer: provider.issuer, clientId: "us" };
  const id = await admin.tenant({ mode: "oauth", auth: { login } });
  issuer = `${origin}/login/${id}`;
  provider.people[person] = { sub: person };
  provider.atBrowser = person;
  return { issuer, url: `${origin}/mcp/${id}`, key: undefined };
}

async function grantsOf(id: string): Promise<readonly Json[]> {
  return ((await admin.ask("GET", `/tenants/${id}/grants`)) as unknown as { items: Json[] }).items;
}

async function toConsent(page: BrowserPage, url: string, key: string): Promise<void> {
  await page.goto(url);
  await page.fill("#key", key);
  await page.click(".go");
  await page.waitForSelector("[value=allow]");
}

const widthOver = (page: BrowserPage) =>
  page.evaluate<number>("document.documentElement.scrollWidth - document.documentElement.clientWidth");

describe("a person in a browser", () => {
  test("pastes a key, unticks a tool, allows, and is at the client, who leads them on to another host", async () => {
    const { issuer, key, url, id } = await keyTenant();
    const begun = await beginLogin({ issuer, name: "Claude", redirect });
    const page = await open();
    await toConsent(page, begun.url, key.token);
    expect(await page.textContent("h1")).toBe("Allow Claude to use Acme?");
    await page.uncheck("[name=tool][value=whoami]");
    await page.click("[value=allow]");
    await page.waitForURL(ARRIVED);
    const tokens = await tokensOf(issuer, begun, page.url());
    const listed = await listAs(url, REVISION, String(tokens["access_token"]));
    expect([listed.status, listed.text.includes('"whoami_later"'), listed.text.includes('"whoami"')]).toEqual([
      200,
      true,
      false,
    ]);
    expect((await grantsOf(id)).map(({ deny }) => deny)).toEqual([["whoami"]]);
  });

  test("is told of a wrong key on the page, which takes the right one then", async () => {
    const { issuer, key } = await keyTenant();
    const begun = await beginLogin({ issuer, redirect });
    const page = await open();
    await page.goto(begun.url);
    await page.fill("#key", "tnt_not_a_key");
    await page.click(".go");
    await page.waitForSelector("#said");
    expect(await page.textContent("#said")).toContain("not a key");
    await page.fill("#key", key.token);
    await page.click(".go");
    await page.waitForSelector("[value=allow]");
    expect(await page.content()).not.toContain(key.token);
  });

  test("cancels, and the client hears it", async () => {
    const { issuer, key, id } = await keyTenant();
    const page = await open();
    await toConsent(page, (await beginLogin({ issuer, redirect })).url, key.token);
    await page.click("[value=deny]");
    await page.waitForURL(ARRIVED);
    expect(new URL(page.url()).searchParams.get("error")).toBe("access_denied");
    expect(await grantsOf(id)).toEqual([]);
  });

  test("goes back or presses twice, and nothing comes of it but what was allowed", async () => {
    const { issuer, key, url, id } = await keyTenant();
    const begun = await beginLogin({ issuer, redirect });
    const page = await open();
    await toConsent(page, begun.url, key.token);
    await page.click("[value=allow]");
    await page.waitForURL(ARRIVED);
    const { access_token: token } = await tokensOf(issuer, begun, page.url());
    await page.goBack();
    await page.waitForSelector("[role=alert]");
    expect(await page.textContent("h1")).toBe("Nothing left to decide");
    expect(await grantsOf(id)).toHaveLength(1);
    const other = await open();
    const again = await beginLogin({ issuer, redirect });
    await toConsent(other, again.url, key.token);
    await other.dblclick("[value=allow]");
    await other.waitForURL(ARRIVED);
    const tokens = await tokensOf(issuer, again, other.url());
    for (const one of [token, tokens["access_token"]])
      expect((await listAs(url, REVISION, String(one))).status).toBe(200);
  });

  test.each([
    ["a key", undefined],
    ["a provider", "ada"],
  ])("loads each page again, goes back and forward, and restores its tab: %s", async (_way, person) => {
    const { issuer, url, key } = person === undefined ? await keyTenant() : await providerTenant(person);
    const begun = await beginLogin({ issuer, redirect });
    const page = await open();
    await page.goto(begun.url);
    await page.reload();
    if (key !== undefined) {
      await page.fill("#key", "tnt_not_a_key");
      await page.dblclick(".go");
      await page.waitForSelector("#said");
      await page.reload();
      await page.waitForSelector("#said");
      await page.fill("#key", key.token);
      await page.dblclick(".go");
    }
    await page.waitForSelector("[value=allow]");
    await page.reload();
    await page.waitForSelector("[value=allow]");
    await page.goBack();
    await page.goForward();
    await page.waitForSelector("[value=allow]");
    const restored = await page.context().newPage();
    await restored.goto(page.url());
    await restored.dblclick("[value=allow]");
    await restored.waitForURL(ARRIVED);
    const { access_token: token } = await tokensOf(issuer, begun, restored.url());
    expect((await listAs(url, REVISION, String(token))).status).toBe(200);
    await page.reload();
    expect(await page.textContent("h1")).toBe("Nothing left to decide");
  });

  test("presses Enter in a box, or where the page has only just appeared under the pointer, and allows nothing", async () => {
    const { issuer, key, id } = await keyTenant();
    const page = await open();
    await toConsent(page, (await beginLogin({ issuer, redirect })).url, key.token);
    await page.focus("[name=tool]");
    await page.keyboard.press("Enter");
    await page.mouse.move(0, 0);
    const box = await (await page.waitForSelector("[value=allow]")).boundingBox();
    // Somebody else's window was over it a moment ago, and closed under the second half of a double click.
    await page.mouse.click((box?.x ?? 0) + 5, (box?.y ?? 0) + 5);
    expect(page.url()).not.toMatch(ARRIVED);
    expect(await grantsOf(id)).toEqual([]);
    await page.click("[value=allow]");
    await page.waitForURL(ARRIVED);
  });

  test("sees and ends what they allowed", async () => {
    const { issuer, account, key, url, id } = await keyTenant();
    const begun = await beginLogin({ issuer, name: "Claude", redirect });
    const page = await open();
    await toConsent(page, begun.url, key.token);
    await page.click("[value=allow]");
    await page.waitForURL(ARRIVED);
    const { access_token: token } = await tokensOf(issuer, begun, page.url());
    await page.goto(account);
    await page.fill("#key", key.token);
    await page.click(".go");
    await page.click("[name=end]");
    await page.waitForSelector("[role=status]");
    expect(await page.textContent("[role=status]")).toContain("Access has ended");
    expect((await listAs(url, REVISION, String(token))).status).toBe(401);
    expect(await grantsOf(id)).toEqual([]);
    await page.click("[name=out]");
    await page.click("[name=again]");
    await page.waitForSelector("#key");
  });
});

describe("a page of somebody else", () => {
  test("shows none of these pages in a frame", async () => {
    const { issuer, account } = await keyTenant();
    const begun = await beginLogin({ issuer, redirect });
    const page = await open();
    await page.goto(await site([begun.url, account].map((url) => `<iframe src="${url}"></iframe>`).join("")));
    await expect.poll(() => page.frames().length).toBe(3);
    for (const frame of page.frames().slice(1)) {
      await expect.poll(() => frame.url()).toMatch(/^chrome-error:/);
    }
  });

  test("ends nothing by a form of its own, though its visitor is signed in", async () => {
    const { issuer, account, key, id } = await keyTenant();
    const page = await open();
    await toConsent(page, (await beginLogin({ issuer, redirect })).url, key.token);
    await page.click("[value=allow]");
    await page.waitForURL(ARRIVED);
    await page.goto(account);
    await page.fill("#key", key.token);
    await page.click(".go");
    await page.waitForSelector("[name=end]");
    const [grant] = await grantsOf(id);
    const form = `<form method=post action="${account}"><input name=end value="${String(grant?.["id"])}"><button>x</button></form>`;
    await page.goto(await site(form));
    await page.click("button");
    await page.waitForURL(/\/account\//);
    expect(await page.content()).toMatch(/sent from another page|id="key"/);
    expect(await grantsOf(id)).toHaveLength(1);
  });
});

test.each(LOOKS)("nothing is cut or runs at $width px in $scheme, whatever names say", async (look) => {
  const evil = `<script>window.ran=1</script><img src=x onerror=window.ran=1>\u202e${"x".repeat(200)}`;
  const { issuer, account, key } = await keyTenant(evil.slice(0, 120));
  const begun = await beginLogin({ issuer, name: evil, redirect });
  const page = await open(look);
  const looked = async () => [await widthOver(page), await page.evaluate("typeof window.ran"), await styled(page)];
  // The style is the page's own, which its policy lets in by its hash.
  const fine = [0, "undefined", "grid"];
  await page.goto(begun.url);
  await expect.poll(() => page.evaluate("document.activeElement.id")).toBe("key");
  await toConsent(page, begun.url, key.token);
  expect(await looked()).toEqual(fine);
  await page.click("[value=allow]");
  await page.waitForURL(ARRIVED);
  await page.goto(account);
  await page.fill("#key", key.token);
  await page.click(".go");
  await page.waitForSelector("[name=end]");
  expect(await looked()).toEqual(fine);
});

const styled = (page: BrowserPage) => page.evaluate<string>("getComputedStyle(document.querySelector('dl')).display");
