// The kinds of requests whose costs are counted: each in a tenant of its own, and what has to be there before. What is
// not written here is counted nowhere.

import { openEvents, type EventReader } from "../../support/event-reader.ts";
import { HOUR_MS, type BilledWorkers } from "./worker-pair-with-bills.ts";
import { storeText } from "../../support/fixture-admin.ts";
import { client2025, client2026, post, type Client, type Json } from "../../support/mcp-client.ts";
import type { Upstream } from "../../support/upstream.ts";
import { write } from "../../support/raw-http.ts";
import { ADMIN_TOKEN } from "../../support/worker-pair.ts";

/** Longer than any of them lasts by the clock, and over when the clock is moved on by an hour. */
const LEASE_MS = 300_000;
/** All that a session leaves is deleted then. */
const EIGHT_DAYS_MS = 8 * 24 * HOUR_MS;
const SESSION_REVISION = "2025-11-25";
const TEXT = "A text about otters, owls and an old oak. ".repeat(20);
const SEARCH = { name: "lab_list", arguments: { prefix: "lab://nothing" } };
const ECHO = { name: "lab_echo", arguments: { a: 1 } };

export interface Context {
  readonly workers: BilledWorkers;
  readonly upstream: Upstream;
}

/** A tenant of one kind, and what is done with it. */
export interface Scene {
  /** What was made an hour before the request. Without it there is nothing. */
  readonly before?: () => Promise<void>;
  /** What was made just before the request, such as a lease. */
  readonly just?: () => Promise<unknown>;
  readonly act: () => Promise<unknown>;
  readonly after?: () => Promise<unknown>;
}

export interface Kind {
  /** Requests to the Worker. */
  readonly requests: number;
  readonly laterMs?: number;
  scene(place: Place): Promise<Scene>;
}

export interface Place extends Context {
  readonly tenant: string;
  readonly url: string;
  readonly admin: (method: string, path: string, json?: unknown) => Promise<Json>;
}

const OPEN = { mode: "open", maxStalenessMs: LEASE_MS };

const make = ({ admin, tenant }: Place, document: Json = {}) =>
  admin("POST", "/tenants", { id: tenant, document: { ...OPEN, ...document } });

const ok = async (question: Promise<{ readonly error: unknown; readonly result: Json; readonly text: string }>) => {
  const { error, result, text } = await question;
  if (error !== undefined || result["isError"] === true) throw new Error(`refused: ${text}`);
};

const call = (client: Client, name: string, given: Json = {}) =>
  ok(client.request("tools/call", { name, arguments: given }));

const echo = ({ url }: Place) => call(client2026(url), ECHO.name, ECHO.arguments);

/** The object of the content is made at the first use: that costs once, and is on no bill but its own. */
const begin = async ({ url }: Place) => void (await client2026(url).request("tools/call", SEARCH));

/** In an open tenant, with a lease. */
function leased(act: (place: Place) => Promise<unknown>, before?: (place: Place) => Promise<unknown>) {
  return async (place: Place): Promise<Scene> => {
    await make(place);
    return {
      before: async () => {
        await begin(place);
        await before?.(place);
      },
      just: () => echo(place),
      act: () => act(place),
    };
  };
}

const uriOf = ({ tenant }: Place) => `lab://${tenant}/note`;

const store = (place: Place, text = TEXT) =>
  call(client2026(place.url), "lab_write", { uri: uriOf(place), name: "Note", text, tags: ["a", "b"] });

/** With twenty resources, and a profile that shows nothing else. */
function ofTwenty(act: (place: Place) => Promise<unknown>): Kind["scene"] {
  return async (place) => {
    const profiles = { stored: { resources: { allow: [`${uriOf(place)}-*`] } } };
    await make(place, { search: true, profiles });
    return {
      before: async () => {
        for (let at = 0; at < 20; at += 1) {
          const about = { uri: `${uriOf(place)}-${at}`, name: `Note ${at}`, text: `${at} ${TEXT}` };
          await call(client2026(place.url), "lab_write", about);
        }
      },
      just: () => echo(place),
      act: () => act(place),
    };
  };
}

/** A stream that begins just before, or is what is counted. */
async function listen(place: Place): Promise<EventReader> {
  const { headers, body } = write("2026-07-28", "subscriptions/listen", {
    notifications: { toolsListChanged: true, resourceSubscriptions: [uriOf(place)] },
  });
  const stream = await openEvents(place.url, { method: "POST", headers, body: JSON.stringify(body) });
  await stream.message();
  return stream;
}

/** A session's GET stream, once its first event is there. */
async function openGet({ url }: Place, { headers }: Client, lastEventId?: string): Promise<[EventReader, string]> {
  const from = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
  const stream = await openEvents(url, { headers: { ...headers, accept: "text/event-stream", ...from } });
  if (stream.status !== 200) throw new Error(`a stream was answered ${stream.status}`);
  return [stream, (await stream.next())?.id ?? ""];
}

