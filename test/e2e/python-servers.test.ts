// Servers on the Python SDK 1.x and 2.x and on FastMCP 4, behind a gateway: both official clients are answered what the server
// answers them without it. `npm test` asks stand-ins that say what was recorded of the real ones; the long tier asks the real
// ones where a Python has them.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  Client as ClientV2,
  SSEClientTransport as SseV2,
  StreamableHTTPClientTransport as HttpV2,
} from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport as SseV1 } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema, LoggingMessageNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import { laidOut } from "../../scripts/reference/reference-pages.ts";
import { CommandLine } from "../support/command-line.ts";
import { bearer, fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, startGatewayWorker } from "../support/gateway-tenant.ts";
import type { Json } from "../support/mcp-client.ts";
import {
  ANSWERS,
  call,
  LEND,
  LEND_IN_ANY_ERA,
  LISTS,
  LOGS,
  PLAIN,
  PUSH,
  STEPS,
  VISITS,
  type Answer,
  type ServerRequest,
} from "./python-servers/server-requests.ts";
import {
  interpreterOf,
  record,
  recordingFile,
  startReal,
  startStandIn,
  type PythonKind,
  type PythonServer,
} from "./python-servers/python-servers.ts";
import { sized } from "../support/tier.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "python");
const ABOUT = { name: "python-test", version: "1" };
const ID = "books";
const PREFIX = `${ID}__`;

type Version = "v1" | "v2";

interface Row {
  readonly server: string;
  readonly kind: PythonKind;
  /** Of its configuration at the gateway. */
  readonly era?: "2025";
  /** What it asks its client through the gateway, by the client. */
  readonly questions: Readonly<Partial<Record<Version, ServerRequest>>>;
  /** Its log messages reach a v1 client that asks for them; a v2 client has no word for it. */
  readonly logs: boolean;
  /** What it keeps in a session is there at the next call. */
  readonly keeps?: boolean;
}

const SDK_1 = "Python SDK 1.29.0";
const SDK_2 = "Python SDK 2.3.0";
const FASTMCP = "FastMCP 4.0.10 (Python)";
const of1 = (way?: PythonKind["way"]): PythonKind => ({ program: "sdk_1", eras: ["2025"], ...(way ? { way } : {}) });
const of2: PythonKind = { program: "sdk_2", eras: ["2025", "2026"] };
const ofFastMcp: PythonKind = { program: "fastmcp_4", eras: ["2025", "2026"] };

const ROWS: readonly Row[] = [
  { server: SDK_1, kind: of1(), questions: { v1: LEND }, logs: true, keeps: true },
  { server: `${SDK_1}, without sessions`, kind: of1("stateless"), questions: {}, logs: true },
  { server: `${SDK_1}, HTTP+SSE`, kind: of1("sse"), questions: { v1: LEND }, logs: true },
  { server: SDK_2, kind: of2, questions: { v2: LEND_IN_ANY_ERA }, logs: false },
  { server: `${SDK_2}, \`era: 2025\``, kind: of2, era: "2025", questions: { v1: LEND }, logs: true },
  { server: FASTMCP, kind: ofFastMcp, questions: {}, logs: true },
  { server: `${FASTMCP}, \`era: 2025\``, kind: ofFastMcp, era: "2025", questions: { v1: LEND }, logs: true },
];

/** The real one where the tier asks for it and a Python has it. */
async function startServer(kind: PythonKind): Promise<PythonServer> {
  const interpreter = sized({ usual: false, long: true }) ? await interpreterOf(kind.program) : undefined;
  return interpreter ? startReal(kind, interpreter) : startStandIn(kind);
}

interface Place {
  readonly url: string;
  readonly prefix: string;
  readonly headers: Readonly<Record<string, string>>;
}

type AnyClient = ClientV1 | ClientV2;
const ASKABLE = { elicitation: {} };

async function connectV1({ url, headers }: Place, capabilities: Json = {}): Promise<ClientV1> {
  const client = new ClientV1(ABOUT, { capabilities });
  const requestInit = { headers };
  await client.connect(url.endsWith("/sse") ? new SseV1(new URL(url)) : new HttpV1(new URL(url), { requestInit }));
  onTestFinished(() => client.close());
  return client;
}

async function connectV2({ url, headers }: Place, capabilities: Json = {}): Promise<ClientV2> {
  const client = new ClientV2(ABOUT, { capabilities, versionNegotiation: { mode: "auto" } });
  const requestInit = { headers };
  await client.connect(url.endsWith("/sse") ? new SseV2(new URL(url)) : new HttpV2(new URL(url), { requestInit }));
  onTestFinished(() => client.close());
  return client;
}

