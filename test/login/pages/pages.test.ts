import { describe, expect, it } from "vitest";
import { toBase64 } from "../../../src/auth/seal.ts";
import { accountPage, signedOutPage } from "../../../src/login/pages/account-page.ts";
import { consentPage, parseDecision, parseRestrictions } from "../../../src/login/pages/consent-page.ts";
import { sanitizeText } from "../../../src/login/pages/sanitize-text.ts";
import { formTarget, pageResponse } from "../../../src/login/pages/page.ts";
import { errorPage } from "../../../src/login/pages/error-page.ts";
import { signInPage } from "../../../src/login/pages/sign-in-page.ts";

const EVIL = `<script>alert("1")</script><img src='x' onerror=alert(1)>&lt;\u202E\n\u0000`;
/** Whatever of it is shown. */
const SHOWN =
  "&#60;script&#62;alert(&#34;1&#34;)&#60;/script&#62;&#60;img src=&#39;x&#39; onerror=alert(1)&#62;&#38;lt;";

/** Every page, with the same words in every place where somebody else chooses them. */
function pagesSaying(text: string): Readonly<Record<string, string>> {
  const tenant = { id: "acme", title: text };
  const client = { id: text, kind: "registered", name: text } as const;
  const person = { issuer: text, subject: text, name: text, email: text, claims: {} };
  const form = { action: text, fields: { [text]: text } };
  const tool = { name: text, title: text, description: text, group: text };
  const narrowing = { deny: [text], allow: [text] };
  return {
    signIn: signInPage({ tenant, client, form, error: text }),
    signInForAccount: signInPage({ tenant, form }),
    consent: consentPage({
      tenant,
      client,
      redirect: "http://127.0.0.1:4711/callback",
      person,
      profile: text,
      scopes: [{ name: text, description: text }],
      tools: [tool, { ...tool, group: undefined }],
      form,
      account: text,
      again: text,
    }),
    noAccess: consentPage({
      tenant,
      client,
      redirect: "http://127.0.0.1:4711/callback",
      person,
      scopes: [],
      tools: [],
      form,
      account: text,
    }),
    account: accountPage({
      tenant,
      person,
      form,
      notice: text,
      grants: [
        {
          id: text,
          client: { id: `https://${"a".repeat(9)}.example/?${text}`, name: text, digest: "" },
          profile: text,
          scopes: [text],
          narrowing,
          created: 0,
          usedAt: 0,
        },
      ],
    }),
    signedOut: signedOutPage(tenant, form),
    refusal: errorPage({ tenant, title: text, why: text, next: text }),
  };
}

const TAGS = new Set(
  "html head meta title style body main header b span bdi h1 h2 h3 p form input label small div button dl dt dd section ul li code fieldset legend time".split(
    " ",
  ),
);

describe.each(Object.keys(pagesSaying("")))("the page %s", (name) => {
  it("shows what others wrote as text, and has no element but its own", () => {
    const html = pagesSaying(EVIL)[name] ?? "";
    expect(html).toContain(SHOWN);
    expect(html).not.toMatch(/<script|<img|alert\("|src='/);
    const tags = [...html.replace(/<style>.*<\/style>/s, "<style></style>").matchAll(/<\/?([a-z0-9]+)/g)];
    expect(tags.map(([, tag]) => tag).filter((tag) => !TAGS.has(tag ?? ""))).toEqual([]);
    expect(html).not.toMatch(/\son[a-z]+="|\sstyle="|javascript:/);
  });

  it("has a language, a title that names the tenant, one heading, and a label for every field", () => {
    const html = pagesSaying("Some words")[name] ?? "";
    expect(html).toMatch(/^<!doctype html>\n<html lang="en">/);
    expect(html).toMatch(/<title>[^<]+ - Some words<\/title>/);
    expect(html.match(/<h1>/g)).toHaveLength(1);
    const labelled = /<label[^>]*><input|<input type="hidden"|<label for="key">[^]*<input id="key"/;
    expect(!html.includes("<input") || labelled.test(html)).toBe(true);
    const boxes = html.match(/<input type="checkbox"/g) ?? [];
    expect(html.match(/<label class="row">\s*<input type="checkbox"/g) ?? []).toHaveLength(boxes.length);
  });

  it("is shown with headers that forbid script, framing and everything from elsewhere", async () => {
    const response = pageResponse(pagesSaying(EVIL)[name] ?? "");
    const policy = response.headers.get("content-security-policy") ?? "";
    const [, style = ""] = /<style>(.*)<\/style>/s.exec(await response.text()) ?? [];
    const hash = toBase64(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(style))));
    expect(policy).toBe(
      `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'`,
    );
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "cache-control": "no-store",
      "content-type": "text/html; charset=utf-8",
      "referrer-policy": "same-origin",
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
    });
  });
});

