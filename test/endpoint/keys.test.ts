import { beforeAll, describe, expect, test, vi } from "vitest";
import { comparableHeaders } from "../support/comparable-headers.ts";
import { tamper } from "../support/tamper.ts";
import { bearer, fixtureAdmin, type MadeKey } from "../support/fixture-admin.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { mcpClient, ERAS, type Json } from "../support/mcp-client.ts";
import { sendRaw, write, type RawReply } from "../support/raw-http.ts";
import { expectRefusal } from "../support/refusal.ts";

const origin = fixtureOrigin();
const admin = fixtureAdmin(origin, "keys");
const CHALLENGE = 'Bearer realm="tenantry"';
const WRONG = "Invalid credential: the API key is mistyped, expired, revoked, or for another endpoint";
const NO_KEY =
  "Invalid credential: this does not look like an API key. Send Authorization: Bearer KEY, where KEY is only the key, which begins with tnt_";
const LAB = { "*": { enabled: false }, "lab_*": { enabled: true } };
const DOCUMENT = {
  mode: "key",
  title: "Protected",
  tools: LAB,
  scopes: { echo: { tools: ["lab_echo"] }, list: { tools: ["lab_list"], resources: ["note:open*"] } },
  profiles: { small: { tools: { allow: ["lab_echo", "lab_strict"] } }, large: {} },
};

const urlOf = (tenant: string, profile?: string) =>
  `${origin}/mcp/${tenant}${profile === undefined ? "" : `/${profile}`}`;

function ask(url: string, revision: string, headers: Record<string, string> = {}, method = "tools/list") {
  const { headers: written, body } = write(revision, method);
  return sendRaw(url, { headers: { ...written, ...headers }, body: JSON.stringify(body) });
}

/** Once the first tenant is private, names that do not exist are protected like those that do. */
test("an unknown name looks like a private tenant, before there is one too", async () => {
  await admin.tenant();
  for (const { era, revision } of ERAS) {
    const reply = await ask(urlOf(`before-${revision}`), revision);
    expectRefusal(reply, revision, { status: 401, code: era === "2025" ? -32003 : -32600 });
    expect(reply.headers["www-authenticate"]).toBe(CHALLENGE);
  }
});

/** Of the right shape, and no tenant's: the one that it was made for revoked it. */
async function unknownToken(): Promise<string> {
  const elsewhere = await admin.tenant();
  const { id, token } = await admin.key(elsewhere);
  await admin.ask("DELETE", `/tenants/${elsewhere}/keys/${id}`);
  return token;
}

