import { describe, expect, it } from "vitest";
import { findBrokenUpstreams } from "../../src/gateway/upstream-rules.ts";
import type { TenantDocument } from "../../src/tenants/document/tenant-document.ts";
import { mergeDocuments } from "../../src/tenants/document/tenant-document.ts";

const url = "https://mcp.example.com/mcp";
const DEPLOYED = { allow: "" };
const allowedBy = (entry: string) => `; on your machine, add the line OUTBOUND_ALLOW=${entry} to .dev.vars`;

function broken(upstreams: NonNullable<TenantDocument["upstreams"]>, rules = DEPLOYED): string[] {
  return findBrokenUpstreams({ upstreams }, rules).map(({ field, rule }) => `${field}: ${rule}`);
}

describe("an upstream", () => {
  it.each(["serverA", "9-lives", "a_b", "x".repeat(32)])("may have the id %s", (id) => {
    expect(broken({ [id]: { url } })).toEqual([]);
  });

  it.each(["a__b", "a_", "_a", "-a", "", "x".repeat(33), "a.b", "__proto__"])("may not have the id %s", (id) => {
    expect(broken(Object.fromEntries([[id, { url }]]))).toEqual([
      expect.stringMatching(/^upstreams\.[^:]*: must have an id of 1 to 32 letters/),
    ]);
  });

  it.each(["code", "Stored", "GATEWAY"])("may not have the reserved id %s", (id) => {
    expect(broken({ [id]: { url } })).toEqual([`upstreams.${id}: is a reserved id`]);
  });

  it("may not have the id of another in other capital letters, one from a base document included", () => {
    const merged = mergeDocuments([{ upstreams: { GitHub: { url } } }, { upstreams: { github: { url } } }]);
    expect(broken(merged.upstreams ?? {})).toEqual([
      "upstreams.github: must differ from GitHub by more than capital letters",
    ]);
  });

  it.each([
    ["nothing", "must be a URL, such as https://mcp.example.com/mcp"],
    ["http://mcp.example.com/", "must begin with https:"],
    ["ftp://mcp.example.com/", "must begin with https:"],
    ["https://ann:secret@mcp.example.com/", "must not contain a user name or password: use headers"],
    ["https://mcp.example.com/#x", "must not have a fragment"],
    ["http://localhost:8362/mcp", `must begin with https:${allowedBy("http://localhost:8362")}`],
    [
      "https://localhost:8362/mcp",
      `must lead to a public host, or to a host in OUTBOUND_ALLOW${allowedBy("localhost:8362")}`,
    ],
    ["https://127.0.0.1/mcp", `must lead to a public host, or to a host in OUTBOUND_ALLOW${allowedBy("127.0.0.1")}`],
    ["https://[::1]/mcp", `must lead to a public host, or to a host in OUTBOUND_ALLOW${allowedBy("[::1]")}`],
    ["https://169.254.169.254/mcp", "must lead to a public host, or to a host in OUTBOUND_ALLOW"],
    ["https://mcp.example.com:22/mcp", "must have port 443, or a port from 1024"],
  ])("may not be at %s", (at, rule) => {
    expect(broken({ up: { url: at } })).toEqual([`upstreams.up.url: ${rule}`]);
  });

  it.each(["http://localhost:8362/mcp", "https://localhost:8362/mcp", "http://[::1]:9000/", "http://127.0.0.1/"])(
    "may be at %s where the Worker has the line that its refusal names",
    (at) => {
      const [refused = ""] = broken({ up: { url: at } });
      const [, allow = ""] = / the line OUTBOUND_ALLOW=(\S+) to \.dev\.vars$/.exec(refused) ?? [];
      expect(broken({ up: { url: at } }, { allow })).toEqual([]);
    },
  );

  it("may be on the same machine during development", () => {
    expect(broken({ up: { url: "http://localhost:8362/mcp" } }, { allow: "http://localhost" })).toEqual([]);
    expect(broken({ up: { url: "http://mcp.example.com/mcp" } }, { allow: "http://localhost" })).toEqual([
      "upstreams.up.url: must begin with https:",
    ]);
  });

  it.each([
    ["Authorization", "Bearer {{secret:GITHUB_TOKEN}}", undefined],
    ["x-two", "{{secret:A}}{{secret:B}}", undefined],
    ["x-trace", "{{client:x-trace}}", undefined],
    ["x-bad", "{{client:Authorization}}", /a header of the client that is not passed on/],
    ["x-bad", "{{client:cookie}}", /a header of the client that is not passed on/],
    ["x-bad", "{{secret:}}", /must be \{\{secret:NAME\}\}/],
    ["x-bad", "{{token}}", /must be \{\{secret:NAME\}\}/],
    ["x-bad", "{{secret:A", /only in/],
    ["x-bad", "line\nbreak", /visible ASCII/],
    ["bad name", "x", /not a valid header name/],
    ["Mcp-Session-Id", "x", /gateway sets this header/],
    ["content-length", "1", /gateway sets this header/],
    ["Cookie", "a=b", /gateway sets this header/],
  ])("with the header %s: %s", (name, value, rule) => {
    const found = broken({ up: { url, headers: { [name]: value } } });
    expect(found).toEqual(rule === undefined ? [] : [expect.stringMatching(rule)]);
  });

  const auth = {
    kind: "client_credentials",
    tokenUrl: "https://login.example.com/token",
    clientId: "us",
    clientSecret: "{{secret:UP}}",
  } as const;

  it.each([
    [{}, []],
    [{ scope: "a b", resource: "", method: "client_secret_post" }, []],
    [
      { tokenUrl: "https://169.254.169.254/token" },
      ["upstreams.up.auth.tokenUrl: must lead to a public host, or to a host in OUTBOUND_ALLOW"],
    ],
    [
      { clientSecret: "s3cret" },
      [expect.stringMatching(/^upstreams.up.auth.clientSecret: must be \{\{secret:NAME\}\}/)],
    ],
    [{ clientSecret: "x{{secret:UP}}" }, [expect.stringMatching(/clientSecret: must be/)]],
    [{ clientId: "" }, [expect.stringMatching(/clientId: must have only visible/)]],
    [{ scope: "a\nb" }, [expect.stringMatching(/scope: must be scopes/)]],
    [{ resource: "up" }, [expect.stringMatching(/resource: must be a URL/)]],
  ] as const)("with the credentials of a client %o breaks %o", (more, rules) => {
    expect(broken({ up: { url, auth: { ...auth, ...more } } })).toEqual(rules);
  });

  it("has a token or a header of its own, not both", () => {
    expect(broken({ up: { url, auth, headers: { authorization: "x" } } })).toEqual([
      "upstreams.up.auth.kind: is not allowed together with a header Authorization",
    ]);
  });

  it("names each header once", () => {
    expect(broken({ up: { url, headers: { "x-a": "1", "X-A": "2" } } })).toHaveLength(2);
  });

  it.each([0, 99, 300_001, 1.5, Number.NaN])("may not have the time limit %s", (timeoutMs) => {
    expect(broken({ up: { url, timeoutMs } })).toHaveLength(1);
  });

  it.each([-1, 6, 0.5, Number.NaN])("may not be sent a call %s times more", (retry) => {
    expect(broken({ up: { url, retry } })).toEqual([
      `upstreams.up.retry: must be a whole number from 0 to 5, not ${retry}`,
    ]);
  });
});

