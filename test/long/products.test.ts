// Three products as their authors have them, on the packed package: each is type-checked, its own tests run, and it is
// started with wrangler and called by the official client.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Client } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { exampleClient, ExampleProject, toolNamesOf } from "../support/example-project.ts";
import { ResumableCall } from "../support/resumable-call.ts";
import { listenTo } from "../support/listening.ts";
import { client2025, client2026, post } from "../support/mcp-client.ts";
import { write } from "../support/raw-http.ts";

const DAY_MS = 86_400_000;

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

  test("a company that the database does not have is answered as a closed one, which it may be", async () => {
    const { headers, body } = write("2026-07-28", "tools/list");
    const response = await post(`${origin}/mcp/nobody`, body, { headers });
    expect([response.status, response.text.includes("list_tickets")]).toEqual([401, false]);
  });

  test("a ticket is closed once the person has said so, and stays open else", async () => {
    const acme = await connected(`${origin}/mcp/acme`);
    const answers = ["decline", "accept"] as const;
    let requestCount = 0;
    acme.setRequestHandler("elicitation/create", () => {
      const action = answers[requestCount++] ?? "cancel";
      return action === "accept" ? { action, content: { close: true } } : { action };
    });
    const close = () => acme.callTool({ name: "close_ticket", arguments: { id: 7 } });
    expect(textOf(await close())).toBe("Ticket 7 stays open.");
    expect(textOf(await close())).toBe("Ticket 7 is closed.");
    const { contents } = await acme.readResource({ uri: "ticket://7" });
    expect(contents).toMatchObject([{ uri: "ticket://7", mimeType: "application/json" }]);
    expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({ id: 7, state: "closed" });
  });

  test("a ticket that is not there is said to the caller, and a broken database is not", async () => {
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
  }, 120_000);

  test("its tickets are listed as resources, each company's own", async () => {
    const { resources } = await (await connected(`${origin}/mcp/acme`)).listResources();
    expect(resources.map(({ uri }) => uri)).toEqual(["ticket://7", "ticket://8"]);
  });

  test("a ticket is due when the caller says, or when the company does", async () => {
    const acme = await connected(`${origin}/mcp/acme`);
    const dueOf = async (due?: string) => {
      const opened = await acme.callTool({ name: "open_ticket", arguments: { title: "Rain", ...(due && { due }) } });
      return (opened.structuredContent as { due: string }).due;
    };
    const before = new Date(Date.now() + 13 * DAY_MS).toISOString();
    expect(await dueOf("2099-01-01")).toBe("2099-01-01");
    expect((await dueOf()) > before).toBe(true);
  });

  test.each(["2025-11-25", "2026-07-28"])("the cron job tells who watches what is overdue, in %s", async (revision) => {
    const acme = await connected(`${origin}/mcp/acme`);
    const late = await acme.callTool({ name: "open_ticket", arguments: { title: "Late", due: "2020-01-01" } });
    const uri = `ticket://${(late.structuredContent as { id: number }).id}`;
    const listening = await listenTo(revision, `${origin}/mcp/acme`, { uris: [uri] });
    expect((await fetch(`${origin}/__scheduled?cron=0+6+*+*+*`)).status).toBe(200);
    await listening.before(uri);
    await listening.events.close();
  });
});

