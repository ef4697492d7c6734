// What the page shows on which a person lets a client in, where an author shows tools to some callers alone, and what the client
// then sees: what the predicate says of the person, now and later, within what the person allowed.

import { describe, expect, test } from "vitest";
import { authorizeClient, beginLogin, signInOn } from "../support/authorized-client.ts";
import { bearer, fixtureAdmin } from "../support/fixture-admin.ts";
import { LoginBrowser } from "../support/login-browser.ts";
import { startLoginWorker } from "../support/login-tenant.ts";
import { mcpClient, ERAS, type Json } from "../support/mcp-client.ts";

const { origin } = await startLoginWorker({}, "bounded-worker");
const admin = fixtureAdmin(origin, "seen");
const LOGIN = { mode: "key+oauth", auth: { login: { via: "key" } } };
const GUARDED = /^(?:for_|hidden|up__)/;

async function place() {
  const id = await admin.tenant(LOGIN);
  const { token } = await admin.key(id, { name: "Ada" });
  return { id, token, issuer: `${origin}/login/${id}`, url: `${origin}/mcp/${id}` };
}

test("the page lists what the person will see, and nothing else is named in it", async () => {
  const { issuer, token } = await place();
  const browser = new LoginBrowser();
  const { url } = await beginLogin({ issuer });
  const { text } = await signInOn(browser, await browser.go(url), token);
  const tools = [...text.matchAll(/name="tool" value="([^"]+)"/g)].map(([, name = ""]) => name);
  expect(tools).toContain("count");
  expect(tools.filter((name) => GUARDED.test(name))).toEqual(["for_persons"]);
  expect(text).not.toMatch(/for_gold|up__secret|value="hidden"/);
});

describe.each(ERAS)("a client of era $era that was allowed", ({ revision }) => {
  const seenAs = async (url: string, token: string) => {
    const client = await mcpClient(revision, url, {}, bearer(token));
    const { result } = await client.request("tools/list");
    const names = (result["tools"] as Json[]).map(({ name }) => String(name)).filter((name) => GUARDED.test(name));
    const called = async (name: string) => (await client.request("tools/call", { name })).error?.message ?? "called";
    return { names, called };
  };

  test("sees what the person sees, and their key what keys see", async () => {
    const { issuer, url, token } = await place();
    const { access } = await authorizeClient({ issuer }, token);
    const person = await seenAs(url, access);
    expect(person.names).toEqual(["for_persons"]);
    expect(await person.called("for_persons")).toBe("called");
    expect(await person.called("for_gold")).toBe("Unknown tool: for_gold");
    expect((await seenAs(url, token)).names).toEqual([]);
  });

  test.each([
    ["also what comes later", {}, ["for_persons", "for_gold"]],
    ["nothing that comes later", { tool: ["for_persons"], later: [] }, ["for_persons"]],
    ["not what was unticked", { tool: ["count"], later: "on" }, ["for_gold"]],
  ])("%s sees that when the predicate changes its mind", async (_what, decide, sees) => {
    const { id, issuer, url, token } = await place();
    const { access } = await authorizeClient({ issuer }, token, decide);
    await admin.apply(id, { ...LOGIN, settings: { plan: "gold" } });
    const gold = await seenAs(url, access);
    expect(gold.names).toEqual(sees);
    for (const name of ["for_persons", "for_gold"]) {
      expect(await gold.called(name)).toBe(sees.includes(name) ? "called" : `Unknown tool: ${name}`);
    }
    await admin.apply(id, LOGIN);
    expect((await seenAs(url, access)).names).toEqual(sees.filter((name) => name === "for_persons"));
  });
});
