// An upstream that is out to harm the tenant that trusts it, in what it lists and answers: without an end, too much, too deep.
// Those beside it are called and listed all the while.

import { setTimeout as pause } from "node:timers/promises";
import { deflateRawSync, gzipSync } from "node:zlib";
import { rowOf, type Attack, type Row } from "../report.ts";
import { REVISIONS, type Answer, type Json, type Revision, type Target } from "../target.ts";
import { Draw } from "./draw.ts";
import { inWaves, namesOf, neighbourFaults, readWell, tenantWith, sendEnvelope } from "./attacked-tenant.ts";
import {
  endlessly,
  eraOf,
  eventOf,
  GO,
  HostileUpstreams,
  messageOf,
  textResult,
  type UpstreamRequest,
  type Behaviour,
} from "./hostile-upstream.ts";

const TIMEOUT_MS = 2000;
const MOST_TIMES = 20;
/** Longer than one that failed is left alone at first. */
const AGAIN_AFTER_MS = 2000;
/** Of a machine on which everything else runs as well. */
const MOST_MS = 10_000;
const MIB = 1024 * 1024;
const STREAM = "text/event-stream";

export const hostileAnswers: Attack = {
  name: "hostile answers",
  classes: ["trust in our own server", "small input, large work"],
  run: async (target) => {
    const hostile = await HostileUpstreams.start();
    const draw = new Draw(target.seed, "hostile answers");
    try {
      return [await withoutAnEnd(target, hostile, draw), await endlessLists(target, hostile, draw)];
    } finally {
      await hostile.stop();
    }
  },
};

const raw =
  (body: (request: UpstreamRequest) => string | Uint8Array, headers: Readonly<Record<string, string>> = {}) =>
  (request: UpstreamRequest): undefined =>
    void request.response.writeHead(200, { "content-type": "application/json", ...headers }).end(body(request));

const deep = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;
const progress = ({ params }: UpstreamRequest) => {
  const { progressToken = 1 } = (params._meta ?? {}) as Json;
  return eventOf(
    JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, progress: 1 } }),
  );
};

const BOMB = gzipSync(
  `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"${"x".repeat(50 * MIB)}"}]}}`,
);

/** What a call is answered, by what is wrong with it. All of it ends with a message, and soon. */
const ANSWERS: Readonly<Record<string, (request: UpstreamRequest) => Json | number | undefined>> = {
  "50 MiB": raw((request) => messageOf(request, textResult("x".repeat(50 * MIB)))),
  "50 MiB in 50 KiB": raw(() => BOMB, { "content-encoding": "gzip" }),
  "what is not compressed as it says": raw(() => deflateRawSync("{}"), { "content-encoding": "gzip" }),
  "a slow drip": ({ response }) => endlessly(response, "application/json", " ", 20),
  "a body without an end": ({ response }) => endlessly(response, "application/json", "x".repeat(64 * 1024)),
  "an event without an end": ({ response }) => endlessly(response, STREAM, `data: ${"x".repeat(64 * 1024)}`),
  "comments without an end": ({ response }) => endlessly(response, STREAM, ": still here\n\n", 20),
  "events without an end": ({ response }) => endlessly(response, STREAM, eventOf('{"jsonrpc":"2.0"}'), 20),
  "progress without an end": (request) => endlessly(request.response, STREAM, progress(request), 5),
  "as much progress as goes": (request) => endlessly(request.response, STREAM, progress(request).repeat(100)),
  "one byte of a head": ({ response }) => void response.socket?.write("H"),
  "a head of 60 KiB": ({ response }) => void response.writeHead(200, { "x-long": "x".repeat(60_000) }).end("{}"),
  "nothing at all": () => undefined,
  "100,000 levels": raw(({ id }) => `{"jsonrpc":"2.0","id":${String(id)},"result":{"content":${deep(100_000)}}}`),
  "100,000 levels in an error": raw(
    ({ id }) => `{"jsonrpc":"2.0","id":${String(id)},"error":{"code":-1,"message":"x","data":${deep(100_000)}}}`,
  ),
  "100,000 levels as an event": raw(({ id }) => eventOf(`{"jsonrpc":"2.0","id":${String(id)},"x":${deep(100_000)}}`), {
    "content-type": STREAM,
  }),
  "a million members": raw(
    ({ id }) => `{"jsonrpc":"2.0","id":${String(id)},"result":{"content":[]${',"a":0'.repeat(1_000_000)}}}`,
  ),
  "members of prototypes": raw(
    ({ id }) =>
      `{"jsonrpc":"2.0","id":${String(id)},"__proto__":{"isError":true},"result":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"content":[]}}`,
  ),
  "a batch of 100,000": raw(
    ({ id }) =>
      `[${Array(100_000)
        .fill(`{"jsonrpc":"2.0","id":${String(id)}}`)
        .join()}]`,
  ),
  "the number of an error that is no number": raw(
    ({ id }) => `{"jsonrpc":"2.0","id":${String(id)},"error":{"code":"x","message":7}}`,
  ),
};