const CONNECT = { v1: connectV1, v2: connectV2 } as const;
const VERSIONS = ["v1", "v2"] as const;

interface Named {
  readonly name: string;
  readonly arguments?: Record<string, string>;
}

/** Names are the server's own; an error is told by its words. */
async function answerOf(client: AnyClient, { method, params }: ServerRequest, prefix: string): Promise<unknown> {
  const named = "name" in params ? { ...params, name: `${prefix}${String(params["name"])}` } : params;
  try {
    return plain(await ask(client, method, named, prefix), prefix);
  } catch (error) {
    return { refused: (error as Error).message };
  }
}

function ask(client: AnyClient, method: string, params: Json, prefix: string): Promise<object> {
  if (method === "tools/list") return client.listTools();
  if (method === "prompts/list") return client.listPrompts();
  if (method === "resources/list") return client.listResources();
  if (method === "resources/templates/list") return client.listResourceTemplates();
  if (method === "resources/read") return client.readResource(params as { uri: string });
  if (method === "prompts/get") return client.getPrompt(params as unknown as Named);
  if (method === "tools/call") return client.callTool(params as unknown as Named);
  const { ref, argument } = params as {
    ref: { type: string; name?: string };
    argument: { name: string; value: string };
  };
  const there = ref.name === undefined ? ref : { ...ref, name: `${prefix}${ref.name}` };
  return client.complete({ ref: there as { type: "ref/prompt"; name: string }, argument });
}

/** What era and place of an answer add to it, and the names of the gateway's own. */
const ADDED = new Set(["ttlMs", "cacheScope", "io.modelcontextprotocol/serverInfo"]);

function plain(value: unknown, prefix: string): unknown {
  if (Array.isArray(value)) return value.map((one) => plain(one, prefix));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).flatMap(([name, member]) => {
    if (ADDED.has(name) || name.startsWith("tenantry/")) return [];
    if (name === "name" && typeof member === "string" && member.startsWith(prefix))
      return [[name, member.slice(prefix.length)]];
    const inner = plain(member, prefix);
    return name === "_meta" && Object.keys(inner as object).length === 0 ? [] : [[name, inner]];
  });
  return Object.fromEntries(members);
}

async function progressOf(client: AnyClient, { params }: ServerRequest, prefix: string) {
  const messages: unknown[] = [];
  const onprogress = (told: unknown) => void messages.push(told);
  const args = { name: `${prefix}${String(params["name"])}`, arguments: {} };
  if (client instanceof ClientV1) await client.callTool(args, undefined, { onprogress });
  else await client.callTool(args, { onprogress });
  return messages;
}

async function logsOf(client: ClientV1, prefix: string) {
  const messages: unknown[] = [];
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void messages.push(params));
  // The SDKs know no such request, and log all the same.
  await client.setLoggingLevel("debug").catch(() => {});
  await answerOf(client, LOGS, prefix);
  return messages;
}

async function questionsOf(client: AnyClient, request: ServerRequest, prefix: string, answer: Answer) {
  const messages: unknown[] = [];
  const reply = ({ params }: { params: unknown }) => {
    messages.push(params);
    return { ...ANSWERS[answer] };
  };
  if (client instanceof ClientV1) client.setRequestHandler(ElicitRequestSchema, reply);
  else client.setRequestHandler("elicitation/create", reply);
  return { answer: await answerOf(client, request, prefix), messages };
}

const textIn = (answer: unknown) => (answer as { content?: { text?: string }[] }).content?.[0]?.text;