describe("words of strangers", () => {
  it.each([
    ["a direction that is turned", "abc\u202Edef\u2066g", "abcdefg"],
    ["lines and blanks", "  a\r\n\t b\u2028c\u00a0 ", "a b c"],
    ["what is not seen", "a\u200bb\u00adc\u0000d\u3164e\u{e0041}f\ue000", "abcdef"],
    ["nothing that could be seen", "\u200b\u3164\u2800\n", ""],
    ["half of a pair", "a\ud800b", "ab"],
    ["another script", "مرحبا שלום 日本", "مرحبا שלום 日本"],
  ])("are shown without %s", (_, text, shown) => {
    expect(sanitizeText(text)).toBe(shown);
  });

  it("are cut at a length, between characters, however long they are", () => {
    expect(sanitizeText("😀".repeat(1000), 10)).toBe(`${"😀".repeat(9)}…`);
    expect(sanitizeText("a".repeat(80))).toBe("a".repeat(80));
    expect(sanitizeText("a".repeat(81))).toBe(`${"a".repeat(79)}…`);
    expect(sanitizeText(`e${"\u0301".repeat(500)}f`)).toBe("e\u0301\u0301\u0301f");
    expect(sanitizeText("x".repeat(5_000_000))).toHaveLength(80);
  });

  it("leave a client without a name one to be spoken of", () => {
    const html = signInPage({
      tenant: { id: "acme", title: "\u200b" },
      client: { id: "c", kind: "registered", name: "\u202e\n" },
      form: { action: "", fields: {} },
    });
    expect(html).toContain("connect <bdi>A client without a name</bdi> to <bdi>acme</bdi>");
  });
});

describe("a form", () => {
  it.each([
    // Whoever is there may lead on.
    ["https://claude.ai/api/mcp/auth_callback", "https: http:"],
    ["http://[::1]:33418/callback", "https: http:"],
    ["cursor://anysphere.cursor-mcp/oauth/callback", "cursor:"],
    ["com.example.app:/callback", "com.example.app:"],
    ["https://a;sandbox/", "https: http:"],
  ])("may lead to %s as %s", (redirect, target) => {
    expect(formTarget(redirect)).toBe(target);
    const policy = pageResponse("", { formTargets: [formTarget(redirect)] }).headers.get("content-security-policy");
    expect(policy?.endsWith(`; form-action 'self' ${target}`)).toBe(true);
  });
});