/** With a session, and a lease. */
function inSession(act: (place: Place, client: Client) => Promise<unknown>, document: Json = {}) {
  return async (place: Place): Promise<Scene> => {
    await make(place, document);
    let client: Client | undefined;
    return {
      before: () => begin(place),
      just: async () => {
        client = await client2025(place.url, SESSION_REVISION);
      },
      act: () => act(place, client as Client),
    };
  };
}

async function wholeSession(place: Place): Promise<void> {
  const client = await client2025(place.url, SESSION_REVISION);
  const [stream] = await openGet(place, client);
  await ok(client.request("tools/list"));
  for (let calls = 0; calls < 19; calls += 1) await call(client, ECHO.name, ECHO.arguments);
  await fetch(place.url, { method: "DELETE", headers: client.headers });
  await stream.close();
}

/** A call that outlives its connections, to its result. */
async function storedCall({ url }: Place, { headers }: Client): Promise<void> {
  const body = {
    jsonrpc: "2.0",
    id: 7,
    method: "tools/call",
    params: { name: "lab_report", arguments: { reports: 3, everyMs: 20 }, _meta: { progressToken: "p" } },
  };
  const stream = await openEvents(url, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  await stream.message(({ id }) => id === 7);
  await stream.close();
}

async function overHttpSse({ url }: Place): Promise<void> {
  const stream = await openEvents(url);
  const endpoint = new URL((await stream.next())?.data ?? "", url).href;
  const send = (message: Json) => post(endpoint, { jsonrpc: "2.0", ...message });
  const params = { protocolVersion: "2024-11-05", capabilities: {}, clientInfo: { name: "test", version: "1" } };
  await send({ id: 1, method: "initialize", params });
  await stream.message(({ id }) => id === 1);
  await send({ method: "notifications/initialized" });
  await send({ id: 2, method: "tools/call", params: ECHO });
  await stream.message(({ id }) => id === 2);
  await stream.close();
}

/** `listeners`: streams that wait for what is written. */
function fanOut(listeners: number): Kind["scene"] {
  return async (place) => {
    await make(place);
    const streams: EventReader[] = [];
    return {
      before: () => store(place, "before"),
      just: async () => {
        await echo(place);
        for (let opened = 0; opened < listeners; opened += 1) streams.push(await listen(place));
      },
      act: async () => {
        await store(place, "after");
        await Promise.all(
          streams.map((stream) => stream.message(({ method }) => method === "notifications/resources/updated")),
        );
      },
      after: () => Promise.all(streams.map((stream) => stream.close())),
    };
  };
}

/** With the upstream `up`, that was read, and called once. */
function atUpstream(act: (place: Place) => Promise<unknown>): Kind["scene"] {
  return async (place) => {
    const upstreams = { up: { url: place.upstream.url, era: "2026" } };
    await make(place, { upstreams, profiles: { up: { tools: { allow: ["up__*"] } } } });
    const isRead = async () => {
      const { result } = await client2026(`${place.url}/up`).request("tools/list");
      return JSON.stringify(result["tools"]).includes("up__go");
    };
    return {
      before: async () => {
        // The first request has it read, and what was read is in the next lease.
        for (let tries = 0; !(await isRead()); tries += 1) {
          if (tries === 3) throw new Error("the upstream was not read");
          await place.workers.moveOn(LEASE_MS);
        }
      },
      just: async () => {
        await act(place);
        await place.workers.moveOn(1000);
        // Who had it read asks once more when it is due again.
        await act(place);
      },
      act: () => act(place),
      // It would be read again in the hours of others.
      after: () => place.admin("DELETE", `/tenants/${place.tenant}`),
    };
  };
}

const envelopeCall = async ({ workers, tenant }: Place) => {
  const message = { server_id: "up", jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "go" } };
  await ok(post(`${workers.one.origin}/gateway/${tenant}`, message));
};

const keyed = async (place: Place): Promise<Scene> => {
  await make(place, { mode: "key" });
  const { token } = await place.admin("POST", `/tenants/${place.tenant}/keys`, { name: "a" });
  const client = client2026(place.url, {}, {}, { authorization: `Bearer ${String(token)}` });
  const act = () => call(client, ECHO.name, ECHO.arguments);
  return { before: act, act };
};

