// Manages tenants of the running fixture Worker through its admin API, for tests over HTTP: each with a lease so short
// that a change waits for next to nothing, and gone when the file's tests end.

import { afterAll } from "vitest";
import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import type { Json } from "./mcp-client.ts";
import { waitForRollout } from "./rollout.ts";

export interface MadeKey {
  readonly id: string;
  readonly token: string;
}

export interface FixtureAdmin {
  /** A rollout is waited for. */
  ask(method: string, path: string, json?: unknown): Promise<Json>;
  /** Open unless the document says otherwise; says the id. */
  tenant(document?: Json): Promise<string>;
  apply(id: string, document: Json): Promise<Json>;
  key(id: string, about?: Json): Promise<MadeKey>;
  suspend(id: string, kind: string, name: string | undefined, note: string): Promise<Json>;
  /** Writes the text of a resource. */
  store(id: string, uri: string, text: string): Promise<void>;
}

const SHORT = { maxStalenessMs: 50 };

/** In this file so far. */
let made = 0;

export function fixtureAdmin(origin: string, prefix: string): FixtureAdmin {
  const tenants: string[] = [];
  const ask: FixtureAdmin["ask"] = async (method, path, json) => {
    const response = await fetch(`${origin}/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    const answer = (text === "" ? {} : JSON.parse(text)) as Json;
    if (typeof answer["rollout"] === "number") await waitForRollout(ask, answer["rollout"]);
    return answer;
  };
  // Others ask what the deployment looks like while none of its tenants is private.
  afterAll(async () => {
    made = 0;
    await Promise.all(tenants.map((id) => ask("DELETE", `/tenants/${id}`)));
  });
  return {
    ask,
    tenant: async (document = {}) => {
      made += 1;
      const id = `${prefix}-${made}`;
      await ask("POST", "/tenants", { id, document: { mode: "open", ...SHORT, ...document } });
      tenants.push(id);
      return id;
    },
    apply: (id, document) => ask("PUT", `/tenants/${id}/document?wait=1`, { mode: "open", ...SHORT, ...document }),
    key: async (id, about = {}) =>
      (await ask("POST", `/tenants/${id}/keys`, { name: "test", ...about })) as unknown as MadeKey,
    suspend: (id, kind, name, note) =>
      ask("POST", `/tenants/${id}/suspensions`, { kind, ...(name === undefined ? {} : { name }), note }),
    store: (id, uri, text) => storeText(origin, ADMIN_TOKEN, { id, uri, text }),
  };
}

export async function storeText(
  origin: string,
  token: string,
  { id, uri, text }: { readonly id: string; readonly uri: string; readonly text: string },
): Promise<void> {
  const query = new URLSearchParams({ uri });
  const response = await fetch(`${origin}/admin/v1/tenants/${id}/resources/content?${query}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${token}`, "content-type": "text/plain" },
    body: text,
  });
  if (!response.ok) throw new Error(`${uri} was not stored: ${response.status} ${await response.text()}`);
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
