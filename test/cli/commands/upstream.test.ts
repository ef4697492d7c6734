// `tenantry upstream`: what is sent, what a person sees, and how it ends where an upstream does not work.

import { describe, expect, test } from "vitest";
import { Upstream } from "../../../src/admin/document-schema.ts";
import { jsonSchemaOf } from "../../../src/admin/schema-parts.ts";
import { validationErrors } from "../../support/validation-errors.ts";
import { commandLine } from "../../support/command-line.ts";

const URL = "https://mcp.example.com/mcp";

async function withTracker(url = URL) {
  const all = await commandLine();
  all.admin.addTenant("acme", { upstreams: { tracker: { url } } });
  return all;
}

describe("add", () => {
  test("writes what its options say, reads it, waits for that, and shows what it lists", async () => {
    const { admin, cli } = await commandLine();
    admin.addTenant("acme");
    const headers = ["--header", "Authorization: Bearer {{secret:T}}", "--header", "X-A:b"];
    const more = ["--era", "2026", "--timeout", "30s"];
    const { exit, stdout } = await cli.run(["upstream", "add", "acme", "tracker", URL, ...headers, ...more]);
    expect(exit).toBe(0);
    expect(admin.tenants.get("acme")?.own.upstreams).toEqual({
      tracker: {
        url: URL,
        era: "2026",
        headers: { Authorization: "Bearer {{secret:T}}", "X-A": "b" },
        timeoutMs: 30_000,
      },
    });
    const at = "/admin/v1/tenants/acme/upstreams/tracker";
    expect(admin.requests).toEqual([`GET ${at}`, `PUT ${at}`, `POST ${at}/refresh?wait=1`]);
    expect(stdout).toMatch(/^state +fresh$/m);
    expect(stdout).toMatch(/^lists +12 tools, 1 prompt, 2 resources, 0 resource templates$/m);
  });

  test("does not write over one that is there, unless told to", async () => {
    const { admin, cli } = await withTracker();
    const other = ["upstream", "add", "acme", "tracker", "https://other.example.com/mcp"];
    const { exit, stderr } = await cli.run(other);
    expect([exit, stderr]).toEqual([5, expect.stringContaining("--replace overwrites it")]);
    expect(admin.requests).toHaveLength(1);
    expect((await cli.run([...other, "--replace"])).exit).toBe(0);
    expect(admin.tenants.get("acme")?.own.upstreams?.["tracker"]?.url).toBe(other[4]);
  });

  test("writes that what it lists waits for approval, and says where that is seen", async () => {
    const { admin, cli } = await commandLine();
    admin.addTenant("acme");
    const { stdout, stderr } = await cli.run(["upstream", "add", "acme", "tracker", URL, "--trust", "review"]);
    expect(admin.tenants.get("acme")?.own.upstreams).toEqual({ tracker: { url: URL, trust: "review" } });
    expect(stdout).toMatch(/^trust +review$/m);
    expect(stderr).toContain("tenantry upstream pending acme tracker");
  });

  test("keeps the review of one that it writes over, unless told otherwise, and names what is gone", async () => {
    const { admin, cli } = await commandLine();
    const upstream = { url: URL, trust: "review" as const, timeoutMs: 5000, uris: ["file:///t/"] };
    admin.addTenant("acme", { upstreams: { tracker: upstream } });
    const other = ["upstream", "add", "acme", "tracker", "https://other.example.com/mcp", "--replace"];
    const { stderr } = await cli.run(other);
    const written = () => admin.tenants.get("acme")?.own.upstreams?.["tracker"];
    expect(written()).toEqual({ url: other[4], trust: "review" });
    expect(stderr).toContain("These fields of the old tracker were removed: timeoutMs, uris");
    await cli.run([...other, "--trust", "auto"]);
    expect(written()).toEqual({ url: other[4] });
  });

  test("does not add one that cannot be read, and ends as refused", async () => {
    const { admin, cli } = await commandLine();
    admin.addTenant("acme");
    const args = ["upstream", "add", "acme", "tracker", "https://away.example.com/mcp"];
    const { exit, stdout, stderr } = await cli.run(args);
    expect([exit, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(
      "tracker was not added to acme: gone fishing; --no-wait adds an upstream without reading it",
    );
    expect(admin.tenants.get("acme")?.own.upstreams ?? {}).toEqual({});
  });

  test("keeps one that it replaces, though the new one cannot be read", async () => {
    const { admin, cli } = await commandLine();
    admin.addTenant("acme", { upstreams: { tracker: { url: URL } } });
    const url = "https://away.example.com/mcp";
    const { exit, stderr } = await cli.run(["upstream", "add", "acme", "tracker", url, "--replace"]);
    expect([exit, stderr]).toEqual([1, expect.stringContaining("tracker of acme is stored, but could not be read")]);
    expect(admin.tenants.get("acme")?.own.upstreams?.["tracker"]).toEqual({ url });
  });

  test("reads nothing with --no-wait", async () => {
    const { admin, cli } = await commandLine();
    admin.addTenant("acme");
    const { stdout } = await cli.run(["upstream", "add", "acme", "tracker", URL, "--no-wait"]);
    expect(stdout).toContain("tracker of acme is added");
    expect(admin.requests.join()).not.toContain("refresh");
  });

  test.each([
    ["--header", "no colon"],
    ["--header", ": x"],
    ["--era", "2024"],
    ["--timeout", "5"],
    ["--retry", "6"],
    ["--retry", "-1"],
    ["--service", "BILLING"],
    ["--auth-scope", "read"],
    ["--auth-url", "https://id.example.com/token"],
  ])("refuses %s %s before anything is sent", async (option, value) => {
    const { admin, cli } = await commandLine();
    admin.addTenant("acme");
    expect((await cli.run(["upstream", "add", "acme", "tracker", URL, option, value])).exit).toBe(2);
    expect(admin.requests).toEqual([]);
  });
});

describe("the flags of add", () => {
  const FLAGS = [
    ["--service", "BILLING"],
    ["--path", "/other"],
    ["--era", "2026"],
    ["--header", "X-A: b"],
    ["--auth-url", "https://id.example.com/token"],
    ["--auth-client", "tenantry"],
    ["--auth-secret", "{{secret:T}}"],
    ["--auth-method", "client_secret_post"],
    ["--auth-scope", "read"],
    ["--auth-resource", "https://billing.example.com"],
    ["--timeout", "5s"],
    ["--retry", "2"],
    ["--uri", "file:///t/"],
    ["--trust", "review"],
    ["--disabled"],
  ].flat();
  const WRITTEN = {
    service: "BILLING",
    path: "/other",
    era: "2026",
    headers: { "X-A": "b" },
    auth: {
      kind: "client_credentials",
      tokenUrl: "https://id.example.com/token",
      clientId: "tenantry",
      clientSecret: "{{secret:T}}",
      method: "client_secret_post",
      scope: "read",
      resource: "https://billing.example.com",
    },
    timeoutMs: 5000,
    retry: 2,
    uris: ["file:///t/"],
    trust: "review",
    enabled: false,
  };

  const answerOf = (options: readonly string[]) => ["upstream", "add", "acme", "billing", ...options];

  test("say every member that a document may have beside the URL", () => {
    const isObject = (schema: object): schema is { properties: object } => "properties" in schema;
    const membersOf = (schema: object, at = ""): string[] =>
      isObject(schema)
        ? Object.entries(schema.properties).flatMap(([name, inner]) => membersOf(inner as object, `${at}${name}.`))
        : [at.slice(0, -1)];
    const isWritten = (path: string) =>
      path.split(".").reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], WRITTEN);
    const unsaid = membersOf(jsonSchemaOf(Upstream)).filter((path) => isWritten(path) === undefined);
    expect(unsaid).toEqual(["url"]);
  });

  test("write the member that they say", async () => {
    const { admin, cli } = await commandLine();
    admin.addTenant("acme");
    const { exit, stdout } = await cli.run(answerOf(FLAGS));
    expect([exit, stdout]).toEqual([0, expect.stringContaining("billing of acme is added; it is switched off")]);
    expect(admin.tenants.get("acme")?.own.upstreams).toEqual({ billing: WRITTEN });
    // Nobody reads what is switched off.
    expect(admin.requests.join()).not.toContain("refresh");
  });

  test("write what the schema of a document takes", () => {
    expect(validationErrors(Upstream, WRITTEN)).toEqual([]);
  });

  test.each([
    ["nothing to ask", []],
    ["a secret that is none's name", [URL, "--auth-url", URL, "--auth-client", "a", "--auth-secret", "plain"]],
  ])("refuse %s before anything is sent", async (_what, options) => {
    const { admin, cli } = await commandLine();
    admin.addTenant("acme");
    expect((await cli.run(answerOf(options))).exit).toBe(2);
    expect(admin.requests).toEqual([]);
  });
});

