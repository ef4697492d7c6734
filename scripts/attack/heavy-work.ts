// Small input, large work: texts of the worst kinds for every text that a method or tool takes, while another tenant's
// caller waits. How long they wait is what counts; a machine that is busy by itself is given a wide margin.

import { rowOf, type Attack, type Row } from "./report.ts";
import { argumentsFor, toolsOf, type Json, type ListedTool, type Target } from "./target.ts";

/** Once it was 5 to 9 seconds. What is wanted is 200 ms on a quiet machine; this is for a loud one. */
const MOST_MS = 1500;
const REPEATS = 2;
const HALF_A_MEGABYTE = 500_000;
const MOST_ANSWER = 8 * 1024 * 1024;

const repeated = (piece: string, bytes = HALF_A_MEGABYTE) => piece.repeat(Math.ceil(bytes / Buffer.byteLength(piece)));
const LETTERS = "abcdefghijklmnopqrstuvwxyz012345".split("").join(" ");

const BOMBS: Readonly<Record<string, string>> = {
  "![": repeated("!["),
  "[](": repeated("[]("),
  ligatures: repeated("\u{FDFA}"),
  "combining marks": `a${repeated("\u{0301}\u{0323}")}`,
  spaces: `${repeated(" ")}x`,
  "line ends": repeated("\n"),
  quotes: repeated('"'),
  "{{a}}": repeated("{{a}}"),
  "a b c": repeated(`${LETTERS} `, 20_000),
  "one letter": LETTERS,
  globs: repeated("*a"),
  "%25": repeated("%25"),
  slashes: repeated("a/"),
  brackets: repeated("["),
};

export const heavyWork: Attack = {
  name: "heavy work",
  classes: ["small input, large work", "one object in everybody's way"],
  isAlone: true,
  run: async (target) => [
    await bombs(target),
    await nesting(target),
    await documents(target),
    await wrongDocuments(target),
    await prompt(target),
    await search(target),
  ],
};

interface Waited {
  /** The longest that the other caller waited, and for what. */
  readonly ms: number;
  readonly during: readonly Heavy[];
}

type Heavy = readonly [what: string, send: () => Promise<unknown>];

/** Makes the requests one after the other, while another tenant's caller asks all the time. */
async function waitedDuring(target: Target, requests: readonly Heavy[]): Promise<Waited> {
  const other = await target.tenant();
  await target.call(other, "tools/list");
  let at = 0;
  let worst: Waited = { ms: 0, during: [] };
  const making = (async () => {
    for (at = 0; at < requests.length; at += 1) await requests[at]?.[1]().catch(() => {});
    return "made" as const;
  })();
  for (;;) {
    const first = at;
    const { ms } = await target.call(other, "tools/list");
    if (ms > worst.ms) worst = { ms, during: requests.slice(first, at + 1) };
    if ((await Promise.race([making, Promise.resolve()])) === "made") return worst;
  }
}

/** What seems to be too much is measured again: a stall is there each time, the noise of a machine is not. */
async function judged(
  target: Target,
  finding: string,
  [tried, requests]: readonly [string, readonly Heavy[]],
): Promise<Row> {
  let { ms, during } = await waitedDuring(target, requests);
  for (let again = 0; again < REPEATS && ms > MOST_MS; again += 1) {
    const once = await waitedDuring(target, during);
    ms = Math.min(ms, once.ms);
  }
  const what = during
    .map(([name]) => name)
    .slice(0, 2)
    .join(" or ");
  const seen = `another caller waited ${Math.round(ms)} ms at most (${what})`;
  return rowOf(finding, tried, ms > MOST_MS ? [seen] : [], seen);
}

/** Every text of every tool, and of the methods that take one. */
async function bombs(target: Target): Promise<Row> {
  const tenant = await target.tenant({ search: true });
  const tools = await toolsOf(target, tenant);
  const requests = Object.entries(BOMBS).flatMap(([kind, text]) => [
    ...tools.flatMap((tool) =>
      bombsOf(tool, text).map((args): Heavy => {
        return [`${tool.name}: ${kind}`, () => target.tool(tenant, tool.name, args)];
      }),
    ),
    ...methodsWith(text).flatMap(([method, params]): Heavy[] => [
      [`${method.slice(0, 30)}: ${kind}`, () => target.call(tenant, method, params, { headers: ASCII_HEADERS })],
      [`${method.slice(0, 30)}: ${kind}, 2025`, () => target.call(tenant, method, params, { revision: "2025-11-25" })],
    ]),
  ]);
  const tried = `${requests.length} requests: ${Object.keys(BOMBS).length} kinds of 500 KB in every text of every tool and method`;
  return judged(target, "4 one request stalls an isolate", [tried, requests]);
}

