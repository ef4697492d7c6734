// The application as a person starts it, used by the official TypeScript clients: v1 speaks era 2025, v2 era 2026.
// The first SDK (1.0.4, 2024-11-05) is not here: its only HTTP transport is HTTP+SSE, which is not served yet.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type Application, startApplication } from "../support/application.ts";
import { CutProxy } from "./cut-proxy.ts";
import { WAYS } from "../support/official-clients.ts";

/** What both clients have in common, as far as it is used here. */
interface AnyClient {
  listTools(): Promise<{ tools: { name: string }[] }>;
  listResources(): Promise<{ resources: { uri: string }[] }>;
  listResourceTemplates(): Promise<{ resourceTemplates: { uriTemplate: string }[] }>;
  listPrompts(): Promise<{ prompts: { name: string }[] }>;
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<object>;
  readResource(params: { uri: string }): Promise<object>;
  getPrompt(params: { name: string; arguments: Record<string, string> }): Promise<{ messages: object[] }>;
  complete(params: {
    ref: { type: "ref/resource"; uri: string } | { type: "ref/prompt"; name: string };
    argument: { name: string; value: string };
  }): Promise<{ completion: { values: string[] } }>;
}

const ABOUT = { name: "official-clients-test", version: "1" };
const NOTEBOOK_TOOLS = ["note_delete", "note_list", "note_read", "note_search", "note_write"];

let storage: string;
let application: Application;

beforeAll(async () => {
  storage = await mkdtemp(join(tmpdir(), "official-clients-"));
  application = await startApplication(storage);
});

