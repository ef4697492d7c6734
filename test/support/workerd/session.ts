// Fresh sessions for tests inside the Worker: a real object, calls to store in it, and the sockets of those who run and
// view them.

import { runInDurableObject } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import type { NewCall, NewQuestion } from "../../../src/sessions/call-store.ts";
import { openSessionSocket, type SessionStub } from "../../../src/sessions/session-stub.ts";
import type { QuestionBatch } from "../../../src/sessions/stored-calls.ts";
import type { SessionObject } from "../../../src/sessions/session-object.ts";
import type { RunnerMessage, ViewerMessage } from "../../../src/streams/socket-messages.ts";
import { listening } from "./sockets.ts";

/** A session that no other test knows, in whichever file: several share a Worker. */
export function freshSession(): SessionStub {
  return exports.SessionObject.getByName(`tenant/${crypto.randomUUID()}`);
}

/** When a session ends that is meant to outlive its test. */
export const later = () => Date.now() + 3_600_000;

/** Of a tenant that does not exist: whoever runs it ends it with a refusal. */
const RECORD = {
  mount: "",
  tenant: "nobody",
  created: "",
  profile: null,
  keyHash: null,
  principal: "anonymous",
  owner: "anonymous",
  hops: 0,
  requestId: "request",
  revision: "2025-11-25",
  session: { unofficial: false, capabilities: {}, nonce: "nonce", expires: 4_102_444_800_000 },
  call: { id: 1, method: "tools/call", params: {} },
};

export function recordOf(about: Partial<typeof RECORD> = {}): string {
  return JSON.stringify({ ...RECORD, ...about });
}

export function newCall(key: string, about: Partial<NewCall> = {}): NewCall {
  return {
    key,
    request: '"request"',
    record: recordOf(),
    fallback: '{"fallback":true}',
    notificationCount: 0,
    repeatable: true,
    ...about,
  };
}

export function questionOf(id: string, about: Partial<NewQuestion> = {}): NewQuestion {
  return { id, name: id, digest: `digest of ${id}`, json: `{"question":"${id}"}`, ...about };
}

/** What the first run of the call asks, unless it says otherwise. */
export function askOf(
  key: string,
  questions: readonly NewQuestion[],
  about: Partial<QuestionBatch> = {},
): QuestionBatch {
  return { call: newCall(key), key, attempt: 1, memos: "{}", questions, ...about };
}

export function viewerOf(session: SessionStub, call: string, after = 0) {
  return listening<ViewerMessage>(openSessionSocket(session, { as: "viewer", call }, after));
}

export function runnerOf(session: SessionStub, call: string, request = '"request"') {
  return listening<RunnerMessage>(openSessionSocket(session, { as: "runner", request, call }));
}

export interface Stored {
  readonly entries: number;
  readonly tables: readonly string[];
  readonly alarm: number | null;
}

export const NOTHING: Stored = { entries: 0, tables: [], alarm: null };

export function storedIn(session: SessionStub): Promise<Stored> {
  return runInDurableObject(session, async (_instance, { storage }) => ({
    entries: [...storage.kv.list()].length,
    tables: storage.sql
      .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE name NOT LIKE '%cf%' AND name NOT LIKE 'sqlite%'")
      .toArray()
      .map(({ name }) => name),
    alarm: await storage.getAlarm(),
  }));
}

export function rowsIn(session: SessionStub, query: string): Promise<Record<string, SqlStorageValue>[]> {
  return runInDurableObject(session, (_instance, { storage }) => storage.sql.exec(query).toArray());
}

/** Inside the object, where a thousand calls are quick. */
export function within<R>(session: SessionStub, work: (instance: SessionObject) => Promise<R>): Promise<R> {
  return runInDurableObject<SessionObject, R>(session, work);
}

/** `since`: when its stream began; `again`: it comes back after an accident. */
export function holderOf(session: SessionStub, { since = 0, again = false } = {}) {
  return listening<RunnerMessage>(openSessionSocket(session, { as: "holder", since, again }));
}
