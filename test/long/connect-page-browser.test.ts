// The connect page in Chromium, of an open tenant, of one with keys and of a profile: what it copies, where a key goes, and a tool
// that is called from it as any client calls it; and the block of it in the page of somebody's product.

import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import { startBrowser, type BrowserPage, type Look } from "../support/browser.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { sharedWorker } from "../support/start-worker.ts";

const { origin } = await sharedWorker("pages-worker", { ADMIN_TOKEN });
const admin = fixtureAdmin(origin, "pages");
const open = await startBrowser();

const LOOKS = [390, 1280].flatMap((width) => (["light", "dark"] as const).map((scheme) => ({ width, scheme })));
const ABOUT = {
  title: "Acme Weather",
  description: "Forecasts of all stations.",
  // Nobody is there: a letter stands in its place.
  icon: "https://127.0.0.1:9/icon.png",
  profiles: { field: { title: "Field crews", tools: { allow: ["forecast"] } } },
};
const WIDTH_OVER = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
/** Parts whose text is wider than they are, which would be cut or scrolled. */
const CUT = `[...document.querySelectorAll("#connect *")].filter((one) => one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1 && one.tagName !== "INPUT").map((one) => one.outerHTML.slice(0, 80))`;
const LATER = { timeout: 15_000 };
const OUT = ".out:not([hidden])";

const ids = { open: "", key: "" };
let key = "";

beforeAll(async () => {
  ids.open = await admin.tenant(ABOUT);
  ids.key = await admin.tenant({ ...ABOUT, mode: "key" });
  key = (await admin.key(ids.key)).token;
});

/** What is copied when the button says so, which it does for a moment. */
async function copied(page: BrowserPage, button: string): Promise<string> {
  await page.evaluate(
    `window.copied = new Promise((done) => {
      const button = document.querySelector(${JSON.stringify(button)});
      let copied;
      navigator.clipboard.writeText = async (text) => { copied = text; };
      new MutationObserver(() => { if (button.textContent === "Copied") done(copied); }).observe(button, { childList: true });
    }), 0`,
  );
  await page.click(button);
  return page.evaluate<string>("window.copied");
}

async function opened(path: string, look?: Look): Promise<BrowserPage> {
  const page = await open(look);
  await page.goto(origin + path);
  return page;
}

async function unlock(page: BrowserPage, token = key): Promise<void> {
  await page.fill("#key", token);
  await page.click("#use");
  await page.waitForSelector('[data-name="forecast"]');
}

async function forecast(page: BrowserPage): Promise<unknown> {
  await page.click('[data-name="forecast"] summary');
  // Of an open tenant the form is made when somebody looks.
  await page.waitForSelector('[data-name="forecast"] form');
  await page.fill('[data-name="forecast"] input', "Zürich");
  await page.click('[data-name="forecast"] button');
  await page.waitForSelector(OUT);
  return JSON.parse((await page.textContent(OUT)) ?? "");
}

describe.each(LOOKS)("at $width px, $scheme", (look) => {
  test("a tenant with keys takes one, shows its name and tools, and a tool is tried; nothing is cut", async () => {
    const page = await opened(`/mcp/${ids.key}`, look);
    expect(await page.textContent("h1")).toBe(ids.key);
    expect(await page.content()).not.toContain("Acme");
    expect([await page.evaluate(WIDTH_OVER), await page.evaluate(CUT)]).toEqual([0, []]);
    await unlock(page);
    await expect.poll(() => page.textContent("header"), LATER).toBe("AAcme Weather");
    expect(await forecast(page)).toEqual({ city: "Zürich", days: 3 });
    expect([await page.evaluate(WIDTH_OVER), await page.evaluate(CUT)]).toEqual([0, []]);
  });

  test("an open tenant and its profile show theirs, and a tool is tried without a key; nothing is cut", async () => {
    for (const [path, title] of [
      ["", "Acme Weather"],
      ["/field", "Field crews"],
    ] as const) {
      const page = await opened(`/mcp/${ids.open}${path}`, look);
      await expect.poll(() => page.textContent("header"), LATER).toBe(`${title[0]}${title}`);
      expect(await forecast(page)).toEqual({ city: "Zürich", days: 3 });
      const others = await page.evaluate<number>(`document.querySelectorAll("details").length - 1`);
      expect([path, others]).toEqual([path, path === "" ? 2 : 0]);
      for (const client of ["vscode", "python", "curl"]) {
        await page.click(`label[for="for-${client}"]`);
        expect([await page.evaluate(WIDTH_OVER), await page.evaluate(CUT)]).toEqual([0, []]);
      }
    }
  });
});