async function commandsIn(): Promise<CommandLine> {
  const folder = await mkdtemp(join(tmpdir(), "tenantry-python-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return new CommandLine(folder, { HOME: folder, TENANTRY_URL: origin, TENANTRY_TOKEN: ADMIN_TOKEN });
}

describe.each(ROWS)("$server", ({ kind, era, questions, logs, keeps = false }) => {
  let server: PythonServer;
  let there: Place;
  let tenant = "";
  /** Each asker brings a key, with a session of its own at the server. */
  let come: () => Promise<Place>;
  beforeAll(async () => {
    server = await startServer(kind);
    there = { url: server.url, prefix: "", headers: {} };
    const made = await gatewayTenant(origin, admin, { [ID]: { url: server.url, ...(era ? { era } : {}) } });
    tenant = made.id;
    come = async () => ({ url: made.url, prefix: PREFIX, headers: bearer((await admin.key(tenant)).token) });
  });
  afterAll(() => server.stop());

  const both = async (version: Version, capabilities?: Json) => {
    const here = await CONNECT[version](await come(), capabilities);
    return [await CONNECT[version](there, capabilities), here] as const;
  };

  test.each(VERSIONS)("answers the official %s client as it does without a gateway", async (version) => {
    const [direct, through] = await both(version);
    for (const request of [...LISTS, ...PLAIN]) {
      const expected = await answerOf(direct, request, "");
      expect(await answerOf(through, request, PREFIX), JSON.stringify(request)).toEqual(expected);
      expect(JSON.stringify(expected)).not.toContain("refused");
    }
  });

  test.each(VERSIONS)("tells its progress to the official %s client", async (version) => {
    const [direct, through] = await both(version);
    const expected = await progressOf(direct, STEPS, "");
    expect(expected).toMatchObject([{ progress: 1 }, { progress: 2 }, { progress: 3, total: 3, message: "step 3" }]);
    expect(await progressOf(through, STEPS, PREFIX)).toEqual(expected);
  });

  test(`logs ${logs ? "as" : "less than"} it does without a gateway`, async () => {
    const [direct, through] = await both("v1");
    const expected = await logsOf(direct as ClientV1, "");
    expect(expected).toHaveLength(3);
    expect(await logsOf(through as ClientV1, PREFIX)).toEqual(logs ? expected : []);
  });

  const asking = VERSIONS.flatMap((version) => {
    const request = questions[version];
    return request ? [[version, "accept", request] as const, [version, "decline", request] as const] : [];
  });
  if (asking.length > 0) {
    test.each(asking)("asks the %s client, which says %s", async (version, answer, request) => {
      const [direct, through] = await both(version, ASKABLE);
      const expected = await questionsOf(direct, request, "", answer);
      expect(expected.messages).toHaveLength(1);
      expect(await questionsOf(through, request, PREFIX, answer)).toEqual(expected);
    });
  }

  test("is called after a restart, in a new session where it had one, and the result says so", async () => {
    const [direct, through] = await both("v1");
    const visit = async () => {
      const { _meta, ...result } = await through.callTool({ name: `${PREFIX}count_visits`, arguments: {} });
      return { session: _meta?.["tenantry/session"], visits: textIn(result) };
    };
    expect(await visit()).toEqual({ visits: "1" });
    expect(await visit()).toEqual({ visits: keeps ? "2" : "1" });
    await server.restart();
    const hadSession = kind.way === undefined && (era === "2025" || !kind.eras.includes("2026"));
    expect(await visit()).toEqual(hadSession ? { session: "new", visits: "1" } : { visits: "1" });
    expect(await visit()).toEqual({ visits: keeps ? "2" : "1" });
    // The official client is told that its session is gone, or is not heard on a stream that is no more.
    if (hadSession)
      expect(await answerOf(direct, VISITS, "")).toMatchObject({
        refused: expect.stringContaining("Session not found") as string,
      });
  });

  test("has nothing that doctor or upstream test fail on", async () => {
    const cli = await commandsIn();
    const doctor = await cli.run(["doctor", server.url]);
    expect(doctor, doctor.stdout).toMatchObject({ exit: 0, stdout: expect.not.stringContaining("FAIL") as string });
    const tested = await cli.run(["upstream", "test", tenant, ID]);
    expect(tested, tested.stdout).toMatchObject({ exit: 0, stdout: expect.stringMatching(/^works +yes$/m) as string });
  });
});

test("the words of a 500 within a session reach the caller", async () => {
  const server = await startServer(of1("falls"));
  onTestFinished(() => server.stop());
  const made = await gatewayTenant(origin, admin, { [ID]: { url: server.url } });
  const headers = bearer((await admin.key(made.id)).token);
  const client = await connectV1({ url: made.url, prefix: PREFIX, headers });
  expect(textIn(await answerOf(client, PUSH, PREFIX))).toBe("pushed");
  await expect
    .poll(() => answerOf(client, call("shelf"), PREFIX))
    .toEqual({ refused: expect.stringContaining("Error handling POST request") as string });
});

const REAL = [of1(), of1("stateless"), of1("sse"), of1("falls"), of2, ofFastMcp];

const TITLED = REAL.map((kind) => ({ kind, title: [kind.program, kind.way].join(" ").trim() }));

test.each(TITLED)("the stand-in of $title says what the real one says", async ({ kind }) => {
  const server = await startServer(kind);
  onTestFinished(() => server.stop());
  const file = recordingFile(kind);
  // `--mode long -u` and the name of this file write it anew.
  await expect(laidOut(file, JSON.stringify(await record(kind, server)))).toMatchFileSnapshot(file);
});
