// What people see in a browser at the Worker's URLs, and what of it: whatever others wrote is text there, and nobody learns from a
// page what no program is told.

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { comparableHeaders } from "../support/comparable-headers.ts";
import { toBase64 } from "../../src/auth/seal.ts";
import { EMBED_SCRIPT, CONNECT_SCRIPT } from "../../src/connect/connect-script.ts";
import { KEY_PLACEHOLDER } from "../../src/connect/recipes/recipe.ts";
import { RECIPES } from "../../src/connect/recipes/recipes.ts";
import { connectPage, createWorker, defineTool, login, type Env, type TenantDefinition } from "../../src/tenantry.ts";

const ORIGIN = "https://pages.example.com";
const PERSON = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
const EVIL = `<script>alert("1")</script><img src='x' onerror=alert(1)>&lt;`;
const SHOWN =
  "&#60;script&#62;alert(&#34;1&#34;)&#60;/script&#62;&#60;img src=&#39;x&#39; onerror=alert(1)&#62;&#38;lt;";

const tools = [
  defineTool({
    name: "look",
    title: EVIL,
    description: EVIL,
    annotations: { readOnlyHint: true },
    handler: () => "seen",
  }),
  defineTool({ name: "change", handler: () => "done" }),
];
const TENANTS: Record<string, TenantDefinition> = {
  "pages-open": { title: EVIL, description: EVIL, profiles: { small: { title: "Small", tools: { allow: ["look"] } } } },
  "pages-key": { mode: "key", title: "Secret name", icon: "https://secret.example.com/icon.png" },
  "pages-icon": { title: "Acme", icon: 'https://acme.example.com/icon.png?a="1"' },
  "pages-odd": { icon: "javascript:alert(1)" },
  "pages-login": { mode: "oauth", auth: { issuers: [{ issuer: "https://issuer.example.com" }] } },
};
const ABOUT = { version: EVIL, tools, tenants: TENANTS };
const withPages = createWorker({ ...ABOUT, features: [login(), connectPage()] });
const without = createWorker({ ...ABOUT, features: [login()] });

async function ask(path: string, headers: Record<string, string> = PERSON, init: RequestInit = {}, worker = withPages) {
  const ctx = createExecutionContext();
  const response = await worker.fetch(new Request(ORIGIN + path, { headers, ...init }), env as Env, ctx);
  const text = await response.text();
  await waitOnExecutionContext(ctx);
  return { status: response.status, headers: response.headers, text, type: response.headers.get("content-type") ?? "" };
}

