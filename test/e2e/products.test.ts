// Three products as their authors have them, on the packed package: each is type-checked, its own tests run, and it is
// started with wrangler and called by the official client.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Client } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { exampleClient, ExampleProject, toolNamesOf } from "../support/example-project.ts";

function project(name: string): { readonly of: ExampleProject } {
  const made: { of?: ExampleProject } = {};
  beforeAll(async () => {
    made.of = await ExampleProject.of(name);
  }, 180_000);
  afterAll(() => made.of?.end(), 30_000);
  test("type-checks strictly, as a Node package does", () => made.of?.run("tsc"), 60_000);
  test("its own tests pass", () => made.of?.run("vitest", "run"), 120_000);
  return made as { readonly of: ExampleProject };
}

async function connected(url: string, token?: string): Promise<Client> {
  const client = await exampleClient(url, token);
  onTestFinished(() => client.close());
  return client;
}

function textOf({ content }: { readonly content: readonly object[] }): string {
  return content.map((block) => ("text" in block ? String(block.text) : "")).join("");
}

describe("examples/tickets: a tracker with D1", () => {
  const tickets = project("tickets");
  let origin: string;

  test("starts with its data", async () => {
    await tickets.of.run("wrangler", "d1", "execute", "DB", "--local", "--file", "schema.sql");
    origin = await tickets.of.start("--test-scheduled");
  }, 120_000);

  test("each company has its own tickets, and the tools that the database says", async () => {
    const acme = await connected(`${origin}/mcp/acme`);
    const globex = await connected(`${origin}/mcp/globex`);
    expect(await toolNamesOf(acme)).toEqual(["close_ticket", "list_tickets", "open_ticket"]);
    expect(await toolNamesOf(globex)).toEqual(["list_tickets"]);
    const listed = await acme.callTool({ name: "list_tickets", arguments: {} });
    expect(listed.structuredContent).toMatchObject({ tickets: [{ id: 7 }, { id: 8 }] });
    expect(JSON.stringify(listed)).not.toContain("Globex");
    await expect(globex.readResource({ uri: "ticket://7" })).rejects.toThrow("There is no ticket 7.");
  });

  test("a company that the database does not have is not found", async () => {
    const response = await fetch(`${origin}/mcp/nobody`, { method: "POST", body: "{}" });
    expect(response.status).toBe(404);
  });

  test("a ticket is closed once the person has said so, and stays open else", async () => {
    const acme = await connected(`${origin}/mcp/acme`);
    const answers = ["decline", "accept"] as const;
    let asked = 0;
    acme.setRequestHandler("elicitation/create", () => {
      const action = answers[asked++] ?? "cancel";
      return action === "accept" ? { action, content: { close: true } } : { action };
    });
    const close = () => acme.callTool({ name: "close_ticket", arguments: { id: 7 } });
    expect(textOf(await close())).toBe("Ticket 7 stays open.");
    expect(textOf(await close())).toBe("Ticket 7 is closed.");
    const { contents } = await acme.readResource({ uri: "ticket://7" });
    expect(contents).toMatchObject([{ uri: "ticket://7", mimeType: "application/json" }]);
    expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({ id: 7, state: "closed" });
  });

  test("what is not there is said to the caller, and what is broken is not", async () => {
    const acme = await connected(`${origin}/mcp/acme`);
    const missing = await acme.callTool({ name: "close_ticket", arguments: { id: 4711 } });
    expect(missing).toMatchObject({ isError: true, content: [{ type: "text", text: "There is no ticket 4711." }] });
    await tickets.of.run(
      "wrangler",
      "d1",
      "execute",
      "DB",
      "--local",
      "--command",
      "ALTER TABLE tickets RENAME TO gone",
    );
    const broken = await acme.callTool({ name: "list_tickets", arguments: {} });
    await tickets.of.run(
      "wrangler",
      "d1",
      "execute",
      "DB",
      "--local",
      "--command",
      "ALTER TABLE gone RENAME TO tickets",
    );
    expect(broken.isError).toBe(true);
    expect(JSON.stringify(broken)).not.toMatch(/D1_ERROR|no such table/);
  }, 60_000);

  test("the cron job tells who listens", async () => {
    const acme = await exampleClient(`${origin}/mcp/acme`);
    onTestFinished(() => acme.close());
    expect(
      (await acme.callTool({ name: "open_ticket", arguments: { title: "Late", due: "2020-01-01" } })).isError,
    ).toBeFalsy();
    const response = await fetch(`${origin}/__scheduled?cron=0+6+*+*+*`);
    expect(await response.text()).toMatch(/success|ok/i);
  });
});

