// The endpoint where a message names its upstream: what a view hides, other tenants' upstreams, names that are none, keys that
// are revoked while a call waits, and more calls than limits allow by both endpoints at once.

import { setTimeout as pause } from "node:timers/promises";
import { rowOf, type Attack, type Row } from "../report.ts";
import { didIt, REVISIONS, type Answer, type CallOptions, type Json, type Revision, type Target } from "../target.ts";
import { Draw } from "./draw.ts";
import { tenantWith, sendEnvelope, writeEnvelope } from "./attacked-tenant.ts";
import { eraOf, GO, HostileUpstreams, textResult, type Behaviour } from "./hostile-upstream.ts";

export const envelopes: Attack = {
  name: "envelopes",
  classes: ["hidden things that influence visible answers", "a check before the last wait", "who may undo whom"],
  run: async (target) => {
    const hostile = await HostileUpstreams.start();
    const draw = new Draw(target.seed, "envelopes");
    try {
      return [
        await hidden(target, hostile, draw),
        await servers(target, hostile, draw),
        await revoked(target, hostile),
        await flood(target, hostile),
      ];
    } finally {
      await hostile.stop();
    }
  },
};

const NAMES = ["go", "hidden", "hidden two", "Hidden", "hidden\u200b"];
const OFFERS: Behaviour = {
  "tools/list": () => ({ tools: NAMES.map((name) => ({ ...GO, name, description: `about ${name}` })) }),
  "prompts/list": () => ({ prompts: NAMES.map((name) => ({ name })) }),
  "resources/list": () => ({ resources: NAMES.map((name) => ({ uri: `file:///${encodeURI(name)}`, name })) }),
  "tools/call": ({ params }) => textResult(`reached ${String(params.name)}`),
  "prompts/get": () => ({ messages: [{ role: "user", content: { type: "text", text: "reached" } }] }),
  "resources/read": ({ params }) => ({ contents: [{ uri: params.uri, text: "reached" }] }),
  "completion/complete": () => ({ completion: { values: ["reached"] } }),
};
/** As somebody might write a hidden name so that a view does not know it. */
const SPELLINGS: readonly ((name: string) => string)[] = [
  (name) => name,
  (name) => `up__${name}`,
  (name) => `up__up__${name}`,
  (name) => ` ${name}`,
  (name) => `${name}\0`,
  (name) => name.toUpperCase(),
  (name) => `\u200b${name}`,
  (name) => `__${name}`,
];

async function hidden(target: Target, hostile: HostileUpstreams, draw: Draw): Promise<Row> {
  const gaveWay: string[] = [];
  const url = hostile.at(OFFERS);
  const only = { allow: ["up__go"] };
  const profiles = { few: { tools: only, prompts: only, resources: { allow: ["file:///go"] } } };
  const scopes = { few: { tools: ["up__go"], prompts: ["up__go"], resources: ["file:///go"] } };
  const tenant = await tenantWith(
    target,
    hostile,
    { url, era: eraOf(draw.one<Revision>(REVISIONS)) },
    { profiles, scopes },
  );
  const { token } = await target.key(tenant, { scopes: ["few"] });
  const views: readonly CallOptions[] = [{ profile: "few" }, { key: token }];
  let tried = 0;
  for (const view of views) {
    const options = { ...view, server: "up", revision: draw.one<Revision>(REVISIONS) };
    const control = await sendEnvelope(target, tenant, ["tools/call", { name: "go" }], options);
    if (!control.text.includes("reached go")) gaveWay.push(`what is shown is refused: ${control.text.slice(0, 80)}`);
    for (const kind of ["tools", "prompts", "resources"]) {
      const { text } = await sendEnvelope(target, tenant, [`${kind}/list`, {}], options);
      if (/hidden/i.test(text)) gaveWay.push(`${kind}/list shows what is hidden`);
    }
    const spelled = NAMES.slice(1).flatMap((name) => SPELLINGS.map((spell) => spell(name)));
    const requests = draw.shuffled(spelled.flatMap(usesOf));
    tried += requests.length;
    for (const [method, params] of requests) {
      const { text } = await sendEnvelope(target, tenant, [method, params], options);
      const about = `${method} ${JSON.stringify(params).slice(0, 60)}`;
      if (text.includes("reached")) gaveWay.push(`${about} was reached`);
      else if (method === "tools/call" && !/-3260[02]/.test(text)) gaveWay.push(`${about}: ${text.slice(0, 80)}`);
    }
  }
  return rowOf(
    "/gateway: names that a view hides",
    `${tried} calls, reads and completions under a profile and a scope, in ${SPELLINGS.length} spellings`,
    gaveWay,
    "-32602 each; nothing reached the upstream",
  );
}

