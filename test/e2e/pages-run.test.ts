// The shell blocks of README.md and docs/*.md, typed one after the other beside an `npm start`: each page from the beginning, with what it says
// that it prints.

import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mkdtemp, rm } from "node:fs/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { startApplication, type Application } from "../support/application.ts";
import { pageBlocks, type PageBlock } from "../support/page-blocks.ts";
import { checkout, LEFT_OUT, standInsFor, typeAll, typedOf } from "./page-shell.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

/** Done word for word in a project of its own. */
const ELSEWHERE = { "docs/api-start.md": "test/e2e/api-start.test.ts", "docs/package.md": "test/e2e/init.test.ts" };

/** What a page says that it prints, or what shows that it did something. */
const PRINTS: Readonly<Record<string, readonly RegExp[]>> = {
  "README.md": [
    /Saved the note/,
    /acme is at/,
    /fetch +id/,
    /"jsonrpc":"2.0","id":1,"result"/,
    /"ready"/,
    /uploaded/,
    /^tnt_/m,
  ],
  "docs/admin-api.md": [/"url":".*\/mcp\/acme"/, /"token":"tnt_/, /"changed":true/],
  "docs/audit.md": [/of acme: unchanged/],
  "docs/clients.md": [/\{input:acme-key\}/, /"Authorization": "Bearer tnt_/, /ok +initialize/],
  "docs/gateway.md": [/tracker__search/, /^found$/m],
  "docs/gateway-calls.md": [/^found$/m],
  "docs/gateway-operate.md": [/tracker__search/],
  "docs/gateway-stdio.md": [/^headers +X-API-Key$/m, /^Echo: hello$/m],
  "docs/keys-and-profiles.md": [/note_read/, /"jsonrpc":"2.0","id":1,"result"/, /readers/],
  "docs/limits.md": [/toolCalls +5,?000/],
  "docs/login.md": [/\/mcp\/acme/, /tnt_/],
  "docs/metrics.md": [/policyFetches/],
  "docs/operations.md": [/acme/],
  "docs/stdio.md": [/"id":1/],
  "docs/webhooks.md": [/ops/],
};

/** Pages that go on from a tenant that is there, with what their first YAML says. */
const FROM_A_TENANT = ["audit", "limits", "state", "usage", "webhooks"].map((name) => `docs/${name}.md`);

const blocks = pageBlocks().filter(({ language, untried, page }) => {
  return language === "sh" && untried === undefined && !Object.hasOwn(ELSEWHERE, page);
});
const pages = [...new Set(blocks.map(({ page }) => page))];

/** What somebody has typed before. */
function before(page: string): PageBlock[] {
  if (!FROM_A_TENANT.includes(page)) return [];
  const yaml = pageBlocks().find((one) => one.page === page && one.language === "yaml")?.text ?? "";
  const text = `tenantry apply -f - <<'END'\nid: acme\n${yaml}END\n`;
  return [{ page, line: 0, language: "sh", text, untried: undefined }];
}

const isTyped = (page: string) => blocks.some((one) => one.page === page && typedOf(one.text, new Map()).trim() !== "");

let folder: string;
let application: Application;
let upstream: Upstream;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tenantry-pages-"));
  upstream = await startUpstream({
    search: () => ({ content: [{ type: "text", text: "found" }] }),
    echo: () => ({ content: [{ type: "text", text: "Echo: hello" }] }),
  });
  application = await startApplication(join(folder, "state"));
});

afterAll(async () => {
  await application.stop();
  upstream.close();
  await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

/** Each page begins with no tenant but the demo. */
beforeEach(async () => {
  const headers = { authorization: `Bearer ${application.adminToken}` };
  for (const id of ["acme", "globex"]) {
    const deleted = await fetch(`${application.origin}/admin/v1/tenants/${id}`, { method: "DELETE", headers });
    expect([200, 202, 204, 404]).toContain(deleted.status);
  }
});

describe("a page's shell blocks", () => {
  test("are on most pages that have some, and each line that is left out has its reason", () => {
    expect(pages.filter(isTyped).length).toBeGreaterThan(5);
    const lines = blocks.flatMap(({ text }) => text.split("\n"));
    for (const [pattern, why] of LEFT_OUT)
      expect(lines.filter((line) => pattern.test(line)).length, why).toBeGreaterThan(0);
    expect(Object.keys(PRINTS).filter((page) => !isTyped(page))).toEqual([]);
  });

  test.each(pages.filter(isTyped))("of %s do what it says", async (page) => {
    const here = checkout({ "token.txt": "what-the-tracker-wants" });
    onTestFinished(() => rmSync(here, { recursive: true, force: true }));
    const standIns = standInsFor(application, {
      "https://mcp.example.com/mcp": upstream.url,
      "http://127.0.0.1:8090/mcp": upstream.url,
      "https://ops.example.com/hooks": upstream.url,
      "$(openssl rand -base64 32)": application.adminToken,
    });
    const typed = await typeAll(
      [...before(page), ...blocks.filter((one) => one.page === page)],
      here,
      application,
      standIns,
    );
    expect(typed).toMatchObject({ exit: 0 });
    for (const said of PRINTS[page] ?? []) expect(typed.stdout).toMatch(said);
  });

  test("would be seen to fail", async () => {
    const here = checkout();
    onTestFinished(() => rmSync(here, { recursive: true, force: true }));
    const wrong = {
      page: "wrong.md",
      line: 1,
      language: "sh",
      text: "tenantry tenant show nobody\necho on\n",
      untried: undefined,
    };
    const typed = await typeAll([wrong], here, application, standInsFor(application));
    expect(typed.exit).not.toBe(0);
    expect(typed.stdout).toBe("");
  });
});