async function withoutAnEnd(target: Target, hostile: HostileUpstreams, draw: Draw): Promise<Row> {
  const gaveWay: string[] = [];
  const tries = draw.shuffled(Object.entries(ANSWERS));
  await inWaves(tries, async ([what, answer]) => {
    const [upstream, client] = [draw.one<Revision>(REVISIONS), draw.one<Revision>(REVISIONS)];
    const url = hostile.at({ "tools/call": answer });
    const tenant = await tenantWith(target, hostile, { url, era: eraOf(upstream), timeoutMs: TIMEOUT_MS });
    await readWell(target, tenant, "up");
    const by = `${what}, from era ${eraOf(upstream)} to ${eraOf(client)}`;
    const options = { revision: client };
    const ask = () => [
      target.tool(tenant, "up__go", { at: "mcp" }, options),
      sendEnvelope(target, tenant, ["tools/call", { name: "go", arguments: {} }], { ...options, server: "up" }),
    ];
    const question = ask();
    gaveWay.push(...(await neighbourFaults(target, tenant, options)).map((fault) => `${by}: ${fault}`));
    let answers = await Promise.all(question);
    // Where everything is busy a call may end before it came so far: then nothing was tried.
    for (let times = 0; hostile.heard(url) === 0 && times < MOST_TIMES; times += 1) {
      await pause(AGAIN_AFTER_MS);
      answers = [...answers, ...(await Promise.all(ask()))];
    }
    for (const fault of answers.flatMap(answerFaults)) gaveWay.push(`${by}: ${fault}`);
    if (hostile.heard(url) === 0) gaveWay.push(`${by}: was never called`);
  });
  return rowOf(
    "an upstream's answers without an end",
    `${tries.length} kinds of answers to calls, at both endpoints, with two upstreams beside`,
    gaveWay,
    "each call is answered in time, the others as ever",
  );
}

/** Whatever an upstream did, its caller gets one message, in time, and no failure of ours. */
function answerFaults({ status, text, json, ms }: Answer): string[] {
  const isAnswer = json.jsonrpc === "2.0" && (json.result !== undefined || json.error !== undefined);
  return [
    ...(status >= 500 && !isAnswer ? [`status ${status}`] : []),
    ...(isAnswer ? [] : [`no answer: ${status} ${text.slice(0, 80)}`]),
    ...(/\bat .{1,80}:\d+:\d+/.test(text) ? ["a stack is shown"] : []),
    ...(text.includes('"polluted"') && ({} as Json).polluted !== undefined ? ["a prototype was changed"] : []),
    ...(ms > MOST_MS ? [`after ${Math.round(ms)} ms`] : []),
  ];
}

const page = (from: number, count: number) =>
  Array.from({ length: count }, (_none, at) => ({ ...GO, name: `t${from + at}` }));

const cursorOf = ({ params }: UpstreamRequest) => Number(params.cursor ?? 0);

/** What a list is, by what is wrong with it, and how many tools of it may be listed. */
const LISTS: Readonly<Record<string, readonly [most: number, behaviour: Behaviour]>> = {
  "10,000 tools on one page": [1000, { "tools/list": () => ({ tools: page(0, 10_000) }) }],
  "10,000 tools on 40 pages": [
    1000,
    {
      "tools/list": (request) => ({
        tools: page(cursorOf(request) * 250, 250),
        ...(cursorOf(request) < 39 ? { nextCursor: String(cursorOf(request) + 1) } : {}),
      }),
    },
  ],
  "a cursor that comes again": [1, { "tools/list": () => ({ tools: [GO], nextCursor: "again" }) }],
  "a new cursor for ever": [
    1000,
    {
      "tools/list": (request) => ({
        tools: page(cursorOf(request), 1),
        nextCursor: String(cursorOf(request) + 1),
      }),
    },
  ],
  "a new cursor for ever, and nothing on its pages": [
    0,
    { "tools/list": (request) => ({ tools: [], nextCursor: String(cursorOf(request) + 1) }) },
  ],
  "a cursor of a megabyte": [1, { "tools/list": () => ({ tools: [GO], nextCursor: "c".repeat(MIB) }) }],
  "a page without an end": [
    0,
    { "tools/list": ({ response }) => endlessly(response, "application/json", " ".repeat(9)) },
  ],
  "a list that drips": [0, { "tools/list": ({ response }) => endlessly(response, "application/json", " ", 20) }],
  "a schema of 100,000 levels": [
    1,
    {
      "tools/list": raw(
        ({ id }) =>
          `{"jsonrpc":"2.0","id":${String(id)},"result":{"resultType":"complete","tools":[{"name":"go","inputSchema":{"type":"object","x":${deep(100_000)}}}]}}`,
      ),
    },
  ],
  "a million bad definitions": [0, { "tools/list": raw(({ id }) => badList(String(id))) }],
};

const badList = (id: string) =>
  `{"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete","tools":[${Array(1_000_000).fill("7").join()}]}}`;

async function endlessLists(target: Target, hostile: HostileUpstreams, draw: Draw): Promise<Row> {
  const gaveWay: string[] = [];
  const tries = draw.shuffled(Object.entries(LISTS));
  let silent = 0;
  await inWaves(tries, async ([what, [most, behaviour]]) => {
    const era = eraOf(draw.one<Revision>(REVISIONS));
    const url = hostile.at(behaviour);
    const tenant = await tenantWith(target, hostile, { url, era, timeoutMs: TIMEOUT_MS });
    for (const fault of await neighbourFaults(target, tenant)) gaveWay.push(`${what} (${era}): ${fault}`);
    const listed = (await namesOf(target, tenant)).filter((name) => name.startsWith("up__"));
    if (listed.length > most) gaveWay.push(`${what}: ${listed.length} tools are listed`);
    if (new Set(listed).size < listed.length) gaveWay.push(`${what}: a name is listed twice`);
    const { text } = await target.call(tenant, "tools/list");
    if (!text.includes('"tenantry/missing"')) silent += 1;
    if (hostile.heard(url, "tools/list") > 2000)
      gaveWay.push(`${what}: asked ${hostile.heard(url, "tools/list")} times`);
  });
  if (silent > 0) gaveWay.push(`${silent} lists do not say what they lack`);
  return rowOf(
    "an upstream's lists without an end",
    `${tries.length} lists: too many, too deep, without a last page`,
    gaveWay,
    "1,000 definitions at most, and lists say what they lack",
  );
}