function usesOf(name: string): readonly (readonly [string, Json])[] {
  return [
    ["tools/call", { name, arguments: {} }],
    ["prompts/get", { name }],
    ["resources/read", { uri: `file:///${encodeURI(name)}` }],
    ["completion/complete", { ref: { type: "ref/prompt", name }, argument: { name: "a", value: "" } }],
  ];
}

const NO_TEXTS: readonly unknown[] = [undefined, null, 5, true, [], ["up"], {}, { id: "up" }];
const NO_SERVERS = [
  "",
  "nobody",
  "UP",
  " up",
  "up ",
  "up\0",
  "u\u200bp",
  "up__",
  "../up",
  "code",
  "stored",
  "__proto__",
  "constructor",
  "toString",
  "u".repeat(100_000),
];

async function servers(target: Target, hostile: HostileUpstreams, draw: Draw): Promise<Row> {
  const gaveWay: string[] = [];
  const url = hostile.at(OFFERS);
  const own = await target.tenant();
  // Beside it, one that has what it has not; and one of which it could say that it is its own.
  const other = await tenantWith(target, hostile, { url });
  const tries = draw.shuffled([...NO_TEXTS, ...NO_SERVERS, "up", `${other}/up`, `${other}__up`, url]);
  for (const server of tries) {
    // The other tenant has an upstream of this name.
    const tenants = server === "up" ? [own] : [own, other];
    const rounds = tenants.flatMap((tenant) => REVISIONS.map((revision) => ({ tenant, revision })));
    for (const { tenant, revision } of rounds) {
      const answer = await sendEnvelope(target, tenant, ["tools/call", { name: "go" }], { server, revision });
      const about = `server_id ${JSON.stringify(server)?.slice(0, 30)}`;
      gaveWay.push(...unknownFaults(answer, server).map((fault) => `${about}: ${fault}`));
    }
  }
  // Where there is none, the answer is the same as where it is another tenant's.
  const answerOf = async (server: string) => {
    const { status, text } = await sendEnvelope(target, own, ["tools/list", {}], { server });
    return `${status} ${text.replaceAll(server, "SERVER")}`;
  };
  if ((await answerOf("up")) !== (await answerOf("nobody"))) gaveWay.push("another tenant's is told from none");
  const { token } = await target.key(own);
  const stranger = await sendEnvelope(target, other, ["tools/call", { name: "go" }], { server: "up", key: token });
  if (stranger.text.includes("reached")) gaveWay.push("another tenant's key was taken");
  if (hostile.heard(url) > 0) gaveWay.push(`${hostile.heard(url)} calls reached the upstream`);
  return rowOf(
    "/gateway: upstreams that are none",
    `${tries.length} values of server_id, other tenants' upstreams among them, in both eras`,
    gaveWay,
    "-32001 each, -32602 for what is no text",
  );
}

function unknownFaults({ status, text, json }: Answer, server: unknown): string[] {
  const { code } = (json.error ?? {}) as { code?: number };
  const wanted = typeof server === "string" ? -32001 : -32602;
  if (status >= 500 || text.includes("reached")) return [`${status} ${text.slice(0, 80)}`];
  return code === wanted ? [] : [`${code ?? text.slice(0, 80)}, not ${wanted}`];
}

