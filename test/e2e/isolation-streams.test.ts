// Nobody hears, resumes, answers, cancels or ends across a boundary: the world of isolation.test.ts, its streams and its
// calls that wait. What somebody else's is answers as what never was, and goes on as if nobody had asked.

import { afterAll, beforeAll, expect, test } from "vitest";
import { openEvents, type EventReader } from "../support/event-reader.ts";
import {
  admitted,
  expectNothingForeign,
  inLanes,
  isSame,
  REVISIONS,
  shapeOf,
  viewerOf,
  type Viewer,
  type IsolationFixture,
} from "./isolation/visible.ts";
import {
  documents,
  has,
  makeFixture,
  maySee,
  store,
  storedText,
  storedUris,
  TENANTS,
  universe,
  type TenantName,
} from "./isolation/fixture.ts";
import { listenTo, type Listening } from "../support/listening.ts";
import { client2025, post, type Client, type Json } from "../support/mcp-client.ts";
import { startWorkerPair, type WorkerPair } from "../support/worker-pair.ts";

const [REVISION, LATER] = REVISIONS;
const STALENESS = 50;
const NEVER = "never-was";
const NEVER_URI = "never://was";

let workers: WorkerPair;
let fixture: IsolationFixture;
beforeAll(async () => {
  workers = await startWorkerPair();
  fixture = { workers, tokens: await makeFixture(workers.one, STALENESS) };
});
afterAll(() => workers.stop());

let combinations = 0;
const viewersOf = (revision: typeof REVISION | typeof LATER) =>
  admitted.map((viewpoint) => viewerOf(fixture, viewpoint, revision));

interface Seat {
  readonly viewer: Viewer;
  readonly client: Client;
}

/** Everybody with a session of their own. */
const seated = (): Promise<Seat[]> =>
  Promise.all(
    viewersOf(REVISION).map(async (viewer) => ({
      viewer,
      client: await client2025(viewer.url, REVISION, { elicitation: {} }, { ...viewer.credential }),
    })),
  );

/** What an answer says, whoever's names were asked for. */
async function told(viewer: Viewer, headers: Readonly<Record<string, string>>, method: string, name: string) {
  const accept = method === "GET" ? { accept: "text/event-stream" } : {};
  const response = await fetch(viewer.url, { method, headers: { ...headers, ...accept } });
  const text = await response.text();
  expectNothingForeign(viewer, text);
  const messages = text === "" ? [] : [JSON.parse(text) as Json];
  return { status: response.status, shape: shapeOf({ status: response.status, messages }, name) };
}

async function said(viewer: Viewer, headers: Readonly<Record<string, string>>, message: Json, name: string) {
  const reply = await post(viewer.url, message, { headers: { ...headers } });
  expectNothingForeign(viewer, reply.text);
  return { status: reply.status, shape: shapeOf(reply, name) };
}

const answerTo = (id: unknown) => ({ jsonrpc: "2.0", id, result: { action: "decline" } });
const cancel = (requestId: unknown) => ({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } });

function foreignTo<T extends { readonly viewer: Viewer }>(viewer: Viewer, owners: readonly T[]): T[] {
  const foreign = owners.filter((owner) => !isSame(owner.viewer, viewer));
  expect(foreign.length).toBeGreaterThanOrEqual(owners.length - 1);
  return foreign;
}

test("a session's stream is opened, and the session ended, by nobody else", async () => {
  const seats = await seated();
  const owners = await Promise.all(
    seats.map(async ({ viewer, client }) => ({ viewer, client, stream: await openEvents(viewer.url, client) })),
  );
  combinations += await inLanes(seats, async ({ viewer, client }) => {
    const at = (session: string) => ({ ...client.headers, "mcp-session-id": session });
    const foreign = foreignTo(viewer, owners);
    for (const method of ["GET", "DELETE"]) {
      const nobodys = await told(viewer, at(NEVER), method, NEVER);
      expect(nobodys.status).toBe(404);
      for (const owner of foreign) {
        const session = owner.client.headers["mcp-session-id"] ?? "";
        const theirs = await told(viewer, at(session), method, session);
        expect({ viewer, owner: owner.viewer, method, ...theirs }).toMatchObject(nobodys);
      }
    }
    return 2 * foreign.length;
  });
  // None was ended, and none was replaced: each owner ends it, and only then it is over.
  for (const { viewer, client, stream } of owners) {
    expect((await fetch(viewer.url, { method: "DELETE", headers: { ...client.headers } })).status).toBe(204);
    for (let event = await stream.next(); event; event = await stream.next()) expect(event.data).toBe("");
  }
});

/** By which a call that waits could be got at. */
interface Names {
  readonly request: string;
  readonly question: string;
  readonly eventId: string;
}

interface Waiting extends Seat, Names {
  readonly stream: EventReader;
}

const NOBODYS: Names = { request: NEVER, question: NEVER, eventId: "0123456789abcdef-0" };

/** A call that waits for its client's answer. */
async function ask({ viewer, client }: Seat): Promise<Waiting> {
  const request = crypto.randomUUID();
  const params = { name: "lab_pay", arguments: { key: request } };
  const stream = await openEvents(viewer.url, {
    method: "POST",
    headers: { "content-type": "application/json", ...client.headers },
    body: JSON.stringify({ jsonrpc: "2.0", id: request, method: "tools/call", params }),
  });
  for (let event = await stream.next(); event; event = await stream.next()) {
    if (event.data === "") continue;
    const question = String((JSON.parse(event.data) as Json)["id"]);
    return { viewer, client, stream, request, question, eventId: (event.id ?? "").replace(/\d+$/, "0") };
  }
  throw new Error("nothing was asked");
}