describe("a person", () => {
  test("copies the address and what a client needs, with the key in it once it is there", async () => {
    const page = await opened(`/mcp/${ids.key}/field`);
    const panel = "#for-claude-code + label + .panel .keyed [data-copy]";
    const command = (token: string) =>
      `claude mcp add --transport http ${ids.key}_field ${origin}/mcp/${ids.key}/field --header "Authorization: Bearer ${token}"`;
    expect(await copied(page, ".url [data-copy]")).toBe(`${origin}/mcp/${ids.key}/field`);
    expect(await copied(page, panel)).toBe(command("YOUR_KEY"));
    const header = `Authorization: Bearer ${key}`;
    for (const pasted of [
      ` ${key} `,
      `Bearer ${key}`,
      header,
      `"${key}"`,
      `'${header}'`,
      `"Authorization": "Bearer ${key}"`,
    ]) {
      await page.fill("#key", pasted);
      expect(await copied(page, panel)).toBe(command(key));
    }
    // Of what somebody was given as a key, a shell and a client would read the rest as something of theirs.
    await page.fill("#key", `"; \`$\{}()'${key}\\`);
    expect(await copied(page, panel)).toBe(command(key));
    const link = await page.evaluate<string>('document.querySelector(".add.keyed").href');
    const { searchParams } = new URL(link);
    expect([searchParams.get("name"), JSON.parse(atob(searchParams.get("config") ?? ""))]).toEqual([
      `${ids.key}_field`,
      { url: `${origin}/mcp/${ids.key}/field`, headers: { Authorization: `Bearer ${key}` } },
    ]);
  });

  test("is told of a wrong key, and that a tool may change something", async () => {
    const page = await opened(`/mcp/${ids.key}`);
    await page.fill("#key", "tnt_wrong");
    await page.click("#use");
    await page.waitForSelector("#said.bad");
    expect(await page.textContent("#said")).toContain("This key is not accepted");
    await unlock(page);
    await page.click('[data-name="forget_everything"] summary');
    expect(await page.textContent('[data-name="forget_everything"]')).toContain("may change something");
    expect(await page.evaluate(`document.querySelector('[data-name="forget_everything"] form')`)).toBeNull();
  });

  test("leaves the key nowhere but in the page, and asks no other address but the tenant's picture", async () => {
    const page = await opened(`/mcp/${ids.key}`);
    await unlock(page);
    expect(await page.evaluate("[localStorage.length, sessionStorage.length, document.cookie, location.href]")).toEqual(
      [0, 0, "", `${origin}/mcp/${ids.key}`],
    );
    const requests = await page.evaluate<string[]>(`performance.getEntriesByType("resource").map(({ name }) => name)`);
    expect(new Set(requests)).toEqual(new Set([`${origin}/mcp/${ids.key}`, ABOUT.icon]));
  });

  test("reads what a tool answers as text, also from a stream", async () => {
    const page = await opened(`/mcp/${ids.open}`);
    await page.click('[data-name="slow_count"] summary');
    await page.click('[data-name="slow_count"] button');
    await page.waitForSelector(OUT);
    expect(await page.textContent(OUT)).toBe("counted <b>three</b>");
  });
});

test("the block stands in a page of somebody's product, under that page's policy and out of reach of its styles", async () => {
  const policy = `default-src 'none'; style-src 'sha256-none'; script-src ${origin}; connect-src ${origin}`;
  const [, block = ""] = /^```html\n(.*?)\n```$/ms.exec(await readFile("docs/connect-page.md", "utf8")) ?? [];
  expect(block).toContain("https://mcp.example.com/connect.js?for=acme&");
  const html = (id: string, token: string) =>
    `<!doctype html><h1 id="connect">Product</h1>${block
      .replace("https://mcp.example.com", origin)
      .replace("for=acme", `for=${id}`)
      .replace("></script>", ` data-key="${token}"></script>`)}<p>after</p>`;
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/html", "content-security-policy": policy }).end(html(ids.key, key));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  afterAll(() => server.close());
  const page = await open();
  await page.goto(`http://localhost:${(server.address() as AddressInfo).port}/`);
  await page.waitForSelector('[data-name="forecast"]');
  expect(await page.textContent("div h1")).toBe("Acme Weather");
  expect(await forecast(page)).toEqual({ city: "Zürich", days: 3 });
  expect(
    await page.evaluate(
      `getComputedStyle(document.querySelector("div").shadowRoot.querySelector("#connect")).fontSize`,
    ),
  ).toBe("16px");
});

test("no page of somebody else shows it in a frame", async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end(`<iframe src="${origin}/mcp/${ids.key}"></iframe>`);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  afterAll(() => server.close());
  const page = await open();
  await page.goto(`http://localhost:${(server.address() as AddressInfo).port}/`);
  await expect.poll(() => page.frames().length).toBe(2);
  await expect.poll(() => page.frames()[1]?.url()).toMatch(/^chrome-error:/);
});