describe("consent", () => {
  const tenant = { id: "acme" };
  const person = { issuer: "key", subject: "Yk3v0Qp8sD", claims: {} };
  const form = { action: "/login/acme/consent", fields: { transaction: "sealed" } };
  const asked = { tenant, person, scopes: null, tools: [], form, account: "https://a.example/account/acme" };
  const document = { id: "https://claude.ai/client", kind: "document", name: "Claude" } as const;
  const registered = { id: "abc", kind: "registered", name: "Claude" } as const;
  it.each([
    [document, "https://claude.ai/callback", false, false],
    [document, "http://localhost:1/callback", false, true],
    [registered, "https://claude.ai/callback", true, false],
    [registered, "http://[::1]:1/callback", true, true],
    [registered, "cursor://x/callback", true, false],
    // Not a loopback, whatever it looks like.
    [registered, "http://127.0.0.1.evil.example/callback", true, false],
  ])("warns of what the client $kind at %s could be", (client, redirect, isUnchecked, isLocal) => {
    const html = consentPage({ ...asked, client, redirect });
    expect(html.includes("is not checked")).toBe(isUnchecked);
    expect(html.includes("Any program on this computer")).toBe(isLocal);
    expect(html.includes("published by claude.ai")).toBe(!isUnchecked);
  });

  it("lists tools in groups with boxes that are ticked, and does nothing when Enter is pressed in one", () => {
    const tools = [{ name: "a" }, { name: "u__b", group: "u" }, { name: "u__c", group: "u" }, { name: "d" }];
    const client = { id: "c", kind: "registered", name: "C" } as const;
    const html = consentPage({ ...asked, tools, client, redirect: "https://c.example/" });
    expect([...html.matchAll(/name="tool" value="([^"]*)" checked/g)].map(([, name]) => name)).toEqual([
      "a",
      "d",
      "u__b",
      "u__c",
    ]);
    expect(html.match(/<h3>/g)).toHaveLength(2);
    expect(html).toContain('name="later" checked');
    // The first button of a form is the one that Enter presses.
    expect(/<button[^>]*>/.exec(html)?.[0]).toBe('<button hidden formmethod="dialog">');
  });

  it("says of each answer what is left out", () => {
    const shown = ["a", "b", "c"];
    expect(parseRestrictions(new URLSearchParams("tool=a&tool=b&tool=c&later=on&read=on"), shown)).toEqual({
      deny: [],
    });
    expect(parseRestrictions(new URLSearchParams("tool=a&later=on&read=on"), shown)).toEqual({ deny: ["b", "c"] });
    expect(parseRestrictions(new URLSearchParams("tool=a&tool=b&tool=c&read=on"), shown)).toEqual({
      deny: [],
      allow: shown,
    });
    // What was not shown is nobody's to allow.
    expect(parseRestrictions(new URLSearchParams("tool=a&tool=z&read=on"), shown)).toEqual({
      deny: ["b", "c"],
      allow: ["a"],
    });
    expect(parseRestrictions(new URLSearchParams(""), shown)).toEqual({ deny: shown, allow: [], toolsOnly: true });
  });

  it("takes no decision but the ones that its buttons have", () => {
    for (const one of ["allow", "deny", "switch"])
      expect(parseDecision(new URLSearchParams({ decision: one }))).toBe(one);
    expect(parseDecision(new URLSearchParams("decision=toString"))).toBeUndefined();
    expect(parseDecision(new URLSearchParams())).toBeUndefined();
  });
});

it("a page of grants says of each what it may", () => {
  const grant = { id: "g", client: { id: "c", name: "C", digest: "" }, created: 0, usedAt: 86_400_000, scopes: null };
  const html = accountPage({
    tenant: { id: "acme" },
    person: { issuer: "https://a.example", subject: "1", name: "Ada", email: "ada@a.example", claims: {} },
    form: { action: "/account/acme", fields: { nonce: "n" } },
    grants: [
      { ...grant, profile: null, narrowing: { deny: [] } },
      { ...grant, profile: "p", scopes: ["reading"], narrowing: { deny: ["a", "b"] } },
      { ...grant, profile: null, narrowing: { deny: ["a"], allow: ["c"] } },
      { ...grant, profile: null, narrowing: { deny: [], allow: [], toolsOnly: true } },
    ],
  });
  const may = [...html.matchAll(/<dt>May use<\/dt>\s*<dd>([^<]*)/g)].map(([, text]) => text);
  expect(may).toEqual([
    "All tools; prompts and resources",
    "All tools but a, b; prompts and resources (profile p, reading)",
    "Only c; prompts and resources",
    "No tools; no prompts or resources",
  ]);
  expect(html).toContain("<time>1970-01-02</time>");
  expect(html).toContain("Signed in as <bdi>Ada (ada@a.example)</bdi>");
});