describe("upstreams of several documents", () => {
  it("are merged by id, each as a whole", () => {
    const base = { upstreams: { a: { url, timeoutMs: 1000 }, b: { url } } };
    const own = { upstreams: { a: { url: "https://other.example.com/" } } };
    expect(mergeDocuments([base, own]).upstreams).toEqual({ a: { url: "https://other.example.com/" }, b: { url } });
  });
});

describe("a prefix of URIs", () => {
  it.each(["file:///a/", "issue:", "https://example.com/x?y="])("may be %s", (prefix) => {
    expect(broken({ up: { url, uris: [prefix] } })).toEqual([]);
  });

  it.each([
    ["file", /uris\.0: must be the beginning of a URI/],
    ["a b:", /the scheme and its colon/],
    ["file:///a b", /the scheme and its colon/],
    ["UI://x", /must not begin with "ui:"/],
  ])("may not be %j", (prefix, rule) => {
    expect(broken({ up: { url, uris: [prefix] } })).toEqual([expect.stringMatching(rule)]);
  });

  it("belongs to one upstream, however it is spelled", () => {
    const two = { a: { url, uris: ["HTTPS://Example.com/%41"] }, b: { url, uris: ["x:", "https://example.com/A"] } };
    expect(broken(two)).toEqual([
      "upstreams.a.uris.0: is already a prefix of upstream b",
      "upstreams.b.uris.1: is already a prefix of upstream a",
    ]);
  });
});
