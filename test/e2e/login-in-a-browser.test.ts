// What somebody sees who opens a URL of a tenant's login in a browser that no client has sent there: a page that says what to
// do next, and the same of a tenant that nobody may know of as of none.

import { expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { authorizeUrl, beginning, REDIRECT } from "../support/oauth-client.ts";
import { startLoginWorker } from "../support/login-tenant.ts";
import { isPage, LoginBrowser, onPage, textOf } from "../support/login-browser.ts";

const worker = await startLoginWorker();
const { origin } = worker;
const admin = fixtureAdmin(origin, "brw");
const person = () => new LoginBrowser(REDIRECT);

const keyLogin = async () => {
  const id = await admin.tenant({ mode: "key+oauth", auth: { login: { via: "key" } } });
  return { id, url: `${origin}/mcp/${id}`, key: (await admin.key(id)).token };
};

test("the issuer itself leads to the page of what was allowed", async () => {
  const { id } = await keyLogin();
  const page = onPage(await person().open(`${origin}/login/${id}`));
  expect([page.status, page.url]).toEqual([200, `${origin}/account/${id}`]);
});

test.each(["", "/authorize", "/callback", "/consent"])(
  "below the issuer, %j is a page for a tenant that is none",
  async (below) => {
    const secret = await admin.tenant({ mode: "key" });
    const pages = [];
    for (const tenant of [secret, "nobody-has-this"]) {
      const { status, text } = onPage(await person().open(`${origin}/login/${tenant}${below}`));
      pages.push([status, textOf(text)]);
      expect(textOf(text)).toContain("This address has no sign-in");
    }
    expect(pages[0]).toEqual(pages[1]);
  },
);

test("the page of what was allowed says of a wrong tenant what to do, and programs have JSON as ever", async () => {
  const url = `${origin}/account/nobody-has-this`;
  const page = onPage(await person().open(url));
  expect([page.status, page.headers.get("www-authenticate")]).toEqual([401, 'Bearer realm="tenantry"']);
  expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  expect(textOf(page.text)).toContain("Compare the address with the one that you were given");
  expect(await (await fetch(url)).json()).toMatchObject({ error: { message: "Authorization required" } });
  const token = await fetch(`${origin}/login/nobody-has-this/token`, {
    method: "POST",
    headers: { accept: "text/html" },
  });
  expect(token.headers.get("content-type")).toBe("application/json");
});

test("the endpoint says in a browser that it is for a client", async () => {
  const { url } = await keyLogin();
  const answerOf = async (accept: string) => {
    const response = await fetch(url, { headers: { accept } });
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toContain("resource_metadata=");
    return response.text();
  };
  expect(await answerOf("text/html,*/*;q=0.8")).toContain(
    "Add the address to a client, which opens a page to sign in.",
  );
  expect(JSON.parse(await answerOf("text/event-stream"))).toMatchObject({
    error: { message: "Authorization required" },
  });
});

test("a person who comes back to a page after the decision is told that it is over, and perhaps done", async () => {
  const { url, key } = await keyLogin();
  const browser = person();
  const signIn = onPage(await browser.open(await authorizeUrl(await beginning(url))));
  const consent = onPage(await browser.press(signIn, "Sign in", { key }));
  expect(isPage(await browser.press(consent, "Allow"))).toBe(false);
  for (const again of [await browser.press(consent, "Allow"), await browser.press(signIn, "Sign in", { key })]) {
    const text = textOf(onPage(again).text);
    expect(text).toContain("This sign-in was not started in this browser, has expired, or is already complete");
    expect(text).toContain("If it is not connected, connect it again");
  }
});
