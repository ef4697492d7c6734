// One walk from nothing to a tenant and on to another server, as somebody new to it takes it: `npm start`, the command line,
// and both official clients. Nothing inside the application is reached for.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type Application, startApplication } from "../support/application.ts";
import { CommandLine } from "../support/command-line.ts";
import { makeFiles, noise, sha256, uriOf, writeFolder, type MadeFile } from "./sample-files.ts";
import { sized } from "../support/tier.ts";

interface Contents {
  contents: { uri: string; mimeType?: string; text?: string; blob?: string }[];
}

/** What both clients have in common, as far as it is used here. */
interface AnyClient {
  listTools(): Promise<{ tools: { name: string }[] }>;
  listResources(params?: { cursor: string }): Promise<{ resources: Listed[]; nextCursor?: string | undefined }>;
  readResource(params: { uri: string }): Promise<object>;
}

interface Listed {
  uri: string;
  name: string;
  mimeType?: string | undefined;
  size?: number | undefined;
}

/** As `tenantry resource list --json` says it. */
interface Stored extends Listed {
  binary: boolean;
  sha256: string;
  tags: string[];
}

const ROOT = join(import.meta.dirname, "../..");
const PREFIX = "docs://handbook/";
const HALF = sized({ usual: 60, long: 500 });
const ALL = 2 * HALF;
const LARGE = 20 * 1024 * 1024;
const DOCUMENT = `id: acme
title: "Acme: the handbook"
mode: key
search: true
limits: { resources: 5000 }
profiles:
  public:
    title: For guests
    tools: { deny: [note_write, note_delete] }
    resources: { deny: ["${PREFIX}internal/*"] }
`;
const PUBLIC_TOOLS = ["fetch", "note_list", "note_read", "note_search", "search"];

const hidden = makeFiles("internal", HALF);
const shown: readonly MadeFile[] = [
  ...makeFiles("public", HALF - 1),
  { name: "public/large.bin", body: noise("large", LARGE) },
];

let folder: string;
let here: Application;
let there: Application;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "walk-"));
  here = await startApplication(join(folder, "state-here"));
  there = await startApplication(join(folder, "state-there"));
  await writeFolder(join(folder, "handbook"), [...hidden, ...shown]);
  await writeFile(join(folder, "tenant.yaml"), DOCUMENT);
});

