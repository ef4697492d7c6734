// The upstreams of the admin API's double: what it says of those in a document, whatever they are.

import type { Infer, UpstreamShape, UpstreamSummary, UpstreamTestResult } from "../../src/admin/contract.ts";
import type { TenantDocument, UpstreamDocument } from "../../src/tenants/document/tenant-document.ts";

type Shown = Infer<typeof UpstreamShape>;

const READ = "2026-11-21T10:00:00.000Z";
/** An upstream whose URL has this in it cannot be read. */
const AWAY = "away";
/** In words that no server says: whoever asks goes by the code. */
const AWAY_WORDS = "gone fishing";
/** And one with this was never read. */
const NEVER = "never";
/** And of one with this a test finds what clients refuse. */
const REFUSED = "refused";

const CONTENT: NonNullable<Shown["content"]> = {
  way: "2026",
  revision: "2026-07-28",
  counts: { tools: 12, prompts: 1, resources: 2, resourceTemplates: 0 },
  quarantined: [{ kind: "tools", name: "bad", why: "inputSchema must be a schema" }],
  unnamed: 3,
  flagged: [{ kind: "tools", name: "telling", flags: ["instruction"] }],
  capped: null,
  skipped: 0,
};

function fakeUpstream(
  id: string,
  { url = "", enabled = true, era = "auto", trust = "auto", headers = {} }: UpstreamDocument,
): Shown {
  const isAway = url.includes(AWAY);
  const shown: Shown = {
    id,
    url,
    enabled,
    era,
    headers: Object.keys(headers),
    setBy: "tenant",
    trust,
    state: isAway ? "lastGood" : "fresh",
    why: isAway ? AWAY_WORDS : null,
    causes: isAway ? [{ code: "connection-lost" }] : [],
    since: isAway ? READ : null,
    lastRead: READ,
    nextRead: READ,
    reading: false,
    content: CONTENT,
  };
  if (!url.includes(NEVER)) return shown;
  return {
    ...shown,
    state: "unread",
    why: "the server answered 404",
    causes: [{ code: "no-endpoint" }],
    content: null,
  };
}

function fakeSummary({ content, ...about }: Shown): Infer<typeof UpstreamSummary> {
  if (!content) return { ...about, content };
  const { way, revision, counts, quarantined, unnamed } = content;
  return { ...about, content: { way, revision, counts, quarantined: quarantined.length + unnamed } };
}

function fakeTest({ why, causes, url }: Shown): Infer<typeof UpstreamTestResult> {
  if (why !== null) return { works: false, fault: why, causes, milliseconds: 7, server: null, content: null };
  const works = { works: true, fault: null, causes: [], milliseconds: 7, server: { name: "sums", version: "7.1" } };
  if (!url.includes(REFUSED)) return { ...works, content: { ...CONTENT, quarantined: [], unnamed: 0 }, refused: [] };
  return {
    ...works,
    causes: [{ code: "left-out" }],
    content: CONTENT,
    refused: [{ name: "either", why: "anyOf at the top" }],
  };
}

interface WithUpstreams {
  own: TenantDocument;
  revision: number;
}

/** undefined: there is none of this name. `written`: what a PUT brings. */
export function answerUpstreams(
  { method, path }: { readonly method: string; readonly path: readonly string[] },
  tenant: WithUpstreams,
  written: UpstreamDocument | undefined,
): { readonly items: readonly object[] } | { readonly json: object } | undefined {
  const [, , , name, verb] = path;
  const all = { ...tenant.own.upstreams, ...(written && name !== undefined && { [name]: written }) };
  const shown = Object.entries(all).map(([id, one]) => fakeUpstream(id, one));
  if (name === undefined) return { items: shown.map(fakeSummary) };
  const one = shown.find(({ id }) => id === name);
  if (!one) return undefined;
  if (verb === "test") return { json: fakeTest(one) };
  if (verb === "refresh") return { json: { read: one.why === null, effectiveAt: null, upstream: one } };
  if (method === "GET") return { json: one };
  if (method === "DELETE") delete all[name];
  tenant.own = { ...tenant.own, upstreams: all };
  tenant.revision += 1;
  return { json: { revision: tenant.revision, changed: true, dryRun: false, effectiveAt: null, changes: [] } };
}