describe("examples/rest-api: a REST API as tools", () => {
  const library = project("rest-api");
  let client: Client;
  const requests: string[] = [];
  const slow = { arrival: Promise.withResolvers<void>(), left: Promise.withResolvers<void>() };

  beforeAll(async () => {
    const api = createServer((request, response) => {
      requests.push(`${request.headers.authorization} ${request.url}`);
      const { pathname, searchParams } = new URL(request.url ?? "/", "http://library");
      const page = Number(searchParams.get("page") || 0);
      if (pathname === "/books") {
        const items = [{ id: `b${page}`, title: `Book ${page}` }];
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify(page < 2 ? { items, next: String(page + 1) } : { items }));
      } else if (pathname === "/books/b0/cover") {
        response.setHeader("content-type", "image/png");
        response.end(Buffer.from([137, 80, 78, 71]));
      } else if (pathname === "/books/slow/cover") {
        response.on("close", slow.left.resolve);
        slow.arrival.resolve();
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
    expect(new Set(requests.map((line) => line.split(" /")[0]))).toEqual(new Set(["Bearer key-of-the-city"]));
  });

  test("a large answer is a resource, and a binary one an image", async () => {
    const { content } = await client.callTool({ name: "export_books", arguments: {} });
    const [link] = content;
    expect(link).toMatchObject({ type: "resource_link", name: "books.csv", mimeType: "text/csv" });
    const read = await client.readResource({ uri: (link as { uri: string }).uri });
    expect(read.contents).toMatchObject([{ text: 'b0,"Book 0"\nb1,"Book 1"\nb2,"Book 2"' }]);
    const cover = await client.callTool({ name: "cover", arguments: { id: "b0" } });
    expect(cover.content).toEqual([{ type: "image", data: "iVBORw==", mimeType: "image/png" }]);
  });

  test("a call that is cancelled leaves the API", async () => {
    const cancel = new AbortController();
    const { signal } = cancel;
    const called = client.callTool({ name: "cover", arguments: { id: "slow" } }, { signal });
    const ended = expect(called).rejects.toThrow();
    await slow.arrival.promise;
    cancel.abort();
    await Promise.all([ended, slow.left.promise]);
  });

  test("a 404 is told to the model, and a 500 only to the person who runs this", async () => {
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

  test("a person who is signed in to the app is the same in every tool, and sees what is theirs", async () => {
    const ann = await connected(`${origin}/ai/mcp/red`, "token-of-ann");
    const ben = await connected(`${origin}/ai/mcp/red`, "token-of-ben");
    expect(textOf(await ann.callTool({ name: "whoami", arguments: {} }))).toBe("Ann of the team red");
    expect(textOf(await ben.callTool({ name: "whoami", arguments: {} }))).toBe("Ben of the team red");
    expect(await toolNamesOf(ann)).toEqual(["rename_team", "whoami"]);
    expect(await toolNamesOf(ben)).toEqual(["whoami"]);
  });

  test("a person who is not signed in gets the app's own answer, and nobody gets another team", async () => {
    const stranger = await fetch(`${origin}/ai/mcp/red`, { method: "POST", body: "{}" });
    expect(stranger.status).toBe(401);
    expect(await stranger.json()).toEqual({ error: "Make a token in the settings first" });
    await expect(exampleClient(`${origin}/ai/mcp/blue`, "token-of-ann")).rejects.toThrow();
  });

  test("one URL is the endpoint of everybody's own team", async () => {
    const cem = await connected(`${origin}/ai/mcp`, "token-of-cem");
    expect(textOf(await cem.callTool({ name: "whoami", arguments: {} }))).toBe("Cem of the team blue");
  });

  describe("two who may do the same share nothing", () => {
    const CAPABILITIES = { elicitation: { form: {} } };
    const CALL = { name: "rename_team", arguments: { name: "Ruby" } };
    const YES = { action: "accept", content: {} };
    const as = (name: string) => ({ authorization: `Bearer token-of-${name}` });
    const url = () => `${origin}/ai/mcp/red`;
    const teamName = async () => {
      const { text } = await client2026(url(), {}, {}, as("ann")).request("resources/read", { uri: "team:name" });
      return text;
    };

    test("nobody answers what another one is asked, in era 2026", async () => {
      const ann = client2026(url(), CAPABILITIES, {}, as("ann"));
      const dan = client2026(url(), CAPABILITIES, {}, as("dan"));
      const { result } = await ann.request("tools/call", CALL);
      const requestState = result["requestState"];
      expect(requestState).toEqual(expect.any(String));
      const answered = { ...CALL, requestState, inputResponses: { sure: YES } };
      const refused = await dan.request("tools/call", answered);
      expect(refused.error?.message).toBe(
        "Invalid params: requestState belongs to another request; send the request again without it",
      );
      expect(await teamName()).not.toContain("Ruby");
      expect((await ann.request("tools/call", answered)).text).toContain("The team is Ruby now.");
      expect(await teamName()).toContain("Ruby");
    });

    test("nobody answers what another one is asked, or is in another one's session, in era 2025", async () => {
      const ann = await client2025(url(), "2025-11-25", CAPABILITIES, as("ann"));
      const dan = await client2025(url(), "2025-11-25", CAPABILITIES, as("dan"));
      const params = { ...CALL, arguments: { name: "Rose" } };
      const call = await ResumableCall.begin(url(), ann, { id: "rename", params });
      const asked = await call.next();
      expect(asked).toMatchObject({ method: "elicitation/create" });
      const answer = { jsonrpc: "2.0", id: asked?.["id"], result: YES };
      // In a session of his own it answers nothing; hers is not there for him.
      await post(url(), answer, { headers: dan.headers });
      const hers = { ...dan.headers, "mcp-session-id": ann.headers["mcp-session-id"] ?? "" };
      expect((await post(url(), answer, { headers: hers })).status).toBe(404);
      expect((await fetch(url(), { method: "DELETE", headers: hers })).status).toBe(404);
      expect(await teamName()).not.toContain("Rose");
      expect((await post(url(), answer, { headers: ann.headers })).status).toBe(202);
      expect(JSON.stringify(await call.next())).toContain("The team is Rose now.");
      await call.drop();
    });

    test("a team's resources are its members', and no other team's", async () => {
      const listed = async (name: string) => {
        const { result } = await client2026(`${origin}/ai/mcp`, {}, {}, as(name)).request("resources/list");
        return result["resources"];
      };
      expect(await listed("ann")).toMatchObject([{ uri: "team:name" }]);
      expect(await listed("dan")).toEqual(await listed("ann"));
      expect(await listed("cem")).toEqual([]);
    });
  });
});