describe("list and show", () => {
  test("have each upstream with its state, its era, how much it lists and how much is left out, and why", async () => {
    const { admin, cli } = await withTracker();
    const { exit, stdout } = await cli.run(["upstream", "list", "acme"]);
    expect(exit).toBe(0);
    expect(stdout).toMatch(/^tracker +fresh +2026 +12 +1 +2 +4 .*https/m);
    admin.addTenant("globex", { upstreams: { tracker: { url: "https://away.example.com/mcp" } } });
    expect((await cli.run(["upstream", "list", "globex"])).stdout).toMatch(/com\/mcp +gone fishing$/m);
    expect(await cli.json("upstream", "list", "acme")).toMatchObject([{ id: "tracker", content: { quarantined: 4 } }]);
  });

  test("cut no reason short, however narrow the terminal is", async () => {
    const { admin, cli } = await commandLine();
    const url = "https://away.example.com/mcp";
    admin.addTenant("acme", { upstreams: { tracker: { url } } });
    const { stdout } = await cli.run(["upstream", "list", "acme"], { tty: true, columns: 40 });
    expect(stdout).toContain("gone fishing");
  });

  test("keep to the lines of a narrow terminal, with the reason below its upstream", async () => {
    const { admin, cli } = await withTracker();
    admin.addTenant("globex", { upstreams: { a: { url: "https://away.example.com/mcp" }, b: { url: URL } } });
    const { stdout } = await cli.run(["upstream", "list", "globex"], { tty: true, columns: 80 });
    expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
    expect(stdout).toMatch(/^UPSTREAM .* LEFT OUT\na +last good +2026 .* 4\n  gone fishing\nb +fresh /);
    const wide = await cli.run(["upstream", "list", "globex"], { tty: true, columns: 200 });
    expect(wide.stdout).toMatch(/ WHY$/m);
  });

  test("tell one that was never read from one that lacks something", async () => {
    const { admin, cli } = await withTracker();
    admin.addTenant("globex", { upstreams: { a: { url: "https://never.example.com/mcp" }, b: { url: URL } } });
    const { stdout } = await cli.run(["upstream", "list", "globex"]);
    expect(stdout).toMatch(/^a +not read +- /m);
    expect((await cli.run(["upstream", "show", "globex", "a"])).stdout).toMatch(/^state +not read$/m);
    expect(await cli.json("upstream", "show", "globex", "a")).toMatchObject({ state: "unread", content: null });
  });

  test("say under which names its tools and prompts are listed, where it has some", async () => {
    const { admin, cli } = await withTracker();
    const { stdout } = await cli.run(["upstream", "show", "acme", "tracker"]);
    expect(stdout).toMatch(/^names +tracker__NAME, each of them: tenantry call acme$/m);
    const env = { npm_lifecycle_event: "tenantry" };
    const inCheckout = await cli.run(["upstream", "show", "acme", "tracker"], { env });
    expect(inCheckout.stdout).toMatch(/^names +tracker__NAME, each of them: npm run -s tenantry -- call acme$/m);
    admin.addTenant("globex", { upstreams: { a: { url: "https://never.example.com/mcp" } } });
    expect((await cli.run(["upstream", "show", "globex", "a"])).stdout).not.toMatch(/^names/m);
  });

  test("say so where there are none", async () => {
    const { admin, cli } = await commandLine();
    admin.addTenant("acme");
    expect((await cli.run(["upstream", "list", "acme"])).stderr).toContain("tenantry upstream add acme ID URL");
    expect((await cli.run(["upstream", "show", "acme", "tracker"])).exit).toBe(3);
  });

  test("name no moment that is over as the next in which it is read", async () => {
    const { cli } = await withTracker();
    const { stdout } = await cli.run(["upstream", "show", "acme", "tracker"]);
    expect(stdout).toMatch(/^next read +at the next request to the tenant$/m);
  });

  test("name each definition that is left out, with its reason", async () => {
    const { cli } = await withTracker("https://away.example.com");
    const { stdout } = await cli.run(["upstream", "show", "acme", "tracker"]);
    expect(stdout).toMatch(/^why +gone fishing$/m);
    expect(stdout).toMatch(/^what to do +check that the server runs, and see its log$/m);
    expect(stdout).toMatch(/^since +2026-11-21T10:00:00Z$/m);
    expect(stdout).toMatch(/^bad +tools +inputSchema must be a schema$/m);
    expect(stdout).toContain("and 3 more");
    expect(stdout).toMatch(/^telling +tools +instruction$/m);
  });
});