describe.each(ERAS)("in era $era", ({ era, revision }) => {
  const code = era === "2025" ? -32003 : -32600;
  let tenant = "";
  let key: MadeKey;
  beforeAll(async () => {
    tenant = await admin.tenant(DOCUMENT);
    key = await admin.key(tenant);
  });

  const connect = (token: string, profile?: string, of = tenant) =>
    mcpClient(revision, urlOf(of, profile), {}, bearer(token));
  const toolsOf = async (token: string, profile?: string) => {
    const { result } = await (await connect(token, profile)).request("tools/list");
    return (result.tools as { name: string }[]).map(({ name }) => name);
  };

  function expectUnauthorized(reply: RawReply, message = WRONG): void {
    const error = expectRefusal(reply, revision, { status: 401, code });
    const challenge = [WRONG, NO_KEY].includes(message) ? `${CHALLENGE}, error="invalid_token"` : CHALLENGE;
    expect([error["message"], reply.headers["www-authenticate"]]).toEqual([message, challenge]);
    const hint = "Send Authorization: Bearer KEY, with a key of this tenant";
    expect(error["data"]).toEqual(message === "Authorization required" ? { hint } : undefined);
  }

  test("a key is accepted, in any case of the scheme", async () => {
    expect(await toolsOf(key.token)).toContain("lab_echo");
    for (const scheme of ["bearer", "BEARER", "Bearer  "]) {
      expect((await ask(urlOf(tenant), revision, { authorization: `${scheme} ${key.token}` })).status).toBe(200);
    }
  });

  test("a request without a key is refused", async () => {
    expectUnauthorized(await ask(urlOf(tenant), revision), "Authorization required");
    for (const method of ["initialize", "ping", "server/discover", "never/was"]) {
      expectUnauthorized(await ask(urlOf(tenant), revision, {}, method), "Authorization required");
    }
  });

  test.each<[string, (token: string) => string]>([
    ["an empty one", () => "Bearer "],
    ["another scheme", (token) => `Basic ${btoa(`${token}:`)}`],
    ["no scheme", (token) => token],
    ["nonsense", () => "Bearer nonsense"],
    ["two", (token) => `Bearer ${token}, Bearer ${token}`],
    ["the scheme twice", (token) => `Bearer Bearer ${token}`],
    ["quotes", (token) => `Bearer "${token}"`],
    ["a variable that nobody filled in", () => "Bearer $TENANTRY_KEY"],
  ])("%s is refused as no key, at an unknown tenant too", async (_what, authorization) => {
    for (const url of [urlOf(tenant), urlOf("nobody-has-it")]) {
      expectUnauthorized(await ask(url, revision, { authorization: authorization(key.token) }), NO_KEY);
    }
  });

  test.each<[string, (token: string) => Promise<string> | string]>([
    ["one with another letter at its end", (token) => `Bearer ${tamper(token)}`],
    ["one in another case", (token) => `Bearer ${token.toUpperCase()}`],
    ["one of the right shape that nobody made", async () => `Bearer ${await unknownToken()}`],
    ["another tenant's", async () => `Bearer ${(await admin.key(await admin.tenant(DOCUMENT))).token}`],
  ])("%s is refused", async (_what, authorization) => {
    for (let again = 0; again < 2; again += 1) {
      expectUnauthorized(await ask(urlOf(tenant), revision, { authorization: await authorization(key.token) }));
    }
  });

  test("a wrong key is refused though the tenant is open", async () => {
    const open = await admin.tenant({ tools: LAB });
    expect((await ask(urlOf(open), revision)).status).toBe(200);
    const wrong = await unknownToken();
    for (const token of [wrong, wrong.slice(0, -1), wrong.toUpperCase(), "tnt_", "tna_x.y"])
      expectUnauthorized(await ask(urlOf(open), revision, bearer(token)));
  });

  test("an open tenant ignores a foreign credential", async () => {
    const open = await admin.tenant({ tools: LAB });
    for (const authorization of [
      "Bearer sk-live-1",
      "Bearer a.b.c",
      "Basic eDp5",
      "Bearer",
      "",
      "Digest x",
      "nonsense",
    ]) {
      const reply = await ask(urlOf(open), revision, { authorization });
      expect([authorization, reply.status]).toEqual([authorization, 200]);
    }
  });

  test("a key in the URL is ignored", async () => {
    const query = `?authorization=Bearer%20${key.token}&access_token=${key.token}`;
    expectUnauthorized(await ask(`${urlOf(tenant)}${query}`, revision), "Authorization required");
  });

  test("a protected tenant answers a caller without a key as an unknown name does", async () => {
    const never = `never-${revision}`;
    const wrong = bearer(await unknownToken());
    const strip = ({ status, headers, text }: RawReply) => {
      const { "content-length": _length, ...shown } = comparableHeaders(headers);
      // A page for people says the address that they asked for, also as Base64 in a link, and its first letter.
      const message = text
        .replaceAll(tenant, "X")
        .replaceAll(never, "X")
        .replaceAll(/&#38;config=[^"]*|<b .*?<\/b>/g, "");
      return { status, headers: shown, text: message };
    };
    const both = async (path: string, of: (url: string) => Promise<RawReply>) => {
      const [there, nowhere] = await Promise.all([tenant, never].map((id) => of(`${origin}/mcp/${id}${path}`)));
      if (!there || !nowhere) throw new Error("two were asked");
      expect(strip(there)).toEqual(strip(nowhere));
      expect(there.status).toBeGreaterThanOrEqual(400);
    };
    for (const path of ["", "/", "/small", "/nobody"]) {
      for (const headers of [{}, wrong, { authorization: "Bearer x" }, { authorization: "Basic eA==" }]) {
        await both(path, (url) => ask(url, revision, headers));
        await both(path, (url) => ask(url, revision, { ...headers, origin: "http://localhost:3000" }));
        await both(path, (url) =>
          sendRaw(url, { headers: { ...write(revision, "ping").headers, ...headers }, body: "{" }),
        );
        for (const method of ["GET", "DELETE", "PUT"]) {
          await both(path, (url) => sendRaw(url, { method, headers: { ...headers, accept: "text/html" } }));
        }
      }
    }
  });

  test("a protected tenant shows no page without a key", async () => {
    const page = (headers: Record<string, string>) =>
      sendRaw(urlOf(tenant), { method: "GET", headers: { accept: "text/html", ...headers } });
    const refused = await page({});
    expect([refused.status, refused.text.includes("Protected")]).toEqual([401, false]);
    expect((await page(bearer(key.token))).text).toContain("Protected");
  });

  test("a key of a profile is forbidden elsewhere in the tenant", async () => {
    const { token } = await admin.key(tenant, { profile: "small" });
    expect(await toolsOf(token, "small")).toEqual(["lab_echo", "lab_strict"]);
    for (const profile of [undefined, "large", "nobody"]) {
      const reply = await ask(urlOf(tenant, profile), revision, bearer(token));
      const error = expectRefusal(reply, revision, { status: 403, code });
      expect(error["message"]).toBe("This key belongs to another profile");
      expect(reply.headers).not.toHaveProperty("www-authenticate");
    }
    expect(await toolsOf(key.token, "small")).toEqual(["lab_echo", "lab_strict"]);
  });

  test("scopes grant what they name, and the rest is as if it were not there", async () => {
    const { token } = await admin.key(tenant, { scopes: ["echo"] });
    const client = await connect(token);
    expect(await toolsOf(token)).toEqual(["lab_echo"]);
    expect((await client.request("resources/list")).result.resources).toEqual([]);
    expect((await client.request("prompts/list")).result.prompts).toEqual([]);
    const of = async (name: string) => {
      const { status, error } = await client.request("tools/call", { name, arguments: {} });
      return { status, ...error, message: error?.message.replace(name, "X") };
    };
    expect(await of("lab_list")).toEqual(await of("never-was"));
    expect(await toolsOf((await admin.key(tenant, { scopes: [] })).token)).toEqual([]);
    const both = (await admin.key(tenant, { scopes: ["list", "echo"], profile: "small" })).token;
    expect(await toolsOf(both, "small")).toEqual(["lab_echo"]);
  });

  test("no cache may share what a key sees", async () => {
    const { result } = await (await connect(key.token)).request("tools/list");
    if (era === "2026") expect(result["cacheScope"]).toBe("private");
    else expect(result).not.toHaveProperty("cacheScope");
  });

  test("a key is refused once it expires, although a lease that knows it is valid", async () => {
    const slow = await admin.tenant({ ...DOCUMENT, maxStalenessMs: 3000 });
    const expires = Date.now() + 500;
    const { token } = await admin.key(slow, { expires: new Date(expires).toISOString() });
    expect((await ask(urlOf(slow), revision, bearer(token))).status).toBe(200);
    await vi.waitUntil(() => Date.now() >= expires, { timeout: 10_000 });
    expectUnauthorized(await ask(urlOf(slow), revision, bearer(token)));
  });

  test("a key is refused from the acknowledgement of its revocation on", async () => {
    const made = await admin.key(tenant);
    const client = await connect(made.token);
    expect((await client.request("tools/list")).status).toBe(200);
    const answer = await admin.ask("DELETE", `/tenants/${tenant}/keys/${made.id}`);
    expect(answer).toMatchObject({ changed: true });
    expectUnauthorized(await ask(urlOf(tenant), revision, bearer(made.token)));
    expect((await client.request("tools/list")).status).toBe(401);
    expect(await admin.ask("DELETE", `/tenants/${tenant}/keys/${made.id}`)).toMatchObject({ changed: false });
  });

  test("rotation lets both keys in for the overlap, and only the new one after it", async () => {
    const old = await admin.key(tenant, { scopes: ["echo"] });
    const status = async (token: string) => (await ask(urlOf(tenant), revision, bearer(token))).status;
    expect(await status(old.token)).toBe(200);
    const next = await rotate(old, 1);
    expect(await toolsOf(next.token)).toEqual(["lab_echo"]);
    expect([await status(old.token), await status(next.token)]).toEqual([200, 200]);
    await vi.waitUntil(async () => (await status(old.token)) === 401, { timeout: 10_000, interval: 50 });
    const last = await rotate(next, 0);
    expect([await status(next.token), await status(last.token)]).toEqual([401, 200]);
  });

  const rotate = async (old: MadeKey, overlapSeconds: number) =>
    (await admin.ask("POST", `/tenants/${tenant}/keys/${old.id}/rotate`, { overlapSeconds })) as unknown as MadeKey;

  test("a suspended key gets the note, others do not", async () => {
    const made = await admin.key(tenant);
    await admin.suspend(tenant, "principal", made.id, "abuse");
    const reply = await ask(urlOf(tenant), revision, bearer(made.token));
    expect(expectRefusal(reply, revision, { status: 403, code })["message"]).toBe("Suspended: abuse");
    expect((await ask(urlOf(tenant), revision, bearer(key.token))).status).toBe(200);
    expectUnauthorized(await ask(urlOf(tenant), revision), "Authorization required");
    await admin.ask("DELETE", `/tenants/${tenant}/suspensions/principal/${made.id}`);
    expect((await ask(urlOf(tenant), revision, bearer(made.token))).status).toBe(200);
  });

  test("the note of a suspended tenant is for those with a key", async () => {
    const fresh = await admin.tenant(DOCUMENT);
    const { token } = await admin.key(fresh);
    await admin.suspend(fresh, "tenant", undefined, "unpaid");
    expectUnauthorized(await ask(urlOf(fresh), revision), "Authorization required");
    const reply = await ask(urlOf(fresh), revision, bearer(token));
    expect(expectRefusal(reply, revision, { status: 403, code })["message"]).toBe("Suspended: unpaid");
  });

  test("a tenant that changes to keys refuses everybody else from the acknowledgement on", async () => {
    const fresh = await admin.tenant({ tools: LAB });
    const client = await mcpClient(revision, urlOf(fresh));
    expect((await client.request("tools/list")).status).toBe(200);
    await admin.apply(fresh, { mode: "key", tools: LAB });
    expect((await client.request("tools/list")).status).toBe(401);
    await admin.apply(fresh, { tools: LAB });
    expect((await client.request("tools/list")).status).toBe(200);
  });

  test("a tenant that is deleted and created again refuses its old keys", async () => {
    const id = `again-${revision}`;
    const make = () => admin.ask("POST", "/tenants", { id, document: { ...DOCUMENT, maxStalenessMs: 50 } });
    await make();
    const { token } = await admin.key(id);
    expect((await ask(urlOf(id), revision, bearer(token))).status).toBe(200);
    await admin.ask("DELETE", `/tenants/${id}`);
    expectUnauthorized(await ask(urlOf(id), revision, bearer(token)));
    await make();
    await admin.key(id);
    expectUnauthorized(await ask(urlOf(id), revision, bearer(token)));
    await admin.ask("DELETE", `/tenants/${id}`);
  });
});

test("a session belongs to the key that began it", async () => {
  const tenant = await admin.tenant(DOCUMENT);
  const [one, two] = [await admin.key(tenant), await admin.key(tenant)];
  const client = await mcpClient("2025-11-25", urlOf(tenant), {}, bearer(one.token));
  expect((await client.request("tools/list")).status).toBe(200);
  const stolen = await client.request("tools/list", {}, { headers: bearer(two.token) });
  expect([stolen.status, (stolen.error as Json | undefined)?.["code"]]).toEqual([404, -32600]);
});