/** What a page would say of `pages-not`, without a link that has the address in Base64. */
const unnamed = (html: string) => html.replaceAll("pages-key", "pages-not").replaceAll(/&#38;config=[^"\\]*/g, "");

/** As a person reads it. */
const textOf = (html: string) =>
  html.replaceAll(/<\/?i>/g, "").replaceAll(/&#(\d+);/g, (_all, code) => String.fromCharCode(Number(code)));

const visibleOf = (html: string) => html.replace(/<(style|script)>.*?<\/\1>/gs, "");

describe("the page of an endpoint", () => {
  it("shows names, descriptions and versions as text, and has no element but its own", async () => {
    const { status, text } = await ask("/mcp/pages-open");
    expect(status).toBe(200);
    const html = visibleOf(text);
    expect(html.split(SHOWN).length).toBeGreaterThan(5);
    expect(html).not.toMatch(/<script|<img|alert\("|src='/);
    expect(html).not.toMatch(/\son[a-z]+="|\sstyle="|javascript:/);
    expect(html).toContain(`<code class="text">${ORIGIN}/mcp/pages-open</code>`);
    expect(html).toContain('<code>change</code></summary><p class="soft">change</p>');
  });

  it("lists what its visitor sees there, under a name of its own for each profile", async () => {
    const { text } = await ask("/mcp/pages-open/small?from=mail");
    expect(text).toContain("<bdi>Small</bdi>");
    expect(text).toContain(`claude mcp add --transport http pages-open_small ${ORIGIN}/mcp/pages-open/small<`);
    expect(text).not.toContain("<code>change</code>");
  });

  it("shows the tenant's picture, and a letter where it has none that may be shown", async () => {
    expect((await ask("/mcp/pages-icon")).text).toContain(
      '<img alt="" src="https://acme.example.com/icon.png?a=&#34;1&#34;">',
    );
    const { text } = await ask("/mcp/pages-odd");
    expect(text).toContain('<b aria-hidden="true">P</b>');
    expect(text).not.toMatch(/<img|javascript:/);
  });

  it("shows no command of a host that a shell would take for one", async () => {
    for (const path of ["/mcp/pages-open", "/mcp/pages-key"]) {
      const request = new Request(`http://x;{curl,-o,x};.localhost${path}`, { headers: PERSON });
      const ctx = createExecutionContext();
      const html = await (await withPages.fetch(request, env as Env, ctx)).text();
      await waitOnExecutionContext(ctx);
      expect(html).toContain("This page does not exist");
      expect(html).not.toMatch(/claude mcp add|curl -/);
    }
  });

  it("asks for no key where nobody needs one", async () => {
    expect((await ask("/mcp/pages-open")).text).not.toContain('id="key"');
  });

  it("says how to get in where a key is needed, without a word that the tenant's own people alone may read", async () => {
    const { status, text, headers } = await ask("/mcp/pages-key");
    expect([status, headers.get("www-authenticate")]).toEqual([401, 'Bearer realm="tenantry"']);
    expect(text).toContain('id="key"');
    expect(text).toContain("--header &#34;Authorization: Bearer <i>YOUR_KEY</i>&#34;");
    expect(text).not.toMatch(/Secret name|secret\.example/);
  });

  it.each([
    { mode: "open", accesses: [{ kind: "open" }] },
    { mode: "key", accesses: [{ kind: "key", key: KEY_PLACEHOLDER }] },
    { mode: "login", accesses: [{ kind: "login" }, { kind: "key", key: KEY_PLACEHOLDER }] },
  ] as const)(
    "tells each client what tenantry connect prints, at a tenant with mode $mode",
    async ({ mode, accesses }) => {
      const { text } = await ask(`/mcp/pages-${mode}`);
      const shown = textOf(visibleOf(text));
      for (const { snippet, title } of RECIPES) {
        for (const access of accesses) {
          const told = snippet({ name: `pages-${mode}`, url: `${ORIGIN}/mcp/pages-${mode}`, access });
          expect(shown, title).toContain(told.text);
          expect(shown, title).toContain(told.steps.join(" "));
        }
      }
      expect(shown.includes(KEY_PLACEHOLDER)).toBe(mode !== "open");
    },
  );

  it("says that a client signs in where one does", async () => {
    const { status, text, headers } = await ask("/mcp/pages-login");
    expect([status, headers.get("www-authenticate")]).toEqual([401, expect.stringContaining("resource_metadata")]);
    expect(text).toContain("you sign in");
  });

  it("is the same for a tenant that does not exist as for one that is secret", async () => {
    for (const path of ["", "/", "/small"]) {
      const [there, nowhere] = [await ask(`/mcp/pages-key${path}`), await ask(`/mcp/pages-not${path}`)];
      expect([there.status, nowhere.status]).toEqual([401, 401]);
      expect(unnamed(there.text)).toBe(unnamed(nowhere.text));
      expect(comparableHeaders(there.headers)).toEqual(comparableHeaders(nowhere.headers));
    }
  });

  it.each(["/mcp/x';curl evil|sh;'", "/mcp/$(id)", "/mcp/a/b&c", "/mcp/a/b/c"])(
    "shows no command made of %s",
    async (path) => {
      const { status, text } = await ask(path);
      expect(status).toBeGreaterThanOrEqual(400);
      expect(visibleOf(text)).not.toMatch(/curl|\$\(|b&|claude mcp add/);
      expect(text).toContain(`${ORIGIN}/mcp/<b>name</b>`);
    },
  );
});

describe("the content security policy", () => {
  it("lets in the page's own script and style by their hashes, and nothing else", async () => {
    for (const path of ["/mcp/pages-open", "/mcp/pages-key", "/mcp/pages-login"]) {
      const { text, headers } = await ask(path);
      const policy = headers.get("content-security-policy") ?? "";
      for (const name of ["style", "script"]) {
        const [[, inside = ""] = [], ...others] = text.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, "gs"));
        const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(inside));
        expect(policy, name).toContain(`${name}-src 'sha256-${toBase64(new Uint8Array(digest))}'`);
        expect(others).toEqual([]);
      }
      expect(policy).toMatch(/^default-src 'none';.*form-action 'none'; frame-ancestors 'none'$/);
      expect(policy).not.toContain("unsafe");
    }
  });

  it("is there for every page, and none is kept or framed", async () => {
    for (const path of ["/", "/nothing", "/mcp/pages-open", "/mcp/pages-key", "/mcp/pages-open/nobody"]) {
      const { headers } = await ask(path);
      const lines = ["x-frame-options", "x-content-type-options", "referrer-policy", "cache-control"];
      expect(lines.map((name) => headers.get(name))).toEqual(["DENY", "nosniff", "no-referrer", "no-store"]);
      expect(headers.get("content-security-policy")).toContain("default-src 'none'");
    }
  });
});

describe("a request that no browser sent for a page", () => {
  it.each([
    ["a GET for anything", "/mcp/pages-key", { accept: "*/*" }, {}],
    ["a GET that says nothing", "/mcp/pages-key", {}, {}],
    ["a POST that would take a page", "/mcp/pages-key", PERSON, { method: "POST", body: "{}" }],
    ["a DELETE that would take a page", "/mcp/pages-key", PERSON, { method: "DELETE" }],
    ["a GET of what is nowhere", "/nothing", { accept: "application/json" }, {}],
  ])("gets JSON: %s", async (_what, path, headers, init) => {
    const { status, type, text } = await ask(path, headers, init);
    expect([status >= 400, type]).toEqual([true, "application/json"]);
    expect(JSON.parse(text)).toHaveProperty("error");
  });
});

describe("a page where no endpoint is", () => {
  it.each([
    ["/", "MCP endpoints"],
    ["/nothing", "This page does not exist"],
    ["/mcp/pages-open/nobody", "This page does not exist"],
  ])("at %s says where endpoints are", async (path, says) => {
    const { status, type, text } = await ask(path);
    expect([status, type]).toEqual([404, "text/html; charset=utf-8"]);
    expect(text).toContain(says);
    expect(text).toContain(`${ORIGIN}/mcp/<b>name</b>`);
    expect(text).not.toContain("<script");
  });

  it("a Worker without the feature tells its address as text, and refuses as it does programs", async () => {
    const open = await ask("/mcp/pages-open", PERSON, {}, without);
    expect([open.status, open.type]).toEqual([200, "text/plain;charset=UTF-8"]);
    expect(open.text).toContain(`${ORIGIN}/mcp/pages-open\n`);
    expect((await ask("/mcp/pages-key", PERSON, {}, without)).type).toBe("application/json");
    expect((await ask("/connect.js?for=pages-open", PERSON, {}, without)).status).toBe(404);
  });
});

describe("the script of a page", () => {
  const list = (headers: Record<string, string>, path = "/mcp/pages-open", worker = withPages) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
    return ask(path, { "content-type": "application/json", ...headers }, { method: "POST", body }, worker);
  };

  it("may ask from the page's own https origin, and from no other", async () => {
    expect((await list({ origin: ORIGIN })).status).toBe(200);
    expect((await list({ origin: ORIGIN }, "/mcp/pages-key")).status).toBe(401);
    for (const origin of [
      "https://evil.example.com",
      "http://pages.example.com",
      `${ORIGIN}:8443`,
      `${ORIGIN}.evil.example`,
      "null",
    ]) {
      expect([origin, (await list({ origin })).status]).toEqual([origin, 403]);
    }
    expect((await list({ origin: ORIGIN }, "/mcp/pages-open", without)).status).toBe(403);
  });

  it("may not ask over http, where the name could have been rebound", async () => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
    const headers = { "content-type": "application/json", origin: "http://pages.example.com" };
    const request = new Request("http://pages.example.com/mcp/pages-open", { method: "POST", headers, body });
    const ctx = createExecutionContext();
    expect((await withPages.fetch(request, env as Env, ctx)).status).toBe(403);
    await waitOnExecutionContext(ctx);
  });

  it("cannot end the element that it stands in", () => {
    for (const script of [CONNECT_SCRIPT, EMBED_SCRIPT]) expect(script).not.toMatch(/<\/script|<!--/i);
  });
});