describe("test", () => {
  test("says what the server calls itself, how it speaks and how long that took", async () => {
    const { cli } = await withTracker();
    const { exit, stdout } = await cli.run(["upstream", "test", "acme", "tracker"]);
    expect(exit).toBe(0);
    expect(stdout).toMatch(/^server +sums 7.1$/m);
    expect(stdout).toMatch(/^era +2026 \(2026-07-28\)$/m);
    expect(stdout).toMatch(/^took +7 ms$/m);
  });

  test("ends as refused where clients refuse what it lists, with a line for each and what helps", async () => {
    const { cli } = await withTracker("https://refused.example.com");
    const { exit, stdout, stderr } = await cli.run(["upstream", "test", "acme", "tracker"]);
    expect(exit).toBe(1);
    expect(stdout).toMatch(/^either +anyOf at the top +the server's operator must correct it; .* tools\.deny$/m);
    expect(stdout).toMatch(/^bad +tools +inputSchema must be a schema$/m);
    expect(stdout).toMatch(
      /^what to do +the server's operator must correct the definitions that tenantry upstream show lists$/m,
    );
    expect(stderr).toContain("tracker: clients refuse 5 definitions of it");
  });

  test("ends as refused where it does not work, in JSON too", async () => {
    const { cli } = await withTracker("https://away.example.com");
    const { exit, stdout, stderr } = await cli.run(["upstream", "test", "acme", "tracker", "--json"]);
    expect(exit).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ works: false, fault: "gone fishing" });
    expect(stderr).toContain("tracker: gone fishing");
  });
});