export const KINDS: Readonly<Record<string, Kind>> = {
  "a call of 2026-07-28, with a cached policy": { requests: 1, scene: leased(echo) },
  "a call to an open tenant, without a cached policy": {
    requests: 1,
    scene: async (place) => {
      await make(place);
      return { before: () => echo(place), act: () => echo(place) };
    },
  },
  "a call with a key, without a cached policy": { requests: 1, scene: keyed },
  "another call with this key within the hour": {
    requests: 1,
    scene: async (place) => {
      const { before, act } = await keyed(place);
      return {
        ...(before && { before }),
        just: async () => {
          await act();
          await place.workers.moveOn(LEASE_MS);
        },
        act,
      };
    },
  },
  "a call in a session of 2025-11-25, with a cached policy": {
    requests: 1,
    scene: inSession((_place, client) => call(client, ECHO.name, ECHO.arguments)),
  },
  "a session with 24 requests and a stream": { requests: 24, laterMs: EIGHT_DAYS_MS, scene: leased(wholeSession) },
  "a session's stream opens": {
    requests: 1,
    scene: inSession(async (place, client) => (await openGet(place, client))[0].close()),
  },
  "a session's stream is opened again after half an hour": {
    requests: 1,
    scene: async (place) => {
      await make(place);
      let client: Client | undefined;
      let last = "";
      return {
        before: () => begin(place),
        just: async () => {
          client = await client2025(place.url, SESSION_REVISION);
          const [stream, id] = await openGet(place, client);
          last = id;
          await place.workers.moveOn(HOUR_MS / 2);
          await stream.close();
        },
        act: async () => (await openGet(place, client as Client, last))[0].close(),
      };
    },
  },
  "subscriptions/listen, with a cached policy": {
    requests: 1,
    scene: leased(async (place) => (await listen(place)).close()),
  },
  "subscriptions/listen is called again after half an hour": {
    requests: 1,
    scene: async (place) => {
      await make(place);
      return {
        before: async () => (await listen(place)).close(),
        act: async () => (await listen(place)).close(),
      };
    },
  },
  "reading a stored resource that is not in memory": {
    requests: 1,
    scene: leased(
      (place) => ok(client2026(place.url).request("resources/read", { uri: uriOf(place) })),
      (place) => store(place),
    ),
  },
  "reading a stored resource that is in memory": {
    requests: 1,
    scene: async (place) => {
      await make(place);
      const act = () => ok(client2026(place.url).request("resources/read", { uri: uriOf(place) }));
      return { before: () => store(place), just: act, act };
    },
  },
  "20 stored resources are listed": {
    requests: 1,
    scene: ofTwenty(({ url }) => ok(client2026(`${url}/stored`).request("resources/list"))),
  },
  "a search that finds 10 of 20": {
    requests: 1,
    scene: ofTwenty(({ url }) => call(client2026(url), "search", { query: "otters" })),
  },
  "a resource is written, with two tags": { requests: 1, scene: leased((place) => store(place)) },
  "the resource is written again with a new text": {
    requests: 1,
    scene: leased(
      (place) => store(place, `${TEXT} And more.`),
      (place) => store(place),
    ),
  },
  "an operator writes a resource": {
    requests: 1,
    scene: leased(({ workers, ...place }) =>
      storeText(workers.one.origin, ADMIN_TOKEN, { id: place.tenant, uri: `note://${place.tenant}`, text: TEXT }),
    ),
  },
  "a change is sent to 1 stream": { requests: 1, scene: fanOut(1) },
  "a change is sent to 21 streams": { requests: 1, scene: fanOut(21) },
  "a call to an upstream, with a cached policy": {
    requests: 1,
    scene: atUpstream(({ url }) => call(client2026(url), "up__go")),
  },
  "POST /gateway/{tenant}, with a cached policy": { requests: 1, scene: atUpstream(envelopeCall) },
  "a stored call in a session, with 3 notifications": {
    requests: 1,
    laterMs: EIGHT_DAYS_MS,
    scene: inSession(storedCall),
  },
  "HTTP+SSE: opening a stream, initialize and one call": {
    requests: 4,
    laterMs: EIGHT_DAYS_MS,
    scene: leased(overHttpSse),
  },
  "the first search of a tenant": {
    requests: 1,
    scene: async (place) => {
      await make(place);
      return { just: () => echo(place), act: () => begin(place) };
    },
  },
  "a tenant is created": { requests: 1, scene: async (place) => ({ act: () => make(place) }) },
  "a document is applied": {
    requests: 1,
    scene: leased(({ admin, tenant }) => admin("PUT", `/tenants/${tenant}/document`, { ...OPEN, title: "New" })),
  },
  "a tenant's first call in an isolate": {
    requests: 1,
    scene: async (place) => {
      await make(place);
      const url = `${place.workers.two.origin}/mcp/${place.tenant}`;
      return { before: () => echo(place), act: () => echo({ ...place, url }) };
    },
  },
  "an unknown tenant name": {
    requests: 1,
    scene: async ({ url }) => ({ act: () => client2026(url).request("tools/list") }),
  },
};
