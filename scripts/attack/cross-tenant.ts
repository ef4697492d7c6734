// What one tenant was given, used at another: keys, sessions, sealed states, cursors, event ids. And what is sealed, with a
// character changed.

import { rowOf, type Attack, type Row } from "./report.ts";
import { didIt, REVISIONS, toolsOf, type Answer, type Json, type Target } from "./target.ts";

export const crossTenant: Attack = {
  name: "cross-tenant",
  classes: ["a name outlives its thing", "hidden things that influence visible answers"],
  run: async (target) => [
    await keys(target),
    await sessions(target),
    await cursors(target),
    ...(target.lab ? [await states(target.lab)] : []),
  ],
};

/** A few ways to change a text that must not be changed. */
function tampered(text: string): readonly string[] {
  const middle = Math.floor(text.length / 2);
  const other = text[middle] === "A" ? "B" : "A";
  return [
    text.slice(0, middle) + other + text.slice(middle + 1),
    text.slice(0, -1),
    `${text}A`,
    text.toUpperCase(),
    "",
  ];
}

async function keys(target: Target): Promise<Row> {
  const gaveWay: string[] = [];
  const profiles = { profiles: { p: {}, q: {} } };
  const [a, b] = [await target.tenant({ mode: "key", ...profiles }), await target.tenant({ mode: "key", ...profiles })];
  const { token } = await target.key(a);
  const { token: ofProfile } = await target.key(a, { profile: "p" });
  const operator = await target.operator("tenant-admin", [a]);
  let tried = 0;
  const refused = ({ status }: Answer, what: string) => {
    tried += 1;
    if (![401, 403, 429].includes(status)) gaveWay.push(`${what}: ${status}`);
  };
  for (const revision of REVISIONS) {
    for (const method of ["tools/list", "resources/list", "prompts/list", "tools/call", "resources/read"]) {
      const params = { name: "note_list", arguments: {}, uri: "note://x" };
      refused(await target.call(b, method, params, { key: token, revision }), `A's key at B, ${method}`);
      refused(
        await target.call(b, method, params, { key: token, revision, profile: "p" }),
        `A's key at B's profile, ${method}`,
      );
      refused(
        await target.call(a, method, params, { key: ofProfile, revision }),
        `a profile's key without the profile, ${method}`,
      );
      refused(
        await target.call(a, method, params, { key: ofProfile, revision, profile: "q" }),
        `a profile's key in another, ${method}`,
      );
      refused(
        await target.call(a, method, params, { key: operator.token, revision }),
        `an operator's token as a key, ${method}`,
      );
      for (const changed of tampered(token).filter(Boolean))
        refused(await target.call(a, method, params, { key: changed, revision }), "a changed key");
    }
  }
  return rowOf("cross-tenant: keys", `${tried} uses of keys where they do not belong`, gaveWay, "401, 403 or 429 each");
}

const BEGIN = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "attack", version: "1" } };
const ERA = { revision: "2025-11-25" as const };

async function sessions(target: Target): Promise<Row> {
  const gaveWay: string[] = [];
  const [a, b] = [
    await target.tenant({ mode: "key", profiles: { p: {} } }),
    await target.tenant({ mode: "key", profiles: { p: {} } }),
  ];
  const [one, two, atB] = [await target.key(a), await target.key(a), await target.key(b)];
  const begun = await target.call(a, "initialize", BEGIN, { ...ERA, key: one.token });
  const session = begun.headers.get("mcp-session-id") ?? "";
  let tried = 0;
  const refused = ({ status }: { status: number }, what: string) => {
    tried += 1;
    if (status < 400) gaveWay.push(`${what}: ${status}`);
  };
  const uses = [
    ["another tenant, its own key", b, { key: atB.token }, session],
    ["another tenant, the old key", b, { key: one.token }, session],
    ["another principal", a, { key: two.token }, session],
    ["another profile", a, { key: one.token, profile: "p" }, session],
    ["no key", a, {}, session],
    ...tampered(session)
      .filter(Boolean)
      .map((changed) => ["a changed id", a, { key: one.token }, changed] as const),
  ] as const;
  for (const [what, tenant, options, id] of uses) {
    const sent = { "mcp-session-id": id };
    for (const method of ["tools/list", "logging/setLevel", "resources/subscribe"]) {
      refused(
        await target.call(tenant, method, { level: "info", uri: "note://x" }, { ...ERA, ...options, headers: sent }),
        `${what}, ${method}`,
      );
    }
    const { key, profile } = options as { key?: string; profile?: string };
    const path = `/mcp/${tenant}${profile === undefined ? "" : `/${profile}`}`;
    const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
    for (const event of [undefined, "1", "a.b.c", `${session}.1.tools`]) {
      const headers = {
        ...sent,
        ...authorization,
        accept: "text/event-stream",
        ...(event === undefined ? {} : { "last-event-id": event }),
      };
      const signal = AbortSignal.timeout(3000);
      const response = await fetch(`${target.origin}${path}`, { headers, signal });
      await response.body?.cancel();
      refused(response, `${what}, GET`);
    }
    refused(await target.send(path, { method: "DELETE", headers: { ...sent, ...authorization } }), `${what}, DELETE`);
  }
  const still = await target.call(
    a,
    "tools/list",
    {},
    { ...ERA, key: one.token, headers: { "mcp-session-id": session } },
  );
  if (still.status !== 200) gaveWay.push(`the session itself was lost: ${still.status}`);
  return rowOf(
    "cross-tenant: sessions",
    `${tried} uses of a session by others, in other places, changed`,
    gaveWay,
    "refused each; its owner still has it",
  );
}