describe("refresh and remove", () => {
  test("read it now, and take it out of the document", async () => {
    const { admin, cli } = await withTracker();
    expect((await cli.run(["upstream", "refresh", "acme", "tracker"])).exit).toBe(0);
    expect(admin.requests.at(-1)).toBe("POST /admin/v1/tenants/acme/upstreams/tracker/refresh");
    expect((await cli.run(["upstream", "remove", "acme", "tracker"])).exit).toBe(2);
    const { stdout } = await cli.run(["upstream", "remove", "acme", "tracker", "--yes"]);
    expect(stdout).toContain("tracker of acme is removed");
    expect(admin.tenants.get("acme")?.own.upstreams).toEqual({});
  });
});

describe("remove", () => {
  const at = "/admin/v1/tenants/acme/upstreams/tracker";
  const args = ["upstream", "remove", "acme", "tracker", "--yes"];

  async function withBase(status: number) {
    const all = await withTracker();
    const ofBase = { id: "tracker", setBy: "base", url: "https://base.example.com/mcp" };
    const gone = { title: "Not found", detail: "There is no upstream tracker in the tenant's own document" };
    all.admin.intercept = ({ method, url }) => {
      if (url !== at) return undefined;
      if (method === "GET") return { json: ofBase };
      return status === 404 ? { status, json: gone } : { json: { changed: true } };
    };
    return all;
  }

  test("says of one that is a base's that it stays, and what switches it off", async () => {
    const { cli } = await withBase(404);
    const { exit, stderr } = await cli.run(args);
    expect([exit, stderr]).toEqual([
      5,
      expect.stringContaining(
        "tracker of acme still exists from a base document, at https://base.example.com/mcp: enabled: false",
      ),
    ]);
  });

  test("says that a base's serves in the place of the tenant's own", async () => {
    const { cli } = await withBase(200);
    const { exit, stdout, stderr } = await cli.run(args);
    expect([exit, stdout]).toEqual([0, "tracker of acme is removed\n"]);
    expect(stderr).toContain("tracker of acme still exists from a base document");
  });

  test("says of one that is nowhere that it is not there", async () => {
    const { admin, cli } = await commandLine();
    admin.addTenant("acme");
    expect((await cli.run(args)).exit).toBe(3);
  });
});

describe("while the server works", () => {
  test("a line turns on a terminal, and is gone afterwards", async () => {
    const { cli } = await withTracker();
    const { stderr } = await cli.run(["upstream", "refresh", "acme", "tracker"], { tty: true });
    expect(stderr).toContain("| Reading tracker");
    expect(stderr.endsWith("\r\u001b[2K")).toBe(true);
  });

  test.each([["--quiet"], ["--json"]])("nothing turns with %s", async (option) => {
    const { cli } = await withTracker();
    const { stderr } = await cli.run(["upstream", "refresh", "acme", "tracker", option], { tty: true });
    expect(stderr).toBe("");
  });

  test("what a server says cannot steer the terminal", async () => {
    const { admin, cli } = await withTracker();
    admin.rewrite = (json) => JSON.parse(JSON.stringify(json).replaceAll("sums", String.raw`\u001b[2Jsums`)) as unknown;
    const { stdout } = await cli.run(["upstream", "test", "acme", "tracker"], { tty: true });
    expect(stdout).toContain("␛[2Jsums");
  });
});
