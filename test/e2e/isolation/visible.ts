// Looks at the small world of tenants from one viewpoint in one era, and comparing what several are told. Whatever is
// asked: nothing of another tenant's may come back.

import { expect } from "vitest";
import { markOf, PRINCIPALS, PROFILES, refusal, TENANTS, type Tokens, type Viewpoint } from "./fixture.ts";
import { post, type Json, type Reply } from "../../support/mcp-client.ts";
import { write } from "../../support/raw-http.ts";
import type { WorkerPair } from "../../support/worker-pair.ts";

export const REVISIONS = ["2025-11-25", "2026-07-28"] as const;
export type Revision = (typeof REVISIONS)[number];
const LANES = 8;

/** What is renamed is so for everybody, and whatever is asked is asked for each pair. */
const USERS: ReadonlySet<string> = new Set(["ada", "bob", "guest"]);

export const viewpoints: readonly Viewpoint[] = TENANTS.flatMap((tenant) =>
  PROFILES.flatMap((profile) => PRINCIPALS.map((principal) => ({ tenant, profile, principal }))),
).filter(({ profile, principal }) => profile !== "renamed" || !USERS.has(principal));
export const admitted = viewpoints.filter((viewpoint) => refusal(viewpoint) === undefined);

export interface Viewer extends Viewpoint {
  readonly revision: Revision;
  readonly url: string;
  readonly credential: Readonly<Record<string, string>>;
  ask(method: string, params?: Json, headers?: Record<string, string>): Promise<Reply>;
}

export interface IsolationFixture {
  readonly workers: WorkerPair;
  readonly tokens: Tokens;
}

export function viewerOf({ workers, tokens }: IsolationFixture, viewpoint: Viewpoint, revision: Revision): Viewer {
  const { tenant, profile, principal } = viewpoint;
  const token = tokens[tenant][principal];
  // Isolates hold what they know of all tenants in one memory: both are asked.
  const { origin } = revision === "2026-07-28" ? workers.one : workers.two;
  const url = `${origin}/mcp/${tenant}${profile === null ? "" : `/${profile}`}`;
  const credential: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return {
    ...viewpoint,
    revision,
    url,
    credential,
    ask: async (method, params = {}, more = {}) => {
      const { headers, body } = write(revision, method, params);
      const reply = await post(url, body, { headers: { ...headers, ...credential, ...more }, revision, method });
      expectNothingForeign(viewpoint, reply.text);
      return reply;
    },
  };
}

export function expectNothingForeign({ tenant }: Viewpoint, text: string): void {
  for (const other of TENANTS) if (other !== tenant) expect(text).not.toContain(markOf(other));
}

/** The answer without the name that was asked for. */
export const shapeOf = ({ status, messages }: Pick<Reply, "status" | "messages">, name: string): string =>
  JSON.stringify([status, messages.map(({ id: _id, ...rest }) => rest)]).replaceAll(name, "NAME");

export const isSame = (a: Viewpoint, b: Viewpoint): boolean =>
  a.tenant === b.tenant && a.profile === b.profile && a.principal === b.principal;

/** A few at a time; the sum of what was counted. */
export async function inLanes<T>(items: readonly T[], work: (item: T) => Promise<number>): Promise<number> {
  const left = [...items];
  const lane = async () => {
    let counted = 0;
    for (let item = left.shift(); item !== undefined; item = left.shift()) counted += await work(item);
    return counted;
  };
  const counts = await Promise.all(Array.from({ length: LANES }, lane));
  return counts.reduce((sum, count) => sum + count, 0);
}