async function cursors(target: Target): Promise<Row> {
  const gaveWay: string[] = [];
  const hiding = { profiles: { p: { resources: { deny: ["note://secret*"] } } } };
  const [a, b] = [await target.tenant(), await target.tenant(hiding)];
  const notes = [a, b].flatMap((tenant) => ["one", "secret-two", "three", "four"].map((id) => [tenant, id] as const));
  for (const [tenant, id] of notes)
    await target.tool(tenant, "note_write", { id, title: `${id} of ${tenant}`, text: id });
  const listing = (await toolsOf(target, a)).filter(({ inputSchema }) => "cursor" in (inputSchema.properties ?? {}));
  const given = await Promise.all(listing.map(async ({ name }) => ({ name, cursor: await cursorOf(target, a, name) })));
  const uses = given.flatMap(({ name, cursor }) =>
    [cursor, ...tampered(cursor)].map((changed) => ({ name, cursor: changed })),
  );
  for (const { name, cursor } of uses) {
    const whole = await target.tool(b, name, { limit: 10, cursor });
    const narrow = await target.tool(b, name, { limit: 10, cursor }, { profile: "p" });
    if (whole.text.includes(`of ${a}`) || narrow.text.includes(`of ${a}`)) gaveWay.push(`${name}: A's notes at B`);
    if (narrow.text.includes("secret-two")) gaveWay.push(`${name}: what the profile hides`);
  }
  if (given.every(({ cursor }) => cursor === "")) gaveWay.push("no cursor was given: nothing was tried");
  const tried = `${uses.length * 2} uses of A's cursors at B, as they were and changed`;
  return rowOf("cross-tenant: cursors", tried, gaveWay, "nothing of A, nothing hidden");
}

async function cursorOf(target: Target, tenant: string, tool: string): Promise<string> {
  const { json } = await target.tool(tenant, tool, { limit: 1 });
  const { structuredContent = {} } = (json.result ?? {}) as { structuredContent?: { nextCursor?: string } };
  return structuredContent.nextCursor ?? "";
}

/** Sealed states of calls that wait for an answer. */
async function states(lab: Target): Promise<Row> {
  const gaveWay: string[] = [];
  const [a, b] = [await lab.tenant({ mode: "key", profiles: { p: {} } }), await lab.tenant({ mode: "key" })];
  const [one, two, atB] = [await lab.key(a), await lab.key(a), await lab.key(b)];
  const call = { name: "lab_ask", arguments: { kind: "form" } };
  const answered = await lab.call(a, "tools/call", call, { key: one.token });
  const { requestState, inputRequests } = (answered.json.result ?? {}) as {
    requestState?: string;
    inputRequests?: Json;
  };
  if (requestState === undefined) throw new Error(`lab_ask asked nothing: ${answered.text.slice(0, 200)}`);
  const inputResponses = Object.fromEntries(
    Object.keys(inputRequests ?? {}).map((name) => [name, { action: "accept", content: { yes: true, confirm: true } }]),
  );
  let tried = 0;
  const uses: (readonly [string, string, Json, Json, string])[] = [
    ["at another tenant", b, { key: atB.token }, call, requestState],
    ["by another principal", a, { key: two.token }, call, requestState],
    ["in another profile", a, { key: one.token, profile: "p" }, call, requestState],
    ["with other arguments", a, { key: one.token }, { ...call, arguments: { kind: "roots" } }, requestState],
    ["for another tool", a, { key: one.token }, { name: "lab_order", arguments: {} }, requestState],
    ...tampered(requestState).map((changed) => ["changed", a, { key: one.token }, call, changed] as const),
  ];
  for (const [what, tenant, options, params, state] of uses) {
    tried += 1;
    const answer = await lab.call(tenant, "tools/call", { ...params, requestState: state, inputResponses }, options);
    if (didIt(answer) && (answer.json.result as Json).resultType !== "input_required") gaveWay.push(`${what}: went on`);
  }
  return rowOf(
    "cross-tenant: request states",
    `${tried} uses of a sealed state where it does not belong, or changed`,
    gaveWay,
    "none goes on",
  );
}