/** As much as the schema takes, and more, in each text. */
function bombsOf(tool: ListedTool, text: string): readonly Json[] {
  const texts = Object.entries(tool.inputSchema.properties ?? {}).filter(([, { type }]) => type === "string");
  return texts.flatMap(([name, { maxLength }]) => {
    const sizes = new Set([Math.min(Number(maxLength ?? Infinity), text.length), text.length]);
    return [...sizes].map((size) => argumentsFor(tool, { [name]: text.slice(0, size) }));
  });
}

/** The text itself does not fit into a header: these are refused at a later step, or the text is mirrored wrongly. */
const ASCII_HEADERS = { "mcp-method": "tools/list", "mcp-name": "x" };

function methodsWith(text: string): readonly (readonly [string, Json])[] {
  const byId = (uri: string, value: string) => ({
    ref: { type: "ref/resource", uri },
    argument: { name: "id", value },
  });
  return [
    ["resources/read", { uri: `note://${text}` }],
    ["resources/list", { cursor: text }],
    ["prompts/get", { name: text }],
    ["prompts/get", { name: "summarize_notes", arguments: { tag: text } }],
    ["completion/complete", byId("note://{id}", text)],
    ["completion/complete", byId(text, "a")],
    [text.slice(0, 100_000), {}],
  ];
}

async function nesting(target: Target): Promise<Row> {
  const tenant = await target.tenant();
  const bodies: Readonly<Record<string, string>> = {
    "arrays in arrays": "[".repeat(4_000_000),
    "closed arrays": "[".repeat(1_900_000) + "]".repeat(1_900_000),
    objects: '{"a":'.repeat(700_000),
    "a batch of nothing": `[${"{},".repeat(1_300_000)}{}]`,
    "a batch of calls": `[${'{"jsonrpc":"2.0","id":1,"method":"ping"},'.repeat(90_000)}{}]`,
    numbers: `[${"1e9,".repeat(900_000)}1]`,
    escapes: `"${"\\u0041".repeat(650_000)}"`,
    "equal members": `{${'"a":1,'.repeat(600_000)}"a":1}`,
  };
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const requests = Object.entries(bodies).flatMap(([what, body]) =>
    ["2025-03-26", "2026-07-28"].map((revision): Heavy => [
      `${what}, ${revision}`,
      () =>
        target.send(`/mcp/${tenant}`, {
          method: "POST",
          headers: { ...headers, "mcp-protocol-version": revision, "mcp-method": "tools/list" },
          body,
        }),
    ]),
  );
  const tried = `${requests.length} bodies of up to 4 MB, nested, repeated and batched`;
  return judged(target, "4 one request stalls an isolate", [tried, requests]);
}

/** By kind: the pattern with this number. */
const PATTERNS: Readonly<Record<string, (at: number) => string>> = {
  names: (at) => `a${at}`,
  beginnings: (at) => `a${at}*`,
  "a ? inside": (at) => `a?${at}`,
  "stars inside": (at) => `*a*a*${at}`,
  "a long piece": (at) => `*${"a".repeat(60)}${at}*`,
};
const NAMES = 480;

/** What an administrator of a tenant may write: as many patterns of a kind as are taken, of 20,000 in 100 scopes, over 480 prompts. */
async function documents(target: Target): Promise<Row> {
  const small = { messages: [{ role: "user", content: { type: "text", text: "x" } }] };
  const prompts = Object.fromEntries(Array.from({ length: NAMES }, (_none, at) => [`${"a".repeat(100)}${at}`, small]));
  const scopesOf = (patternOf: (at: number) => string, each: number) =>
    Object.fromEntries(
      Array.from({ length: 100 }, (_none, scope) => [
        `s${scope}`,
        { prompts: Array.from({ length: each }, (_other, at) => patternOf(scope * each + at)) },
      ]),
    );
  const requests: Heavy[] = [];
  for (const [kind, patternOf] of Object.entries(PATTERNS)) {
    for (const each of [200, 20, 2]) {
      const scopes = scopesOf(patternOf, each);
      const tenant = await target.tenant();
      const document = { mode: "key", maxStalenessMs: 200, prompts, scopes };
      const path = `/tenants/${tenant}/document?unknownNames=1&wait=1`;
      const { status } = await target.admin("PUT", path, document);
      if (status >= 300) continue;
      const { token } = await target.key(tenant, { scopes: Object.keys(scopes) });
      requests.push([`${100 * each} ${kind}`, () => target.call(tenant, "prompts/list", {}, { key: token })]);
      requests.push([
        `the document of ${100 * each} ${kind}`,
        () => target.admin("PUT", path, { ...document, title: kind }),
      ]);
      break;
    }
  }
  const tried = `${requests.length} requests with what is taken of 20,000 patterns, over ${NAMES} prompts`;
  return judged(target, "4 one request stalls an isolate", [tried, requests]);
}