/** Revoked while the body is held back, and while the upstream has failed once and is about to be asked again. */
async function revoked(target: Target, hostile: HostileUpstreams): Promise<Row> {
  const gaveWay: string[] = [];
  let tried = 0;
  await Promise.all(
    REVISIONS.flatMap((revision) => ["mcp", "gateway"].map((endpoint) => ({ revision, endpoint }))).map(
      async ({ revision, endpoint }) => {
        const gate = Promise.withResolvers<void>();
        const url = hostile.at({
          "tools/list": () => ({ tools: [{ ...GO, annotations: { readOnlyHint: true } }] }),
          "tools/call": ({ response }) => {
            void gate.promise.then(() => response.writeHead(503).end());
            return undefined;
          },
        });
        const up = { url, era: eraOf(revision), retry: 5, timeoutMs: 10_000 };
        const tenant = await tenantWith(target, hostile, up, { mode: "key" });
        const key = await target.key(tenant);
        const options = { key: key.token, revision };
        const params = { name: endpoint === "mcp" ? "up__go" : "go", arguments: {} };
        const form = writeEnvelope(tenant, ["tools/call", params], { ...options, server: "up" });
        const late = () =>
          endpoint === "mcp"
            ? target.slowCall(tenant, "tools/call", params, options)
            : target.slow("POST", form.path, form.headers, form.body);
        const waiting =
          endpoint === "mcp"
            ? target.call(tenant, "tools/call", params, options)
            : sendEnvelope(target, tenant, ["tools/call", params], { ...options, server: "up" });
        for (let at = 0; hostile.heard(url) === 0 && at < 100; at += 1) await pause(50);
        const before = hostile.heard(url);
        const held = Array.from({ length: 3 }, late);
        await pause(300);
        await target.must("DELETE", `/tenants/${tenant}/keys/${key.id}`);
        gate.resolve();
        const ended = await Promise.all([
          ...held.map((one) => one.finish().catch(() => ({ status: 0, text: "" }))),
          waiting,
        ]);
        tried += ended.length;
        const after = hostile.heard(url);
        if (before !== 1) gaveWay.push(`${endpoint} ${revision}: the call did not reach the upstream`);
        if (after > before)
          gaveWay.push(`${endpoint} ${revision}: ${after - before} requests went out after the key was revoked`);
        if (ended.some(({ text }) => text.includes('"content"')))
          gaveWay.push(`${endpoint} ${revision}: a call was answered`);
      },
    ),
  );
  return rowOf(
    "a key revoked in the middle of a call",
    `${tried} calls at both endpoints: bodies held back, and calls about to be sent again`,
    gaveWay,
    "nothing goes to the upstream after the acknowledgement",
  );
}

const MOST = 20;
const SENT = 300;

async function flood(target: Target, hostile: HostileUpstreams): Promise<Row> {
  const gaveWay: string[] = [];
  const seen: string[] = [];
  const limits: Readonly<Record<string, Json>> = {
    addressMessages: { addressMessages: MOST },
    addressToolCalls: { addressToolCalls: MOST },
    "dailyToolCalls, exact": { dailyToolCalls: MOST, exact: true },
    concurrentCalls: { concurrentCalls: MOST },
  };
  for (const [name, limit] of Object.entries(limits)) {
    const isOpen = name === "concurrentCalls";
    const url = hostile.at({ "tools/call": isOpen ? () => undefined : () => textResult("reached") });
    const tenant = await tenantWith(target, hostile, { url, timeoutMs: isOpen ? 5000 : 30_000 });
    const { json } = await target.admin("GET", `/tenants/${tenant}`);
    const { limits: _wide, ...own } = json.own as Json;
    await target.must("PUT", `/tenants/${tenant}/document?wait=1`, { ...own, limits: limit });
    const began = performance.now();
    const answers = await Promise.all(Array.from({ length: SENT }, (_none, at) => either(target, tenant, at)));
    const refused = answers.filter(({ status }) => status === 429);
    const flowed = isOpen ? 0 : Math.ceil((performance.now() - began) / (60_000 / MOST));
    if (hostile.heard(url) > MOST + flowed) gaveWay.push(`${name}: ${hostile.heard(url)} calls reached the upstream`);
    if (hostile.heard(url) === 0) gaveWay.push(`${name}: none was let through`);
    for (const { headers, text } of refused) {
      if (!(Number(headers.get("retry-after")) > 0)) gaveWay.push(`${name}: 429 without Retry-After`);
      if (!/"code":-32(?:005|603)/.test(text)) gaveWay.push(`${name}: ${text.slice(0, 80)}`);
    }
    if (!isOpen && answers.some((one) => !didIt(one) && one.status !== 429)) gaveWay.push(`${name}: another refusal`);
    seen.push(`${name} ${hostile.heard(url)}`);
  }
  return rowOf(
    "a flood by both endpoints",
    `${SENT} calls at once, half at /gateway, over ${Object.keys(limits).length} limits of ${MOST}`,
    gaveWay,
    `let through: ${seen.join(", ")}; the others 429 and when`,
  );
}

async function either(target: Target, tenant: string, at: number): Promise<Answer> {
  const revision = REVISIONS[(at >> 1) % REVISIONS.length] ?? REVISIONS[0];
  if (at % 2 === 0) return target.tool(tenant, "up__go", {}, { revision });
  return sendEnvelope(target, tenant, ["tools/call", { name: "go" }], { server: "up", revision });
}