test("a call that waits is resumed, answered and cancelled by nobody else", async () => {
  const seats = await seated();
  const owners = await Promise.all(
    seats.filter(({ viewer }) => has(viewer, "tools", "lab_pay") !== undefined).map(ask),
  );
  combinations += await inLanes(seats, async ({ viewer, client }) => {
    const foreign = foreignTo(viewer, owners);
    const tryAll = async (headers: Readonly<Record<string, string>>, { request, question, eventId }: Names) => [
      await told(viewer, { ...headers, "last-event-id": eventId }, "GET", eventId),
      await said(viewer, headers, answerTo(question), question),
      await said(viewer, headers, cancel(request), request),
    ];
    const nobodys = await tryAll(client.headers, NOBODYS);
    const unseated = await tryAll({ ...client.headers, "mcp-session-id": NEVER }, NOBODYS);
    expect([...nobodys, ...unseated].map(({ status }) => status)).toEqual([400, 202, 202, 404, 404, 404]);
    for (const owner of foreign) {
      const stolen = { ...client.headers, "mcp-session-id": owner.client.headers["mcp-session-id"] ?? "" };
      const [mine, theirs] = [await tryAll(client.headers, owner), await tryAll(stolen, owner)];
      expect({ viewer, owner: owner.viewer, mine, theirs }).toMatchObject({ mine: nobodys, theirs: unseated });
    }
    return (nobodys.length + unseated.length) * foreign.length;
  });
  for (const { viewer, client, stream, request, question } of owners) {
    await post(viewer.url, answerTo(question), { headers: { ...client.headers } });
    const { result } = await stream.message(({ id }) => id === request);
    expect(result).toMatchObject({ content: [{ text: "not paid: decline" }] });
  }
});

test("subscribing says nothing of what there is", async () => {
  combinations += await inLanes(await seated(), async ({ viewer, client }) => {
    const shape = async (uri: string) => shapeOf(await client.request("resources/subscribe", { uri }), uri);
    const nothing = await shape(NEVER_URI);
    for (const uri of universe.resources)
      expect({ viewer, uri, shape: await shape(uri) }).toMatchObject({ shape: nothing });
    return universe.resources.length;
  });
});

const UPDATED = "notifications/resources/updated";
const LISTED = "notifications/resources/list_changed";

interface Ear {
  readonly viewer: Viewer;
  readonly listening: Listening;
}

/** Every tenant's tools are others now: everybody hears that, and what was told before it. */
async function heardUntil(ears: readonly Ear[], lab_echo: { readonly enabled: boolean }): Promise<Json[][]> {
  const heard = Promise.all(
    ears.map(async ({ listening }) => {
      const messages: Json[] = [];
      let message = await listening.next();
      for (; message["method"] !== "notifications/tools/list_changed"; message = await listening.next()) {
        messages.push(message);
      }
      return messages;
    }),
  );
  await Promise.all(
    TENANTS.map((tenant) => {
      const { tools, ...document } = documents[tenant];
      const changed = { ...document, tools: { ...tools, lab_echo }, maxStalenessMs: STALENESS };
      return workers.one.admin("PUT", `/tenants/${tenant}/document?wait=1`, changed);
    }),
  );
  return heard;
}

/** What each hears of what a tenant writes: all that it has, and something new that few may see. */
async function heardOf(ears: readonly Ear[], tenant: TenantName, fresh: string): Promise<Json[][]> {
  // Of the same size as before, so that no list shows the difference.
  const otherText = (uri: string) => storedText(tenant, uri).replace("otter", "OTTER");
  for (const uri of [...storedUris(tenant), fresh]) await store(workers.two.origin, tenant, uri, otherText(uri));
  // What is told together with the first change is told before the second.
  const [first, second] = [await heardUntil(ears, { enabled: false }), await heardUntil(ears, { enabled: true })];
  return first.map((messages, at) => [...messages, ...(second[at] ?? [])]);
}

test("everybody hears of what they may see, in their own tenant, and of nothing else", async () => {
  const fresh = (tenant: TenantName) => `${tenant}://secret/new`;
  const uris = [...universe.resources, ...TENANTS.map(fresh), NEVER_URI];
  const ears = await Promise.all(
    [...viewersOf(REVISION), ...viewersOf(LATER)].map(async (viewer) => {
      const { revision, url, credential } = viewer;
      return { viewer, listening: await listenTo(revision, url, { uris, headers: credential }) };
    }),
  );
  for (const tenant of TENANTS) {
    const written = [...storedUris(tenant), fresh(tenant)];
    const notifications = await heardOf(ears, tenant, fresh(tenant));
    for (const [at, { viewer }] of ears.entries()) {
      const messages = notifications[at] ?? [];
      const expected = viewer.tenant === tenant ? written.filter((uri) => maySee(viewer, "resources", uri)) : [];
      const updated = messages.flatMap(({ method, params }) =>
        method === UPDATED ? String((params as Json)["uri"]) : [],
      );
      expect({ viewer, updated: [...new Set(updated)].toSorted() }).toEqual({ viewer, updated: expected.toSorted() });
      const lists = messages.flatMap(({ method }) => (method === UPDATED ? [] : [method]));
      const changed = expected.includes(fresh(tenant)) ? [LISTED] : [];
      expect({ viewer, lists: [...new Set(lists)] }).toEqual({ viewer, lists: changed });
      combinations += uris.length;
    }
  }
});

test("that was thousands of combinations", () => {
  console.log(`${combinations} combinations`);
  expect(combinations).toBeGreaterThanOrEqual(5000);
});