afterAll(async () => {
  await here.stop();
  await there.stop();
  await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

test("from a file to a tenant that clients read, and from its export to the same tenant elsewhere", async () => {
  const cli = commandLine(here);
  expect(await cli.print("apply", "-f", file("tenant.yaml"))).toContain("acme: created at");
  expect(await put(cli)).toBe(`${ALL} files: ${ALL} uploaded, 0 unchanged\n`);
  const key = (await cli.print("key", "create", "acme", "--name", "walk")).trim();
  await expectRefusal(here, "not-a-key", 401);

  const clients = await connectBoth(here, key);
  for (const client of clients) await expectHiddenRefused(client);
  const changed = shown[40] as MadeFile;
  await expectChange(cli, clients, changed);
  const listed = await Promise.all(clients.map((client) => expectHalf(client)));
  expect(listed[0]).toEqual(listed[1]);

  const stored = await storedIn(cli);
  expect(await cli.print("export", "acme", "-o", file("export"))).toContain(`${ALL} resources, ${ALL} loaded`);
  await cli.print("tenant", "delete", "acme", "--yes");
  await expectRefusal(here, key, 401);
  for (const client of clients) await expect(client.listResources()).rejects.toThrow();

  const elsewhere = commandLine(there);
  expect(await elsewhere.print("apply", "-f", file("export"))).toContain(`${ALL} files: ${ALL} uploaded`);
  expect(await elsewhere.print("apply", "-f", file("export"), "--dry-run")).toBe(
    "acme: nothing to change (revision 1)\nResources: nothing to change\n",
  );
  expect((await elsewhere.execute(["diff", "-f", file("export"), "--prune", "--exit-code"])).exit).toBe(0);
  expect((await elsewhere.execute(["diff", "-f", file("tenant.yaml"), "--exit-code"])).exit).toBe(0);
  expect(await storedIn(elsewhere)).toEqual(stored);

  // A key opens one tenant on one server.
  await expectRefusal(there, key, 401);
  const itsKey = (await elsewhere.print("key", "create", "acme", "--name", "walk")).trim();
  const itsClients = await connectBoth(there, itsKey);
  for (const client of itsClients) expect(await expectHalf(client)).toEqual(listed[0]);
  const bodies = new Map([...contents(shown), [uriOf(PREFIX, changed), CHANGED]]);
  const [v1, v2] = itsClients as [AnyClient, AnyClient];
  await Promise.all([expectBodies([v1], everyTenth(bodies)), expectBodies([v2], bodies)]);
});

function file(name: string): string {
  return join(folder, name);
}

/** Run where the repository is, as the README says: there it finds the development token of `npm start`. */
function commandLine(application: Application): CommandLine {
  return new CommandLine(ROOT, { HOME: folder, TENANTRY_URL: application.origin });
}

function put(cli: CommandLine): Promise<string> {
  return cli.print("resource", "put", "acme", file("handbook"), "--prefix", PREFIX);
}

async function connectBoth(application: Application, key: string): Promise<AnyClient[]> {
  const url = new URL("/mcp/acme/public", application.origin);
  const options = { requestInit: { headers: { authorization: `Bearer ${key}` } } };
  const about = { name: "walk-test", version: "1" };
  const v1 = new ClientV1(about);
  await v1.connect(new TransportV1(url, options));
  onTestFinished(() => v1.close());
  const v2 = new ClientV2(about, { versionNegotiation: { mode: "auto" } });
  await v2.connect(new TransportV2(url, options));
  onTestFinished(() => v2.close());
  expect(v2.getNegotiatedProtocolVersion()).toBe("2026-07-28");
  return [v1, v2];
}

/** Exactly what the profile shows; answers the list. */
async function expectHalf(client: AnyClient): Promise<unknown[]> {
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name).toSorted()).toEqual(PUBLIC_TOOLS);
  const resources: Listed[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.listResources(cursor === undefined ? undefined : { cursor });
    resources.push(...page.resources);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  expect(resources.map(({ uri }) => uri)).toEqual(shown.map((one) => uriOf(PREFIX, one)).toSorted());
  return resources.map(({ uri, name, mimeType, size }) => ({ uri, name, mimeType, size }));
}

async function expectHiddenRefused(client: AnyClient): Promise<void> {
  for (const one of [hidden[0], hidden[HALF - 1]] as MadeFile[]) {
    await expect(client.readResource({ uri: uriOf(PREFIX, one) })).rejects.toThrow(/not found/i);
  }
}

const CHANGED = Buffer.from("# Changed\n\nWritten after both clients had read it.\n");

async function expectChange(cli: CommandLine, clients: readonly AnyClient[], changed: MadeFile): Promise<void> {
  await expectBodies(clients, contents([changed]));
  await writeFolder(file("handbook"), [{ ...changed, body: CHANGED }]);
  expect(await put(cli)).toBe(`${ALL} files: 1 uploaded, ${ALL - 1} unchanged\n`);
  await expectBodies(clients, new Map([[uriOf(PREFIX, changed), CHANGED]]));
}

function contents(files: readonly MadeFile[]): Map<string, Buffer> {
  return new Map(files.map((one) => [uriOf(PREFIX, one), one.body]));
}

function everyTenth<K, V>(map: ReadonlyMap<K, V>): Map<K, V> {
  return new Map([...map].filter((_, at) => at % 10 === 0));
}

async function expectBodies(clients: readonly AnyClient[], bodies: ReadonlyMap<string, Buffer>): Promise<void> {
  for (const client of clients) {
    const read: [string, string][] = [];
    for (const uri of bodies.keys()) {
      const [first] = ((await client.readResource({ uri })) as Contents).contents;
      const body = first?.blob === undefined ? Buffer.from(first?.text ?? "") : Buffer.from(first.blob, "base64");
      read.push([uri, sha256(body)]);
    }
    expect(read).toEqual([...bodies].map(([uri, body]) => [uri, sha256(body)]));
  }
}

/** Everything, hidden or not, without what says when it was written. */
async function storedIn(cli: CommandLine): Promise<unknown[]> {
  const all = JSON.parse(await cli.print("resource", "list", "acme", "--json")) as Stored[];
  expect(all).toHaveLength(ALL);
  return all.map(({ uri, name, mimeType, size, binary, sha256: hash, tags }) => {
    return { uri, name, mimeType, size, binary, hash, tags };
  });
}

async function expectRefusal(application: Application, key: string, status: number): Promise<void> {
  const answer = await fetch(new URL("/mcp/acme/public", application.origin), {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
  });
  expect(answer.status).toBe(status);
}