describe("examples/rest-api: a REST API as tools", () => {
  const library = project("rest-api");
  let client: Client;
  const asked: string[] = [];

  beforeAll(async () => {
    const api = createServer((request, response) => {
      asked.push(`${request.headers.authorization} ${request.url}`);
      const { pathname, searchParams } = new URL(request.url ?? "/", "http://library");
      const page = Number(searchParams.get("page") || 0);
      if (pathname === "/books") {
        const items = [{ id: `b${page}`, title: `Book ${page}` }];
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify(page < 2 ? { items, next: String(page + 1) } : { items }));
      } else if (pathname === "/books/b0/cover") {
        response.setHeader("content-type", "image/png");
        response.end(Buffer.from([137, 80, 78, 71]));
      } else if (pathname === "/books/broken/cover") {
        response.statusCode = 500;
        response.end("stack of the API");
      } else {
        response.statusCode = 404;
        response.end();
      }
    }).listen(0, "127.0.0.1");
    await once(api, "listening");
    const host = `127.0.0.1:${(api.address() as AddressInfo).port}`;
    const vars = [`LIBRARY_API:http://${host}`, `OUTBOUND_ALLOW:http://${host}`, "CITY__API_KEY:key-of-the-city"];
    const origin = await library.of.start(...vars.flatMap((entry) => ["--var", entry]));
    client = await exampleClient(`${origin}/mcp/city`);
    return async () => {
      await client.close();
      api.close();
    };
  }, 120_000);

  test("its pages are the tool's pages, asked with the tenant's key", async () => {
    const first = await client.callTool({ name: "list_books", arguments: {} });
    expect(first.structuredContent).toEqual({ items: [{ id: "b0", title: "Book 0" }], next: "1" });
    const last = await client.callTool({ name: "list_books", arguments: { page: "2" } });
    expect(last.structuredContent).toEqual({ items: [{ id: "b2", title: "Book 2" }] });
    expect(new Set(asked.map((line) => line.split(" /")[0]))).toEqual(new Set(["Bearer key-of-the-city"]));
  });

  test("what is large is a resource, and what is binary an image", async () => {
    const { content } = await client.callTool({ name: "export_books", arguments: {} });
    const [link] = content;
    expect(link).toMatchObject({ type: "resource_link", name: "books.csv", mimeType: "text/csv" });
    const read = await client.readResource({ uri: (link as { uri: string }).uri });
    expect(read.contents).toMatchObject([{ text: 'b0,"Book 0"\nb1,"Book 1"\nb2,"Book 2"' }]);
    const cover = await client.callTool({ name: "cover", arguments: { id: "b0" } });
    expect(cover.content).toEqual([{ type: "image", data: "iVBORw==", mimeType: "image/png" }]);
  });

  test("a 404 is told to the model, and a 500 only to who runs this", async () => {
    const missing = await client.callTool({ name: "cover", arguments: { id: "nosuch" } });
    expect(textOf(missing)).toBe("The library does not have this.");
    const broken = await client.callTool({ name: "cover", arguments: { id: "broken" } });
    expect(broken.isError).toBe(true);
    expect(JSON.stringify(broken)).not.toMatch(/500|stack of the API|cover:/);
  });
});

describe("examples/mounted-app: beside an app with its own users", () => {
  const mounted = project("mounted-app");
  let origin: string;

  beforeAll(async () => {
    origin = await mounted.of.start();
  }, 120_000);

  test("the app's own pages are as they were", async () => {
    expect(await (await fetch(origin)).text()).toBe("Hello, stranger");
  });

  test("who is signed in to the app is the same person in every tool, and sees what is theirs", async () => {
    const ann = await connected(`${origin}/ai/mcp/red`, "token-of-ann");
    const ben = await connected(`${origin}/ai/mcp/red`, "token-of-ben");
    expect(textOf(await ann.callTool({ name: "whoami", arguments: {} }))).toBe("Ann of the team red");
    expect(textOf(await ben.callTool({ name: "whoami", arguments: {} }))).toBe("Ben of the team red");
    expect(await toolNamesOf(ann)).toEqual(["rename_team", "whoami"]);
    expect(await toolNamesOf(ben)).toEqual(["whoami"]);
  });

  test("who is not signed in gets the app's own answer, and nobody another team", async () => {
    const stranger = await fetch(`${origin}/ai/mcp/red`, { method: "POST", body: "{}" });
    expect(stranger.status).toBe(401);
    expect(await stranger.json()).toEqual({ error: "Sign in first" });
    await expect(exampleClient(`${origin}/ai/mcp/blue`, "token-of-ann")).rejects.toThrow();
  });
});
