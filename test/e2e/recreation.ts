// Everything that can be under way in a tenant while it is deleted and made again: calls, streams, uploads, parked
// questions and admin writes, each begun and left to be finished later.

import { openEvents } from "../support/event-reader.ts";
import { client2025, client2026, post, type Json } from "../support/mcp-client.ts";
import { startRaw, write } from "../support/raw-http.ts";
import { ADMIN_TOKEN, type WatchedWorker } from "../support/worker-pair.ts";

/** What came of it: a status, or that its connection ended without one. */
export interface Ended {
  readonly what: string;
  readonly status: number | undefined;
  /** Whatever else was said to its client after `finish` was called. */
  readonly text: string;
}

export interface UnderWay {
  readonly what: string;
  /** Sends what is left of it, and settles when it is over. Never rejects. */
  finish(): Promise<Ended>;
}

export interface Scene {
  readonly worker: WatchedWorker;
  readonly tenant: string;
  /** In everything that the tenant is told. */
  readonly mark: string;
}

export const SHARED_URI = "lab://shared";
const YES = { action: "accept", content: { yes: true } };
const AUTHORIZATION = { authorization: `Bearer ${ADMIN_TOKEN}` };
/** A stream that is still open then says nothing any more, as far as a test can wait for it. */
const PATIENCE_MS = 2500;

const urlOf = ({ worker, tenant }: Scene) => `${worker.origin}/mcp/${tenant}`;

/** A request of which half was sent; the head of its answer comes with the rest. */
function halfSent(
  what: string,
  url: string,
  sent: Parameters<typeof startRaw>[1] & { readonly text: string },
): UnderWay {
  const { text, ...about } = sent;
  const half = Math.floor(text.length / 2);
  const going = startRaw(url, { ...about, body: [text.slice(0, half)], unfinished: true });
  const status = going.begun.then(
    ({ response }) => response.resume().statusCode,
    () => undefined,
  );
  return {
    what,
    finish: async () => {
      going.finish(text.slice(half));
      return { what, status: await status, text: "" };
    },
  };
}

/** An admin write, of which the body is half sent. */
function adminWrite(scene: Scene, [method, path, type]: readonly [string, string, string], text: string): UnderWay {
  const url = `${scene.worker.origin}/admin/v1/tenants/${scene.tenant}${path}`;
  return halfSent(`${method} ${path}`, url, { method, text, headers: { ...AUTHORIZATION, "content-type": type } });
}

function callOf({ mark }: Scene, revision: string) {
  return write(revision, "tools/call", {
    name: "lab_burst",
    arguments: { uris: [`lab://${mark}/${revision}`, SHARED_URI], times: 1 },
  });
}

/** Begins to read at once, and tells what came after `finish`. */
async function stream(what: string, url: string, init: RequestInit): Promise<UnderWay> {
  const events = await openEvents(url, init);
  let output = "";
  let isLate = false;
  const over = (async () => {
    for (let event = await events.next(); event; event = await events.next()) if (isLate) output += `${event.data}\n`;
  })().catch(() => {});
  return {
    what,
    finish: async () => {
      isLate = true;
      await Promise.race([over, new Promise((resolve) => setTimeout(resolve, PATIENCE_MS))]);
      await events.close();
      return { what, status: undefined, text: output };
    },
  };
}

async function streams(scene: Scene): Promise<readonly UnderWay[]> {
  const url = urlOf(scene);
  const client = await client2025(url, "2025-11-25", { elicitation: {} });
  await client.request("resources/subscribe", { uri: SHARED_URI });
  const filter = { notifications: { toolsListChanged: true, resourceSubscriptions: [SHARED_URI] } };
  const listen = write("2026-07-28", "subscriptions/listen", filter);
  return Promise.all([
    stream("GET of a session", url, { headers: { ...client.headers } }),
    stream("subscriptions/listen", url, { method: "POST", headers: listen.headers, body: JSON.stringify(listen.body) }),
    stream("HTTP+SSE", url, { headers: { "mcp-protocol-version": "2024-11-05" } }),
  ]);
}

/** A tool that runs until after the tenant is gone, and writes then. */
async function slowTool(scene: Scene): Promise<UnderWay> {
  const { headers, body } = write("2026-07-28", "tools/call", {
    name: "lab_watch",
    arguments: { key: scene.mark, forMs: 2500, talk: true },
  });
  return stream("a tool that writes at its end", urlOf(scene), { method: "POST", headers, body: JSON.stringify(body) });
}

const PAY = (mark: string) => ({ name: "lab_pay", arguments: { key: mark } });

async function parked2025(scene: Scene): Promise<UnderWay> {
  const url = urlOf(scene);
  const { headers } = await client2025(url, "2025-11-25", { elicitation: {} });
  const events = await openEvents(url, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: "pay", method: "tools/call", params: PAY(scene.mark) }),
  });
  const { id } = await events.message(({ method }) => method === "elicitation/create");
  const what = "an answer of 2025";
  return {
    what,
    finish: async () => {
      const { status } = await post(url, { jsonrpc: "2.0", id, result: YES }, { headers: { ...headers } });
      await events.close();
      return { what, status, text: "" };
    },
  };
}

async function parked2026(scene: Scene): Promise<UnderWay> {
  const client = client2026(urlOf(scene), { elicitation: { form: {} } });
  const { result } = await client.request("tools/call", PAY(scene.mark));
  const inputResponses = Object.fromEntries(
    Object.keys((result.inputRequests ?? {}) as Json).map((name) => [name, YES]),
  );
  const what = "an answer of 2026";
  return {
    what,
    finish: async () => {
      const again = { ...PAY(scene.mark), requestState: result.requestState, inputResponses };
      const { status } = await client.request("tools/call", again);
      return { what, status, text: "" };
    },
  };
}

/** Everything at once. Throws where something cannot even begin. */
export async function beginAll(scene: Scene): Promise<readonly UnderWay[]> {
  const { mark } = scene;
  const json = "application/json";
  const held = ["2025-11-25", "2026-07-28"].map((revision) => {
    const { headers, body } = callOf(scene, revision);
    return halfSent(`a call of ${revision}`, urlOf(scene), { headers, text: JSON.stringify(body) });
  });
  const admin = (how: readonly [string, string, string], body: Json) => adminWrite(scene, how, JSON.stringify(body));
  return [
    ...held,
    adminWrite(scene, ["PUT", `/resources/content?uri=lab://${mark}/upload`, "text/plain"], `${mark} uploaded`),
    adminWrite(scene, ["PUT", `/resources/content?uri=${SHARED_URI}`, "text/plain"], "the same in both"),
    admin(["PUT", "/document", json], { mode: "open", title: mark, maxStalenessMs: 50 }),
    admin(["PUT", `/prompts/${mark}`, json], { messages: [{ role: "user", content: { type: "text", text: mark } }] }),
    admin(["POST", "/keys", json], { name: mark }),
    admin(["PUT", `/secrets/${mark.toUpperCase()}`, json], { value: mark }),
    admin(["POST", "/suspensions", json], { kind: "tool", name: "lab_echo", note: mark }),
    ...(await Promise.all([slowTool(scene), parked2025(scene), parked2026(scene)])),
    ...(await streams(scene)),
  ];
}