const zeros = (count: number) => Array.from({ length: count }, () => 0);
const members = (count: number, of: (at: number) => unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_none, at) => [`timeo${at}`, of(at)]));

/** Documents of up to 2 MB in which as much as possible is wrong. Once the worst took 2.8 s and another one all of the memory. */
async function wrongDocuments(target: Target): Promise<Row> {
  const tenant = await target.tenant();
  const { token } = await target.operator("tenant-admin", [tenant]);
  const misspelt = members(500, () => members(100, () => 0));
  const values = { a: zeros(900_000) };
  const wrong: Readonly<Record<string, Json>> = {
    "misspelt members": { upstreams: misspelt, profiles: misspelt, scopes: misspelt },
    "a list in auth": { auth: { issuers: [{ issuer: "https://a.example", scopes: { claim: "c", values } }] } },
    "wrong patterns": { profiles: members(500, () => ({ tools: { allow: zeros(200), deny: zeros(200) } })) },
    "misspelt renames": { profiles: { p: { tools: { rename: members(9000, () => members(12, () => 0)) } } } },
    "unknown members": members(120_000, () => 0),
  };
  const broken = new Set<string>();
  const requests = Object.entries(wrong).map(([what, document]): Heavy => {
    const send = async () => {
      const { status } = await target.admin("PUT", `/tenants/${tenant}/document`, document, token);
      if (status !== 422) broken.add(`${what}: ${status} in place of 422`);
    };
    return [what, send];
  });
  const tried = `${requests.length} documents of up to 2 MB, wrong in every member, by a tenant's administrator`;
  const row = await judged(target, "33 one document stalls an isolate", [tried, requests]);
  if (broken.size === 0) return row;
  const seen = [...broken].join("; ");
  return rowOf("33 one document stalls an isolate", tried, [seen], seen);
}

/** 10 KiB in, 195 MiB out, once. */
async function prompt(target: Target): Promise<Row> {
  const tenant = await target.tenant();
  const text = "{{a}}".repeat(20_000);
  const { status } = await target.admin("PUT", `/tenants/${tenant}/prompts/bomb?wait=1`, {
    arguments: [{ name: "a" }],
    messages: [{ role: "user", content: { type: "text", text } }],
  });
  const { text: message, ms } = await target.call(tenant, "prompts/get", {
    name: "bomb",
    arguments: { a: "x".repeat(10_000) },
  });
  const seen = `prompt ${status < 300 ? "taken" : "refused"}; ${Math.round(message.length / 1024)} KiB came back after ${Math.round(ms)} ms`;
  return rowOf(
    "4 a prompt grows without bound",
    "20,000 x {{a}} with an argument of 10 KB",
    message.length > MOST_ANSWER ? [seen] : [],
    seen,
  );
}

async function search(target: Target): Promise<Row> {
  const tenant = await target.tenant({ search: true });
  const words = Array.from(
    { length: 25_000 },
    (_none, at) => `${LETTERS[(at % 32) * 2] ?? "a"}${at.toString(36)}`,
  ).join(" ");
  for (let at = 0; at < 40; at += 1)
    await target.tool(tenant, "note_write", { id: `n-${at}`, title: `n ${at}`, text: words });
  const begun = performance.now();
  await target.tool(tenant, "note_search", { query: LETTERS });
  const alone = Math.round(performance.now() - begun);
  // A caller of the same tenant whose lease has ended waits in the same object.
  let longest = 0;
  const searches = Promise.all(Array.from({ length: 5 }, () => target.tool(tenant, "note_search", { query: LETTERS })));
  for (let at = 0; at < 10; at += 1) longest = Math.max(longest, (await target.call(tenant, "tools/list")).ms);
  await searches;
  const seen = `the search took ${alone} ms; another caller of the tenant waited ${Math.round(longest)} ms beside five`;
  return rowOf(
    "4 a search in the authority's way",
    "40 notes of 170 KB, a query of 32 one-letter words",
    alone > MOST_MS || longest > MOST_MS ? [seen] : [],
    seen,
  );
}