afterAll(async () => {
  await application.stop();
  await rm(storage, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

const CLIENTS = [
  { title: "v1 client", slug: "v1", connect: async (): Promise<AnyClient> => (await connectV1()).client },
  { title: "v2 client", slug: "v2", connect: async (): Promise<AnyClient> => connectV2() },
];

test("the v1 client speaks 2025-11-25", async () => {
  const { transport } = await connectV1();
  expect(transport.protocolVersion).toBe("2025-11-25");
});

test("the v2 client negotiates 2026-07-28 by itself", async () => {
  const client = await connectV2();
  expect(client.getNegotiatedProtocolVersion()).toBe("2026-07-28");
});

describe.each(CLIENTS)("the official $title", ({ slug, connect }) => {
  test("lists the notebook: tools, template, prompt and the pages of the handbook", async () => {
    const client = await connect();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).toSorted()).toEqual(["fetch", ...NOTEBOOK_TOOLS, "search"]);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(["note://{id}"]);
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual(["summarize_notes"]);
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toContain("docs://tenantry/tenantry");
  });

  test("reads in the handbook of every tool, prompt and template of the notebook", async () => {
    const client = await connect();
    const page = JSON.stringify(await client.readResource({ uri: "docs://tenantry/the-shared-notebook" }));
    for (const name of [...NOTEBOOK_TOOLS, "search", "fetch", "summarize_notes", "note://{id}"]) {
      expect(page).toContain(`\`${name}\``);
    }
  });

  test("writes a note that note_read, note_search and note_list then show", async () => {
    const client = await connect();
    const id = `${slug}-plums`;
    const note = { id, title: `Plums ${slug}`, tags: ["fruit"] };
    expect(await write(client, { ...note, text: `Plums ripen in September, says ${slug}.` })).toMatchObject(note);
    expect(await call(client, "note_read", { id })).toMatchObject({
      ...note,
      text: `Plums ripen in September, says ${slug}.`,
    });
    const found = await call(client, "note_search", { query: `plums ${slug}` });
    expect(found).toMatchObject({ results: expect.arrayContaining([expect.objectContaining(note)]) });
    const listed = await call(client, "note_list", { tag: "fruit" });
    expect(listed).toMatchObject({ notes: expect.arrayContaining([expect.objectContaining(note)]) });
  });

  test("reads a note as a resource", async () => {
    const client = await connect();
    const uri = `note://${slug}-resource`;
    await write(client, { id: `${slug}-resource`, title: "Resource", text: "Read me by my URI." });
    expect(await client.readResource({ uri })).toMatchObject({
      contents: [{ uri, mimeType: "text/markdown", text: "Read me by my URI." }],
    });
  });

  test("gets the prompt, with the notes of a tag in it", async () => {
    const client = await connect();
    const tags = [`${slug}-tag`];
    await write(client, { id: `${slug}-prompt`, title: "Prompted", text: "We meet on Friday.", tags });
    const { messages } = await client.getPrompt({ name: "summarize_notes", arguments: { tag: `${slug}-tag` } });
    expect(messages).toHaveLength(2);
    expect(messages[1]).toMatchObject({
      content: {
        type: "resource",
        resource: { uri: `note://${slug}-prompt`, text: expect.stringContaining("We meet on Friday.") },
      },
    });
  });

  test("completes the id of a note and the tag of a prompt", async () => {
    const client = await connect();
    const tags = [`${slug}-completed-tag`];
    await write(client, { id: `${slug}-completed`, title: "Completed", text: "Found by its first letters.", tags });
    const ids = await client.complete({
      ref: { type: "ref/resource", uri: "note://{id}" },
      argument: { name: "id", value: `${slug}-compl` },
    });
    expect(ids.completion.values).toEqual([`${slug}-completed`]);
    const found = await client.complete({
      ref: { type: "ref/prompt", name: "summarize_notes" },
      argument: { name: "tag", value: `${slug}-compl` },
    });
    expect(found.completion.values).toEqual(tags);
  });

  test("deletes a note without a question when it cannot be asked", async () => {
    const client = await connect();
    const id = `${slug}-deleted`;
    await write(client, { id, title: "Deleted", text: "Soon gone." });
    expect(await call(client, "note_delete", { id })).toEqual({ id, deleted: true });
    expect(await client.callTool({ name: "note_read", arguments: { id } })).toMatchObject({ isError: true });
  });
});

describe("note_delete asks the person at the v2 client", () => {
  test("deletes the note when the answer is yes", async () => {
    const { client, requests } = await connectAnswering({ action: "accept", content: { confirm: true } });
    const id = "v2-confirmed";
    await write(client, { id, title: "Confirmed", text: "Gone after a yes." });
    expect(await call(client, "note_delete", { id })).toEqual({ id, deleted: true });
    expect(requests).toEqual([expect.stringContaining('Delete the note "Confirmed"')]);
    expect(await client.callTool({ name: "note_read", arguments: { id } })).toMatchObject({ isError: true });
  });

  test("keeps the note when the person declines", async () => {
    const { client, requests } = await connectAnswering({ action: "decline" });
    const id = "v2-declined";
    await write(client, { id, title: "Declined", text: "Still here." });
    expect(await call(client, "note_delete", { id })).toEqual({ id, deleted: false });
    expect(requests).toHaveLength(1);
    expect(await call(client, "note_read", { id })).toMatchObject({ text: "Still here." });
  });
});

describe.each(WAYS.filter(({ title }) => title.includes("HTTP")))("$title", (way) => {
  test("hears that somebody wrote the note it watches, and is asked before it deletes it", async () => {
    const proxy = await CutProxy.start(application.origin);
    const requests: string[] = [];
    const person = { form: { confirm: true }, onQuestion: (method: string) => void requests.push(method) };
    const place = { origin: proxy.origin, tenant: "demo" };
    const { notifications: received, read, watch, call: callTool } = await way.connect(place, person);
    const writer = await connectV2();
    const note = { id: "watched", title: "Watched" };
    await write(writer, { ...note, text: "Before." });
    await watch("note://watched");
    if (way.era === "2025") await proxy.opened(1);
    await write(writer, { ...note, text: "After." });
    await received.until("notifications/resources/updated");
    expect(await read("note://watched")).toBe("After.");
    expect(await callTool("note_delete", { id: "watched" })).toContain("Deleted the note");
    expect(requests).toEqual(["elicitation/create"]);
  });
});

test("a restart keeps the notes", async () => {
  const before = { id: "kept", title: "Kept", text: "Written before the restart.", tags: ["restart"] };
  await write(await connectV2(), before);

  await application.stop();
  await expect(fetch(`${application.origin}/healthz`)).rejects.toThrow();
  application = await startApplication(storage);

  for (const { connect } of CLIENTS) {
    const client = await connect();
    expect(await call(client, "note_read", { id: "kept" })).toMatchObject(before);
    expect(await client.readResource({ uri: "note://kept" })).toMatchObject({ contents: [{ text: before.text }] });
    const found = await call(client, "note_search", { query: "restart" });
    expect(found).toMatchObject({ results: [{ id: "kept" }] });
  }
});

function endpoint(): URL {
  return new URL("/mcp/demo", application.origin);
}

async function connectV1(): Promise<{ client: ClientV1; transport: TransportV1 }> {
  const client = new ClientV1(ABOUT);
  const transport = new TransportV1(endpoint());
  await client.connect(transport);
  onTestFinished(() => client.close());
  return { client, transport };
}

async function connectV2(client = new ClientV2(ABOUT, { versionNegotiation: { mode: "auto" } })): Promise<ClientV2> {
  await client.connect(new TransportV2(endpoint()));
  onTestFinished(() => client.close());
  return client;
}

/** A v2 client whose person always gives this answer, and the messages the person has seen. */
async function connectAnswering(
  answer: { action: "accept"; content: { confirm: boolean } } | { action: "decline" },
): Promise<{ client: ClientV2; requests: string[] }> {
  const requests: string[] = [];
  const client = new ClientV2(ABOUT, {
    capabilities: { elicitation: { form: {} } },
    versionNegotiation: { mode: "auto" },
  });
  client.setRequestHandler("elicitation/create", async ({ params }) => {
    requests.push(params.message);
    return answer;
  });
  return { client: await connectV2(client), requests };
}

/** The structured content of a tool call that succeeds. */
async function call(client: AnyClient, name: string, args: Record<string, unknown>): Promise<unknown> {
  const result: { isError?: boolean; structuredContent?: unknown } = await client.callTool({ name, arguments: args });
  expect(result.isError, JSON.stringify(result)).not.toBe(true);
  return result.structuredContent;
}

async function write(client: AnyClient, note: Record<string, unknown>): Promise<unknown> {
  return call(client, "note_write", note);
}