describe("the block for pages of others", () => {
  it("is a script that says no more of a secret tenant than of none", async () => {
    const there = await ask("/connect.js?for=pages-key", {});
    const nowhere = await ask("/connect.js?for=pages-not", {});
    expect(there.type).toBe("text/javascript; charset=utf-8");
    expect(unnamed(there.text)).toBe(unnamed(nowhere.text));
    expect(there.text).toContain(`${ORIGIN}/mcp/pages-key`);
    expect(there.text).not.toContain("Secret name");
    expect((await ask("/connect.js?for=pages-open/small&access=open", {})).text).toContain("pages-open_small");
  });

  it("shows what its URL says as text", async () => {
    const { text } = await ask(`/connect.js?for=pages-open&title=${encodeURIComponent(`</script>${EVIL}`)}`, {});
    expect(text).toContain("&#60;/script&#62;&#60;script&#62;");
    expect(text).not.toMatch(/<\/?script|<img src='x'/);
  });

  it.each(["for=x';alert(1)//", "for=a/b/c", "for=a&access=all", "for=../admin"])(
    "is refused with %s",
    async (query) => {
      const { status, type } = await ask(`/connect.js?${query}`, {});
      expect([status, type]).toEqual([400, "text/plain;charset=UTF-8"]);
    },
  );
});
