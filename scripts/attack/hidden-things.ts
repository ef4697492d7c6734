// What a profile cannot see must not show in what it is told: the same requests in two tenants, of which one has hidden
// notes beside what both show. Answers must be equal to the byte, but for the name of the tenant and the time.

import { rowOf, type Attack, type Row } from "./report.ts";
import { argumentsFor, toolsOf, type Answer, type CallOptions, type Json, type Target } from "./target.ts";

const SECRET = "hunterzebra";
const PROFILE = "narrow";
const NARROW = { profiles: { [PROFILE]: { search: true, resources: { allow: ["note://a*"] } } }, search: true };
const VISIBLE = ["a-one", "a-two", "a-three", "a-four", "a-five"];
const HIDDEN = ["b-hidden-one", "a0", "b-two", "z-three", "b-four", "b-five", "b-six"].filter((id) => id !== "a0");

async function note(target: Target, tenant: string, id: string, text: string): Promise<void> {
  const { text: message, json } = await target.tool(tenant, "note_write", {
    id,
    title: `Note ${id}`,
    text,
    tags: [id.slice(0, 1)],
  });
  if (json.result === undefined) throw new Error(`note_write: ${message}`);
}

/** With and without what is hidden; in the first the hidden notes are written between the visible ones. */
async function worlds(target: Target): Promise<readonly [string, string]> {
  const [full, bare] = [await target.tenant(NARROW), await target.tenant(NARROW)];
  for (const [at, id] of VISIBLE.entries()) {
    const text = `The lock of garden ${id} is common. ${"word ".repeat(at + 1)}`;
    const hidden = HIDDEN.filter((_id, index) => index % VISIBLE.length === at);
    for (const other of hidden)
      await note(target, full, other, `The ${SECRET} password of the garden. common `.repeat(5));
    await note(target, full, id, text);
    await note(target, bare, id, text);
  }
  return [full, bare];
}

const QUERIES = [
  ..."abcdefghijklmnopqrstuvwxyz".split("").map((letter) => `the ${letter}`),
  ...Array.from({ length: SECRET.length }, (_none, at) => `the ${SECRET.slice(0, at + 1)}`),
  SECRET,
  `${SECRET} garden`,
  `garden ${SECRET}`,
  "common",
  "garden common",
  "password",
  "lock password",
  "b",
  "note",
  "word",
];

/** Every reading method and tool that there is, with arguments that may meet something hidden. */
async function questions(target: Target, tenant: string): Promise<readonly (readonly [string, Json])[]> {
  const reading = (await toolsOf(target, tenant, { profile: PROFILE })).filter(
    (tool) => tool.annotations?.readOnlyHint === true,
  );
  const request: [string, Json][] = [
    ["tools/list", {}],
    ["prompts/list", {}],
    ["resources/list", {}],
    ["resources/templates/list", {}],
    ...HIDDEN.concat(VISIBLE).map((id): [string, Json] => ["resources/read", { uri: `note://${id}` }]),
    ...["", "a", "b", "b-", "z"].flatMap((value): [string, Json][] => [
      ["completion/complete", { ref: { type: "ref/resource", uri: "note://{id}" }, argument: { name: "id", value } }],
      [
        "completion/complete",
        { ref: { type: "ref/prompt", name: "summarize_notes" }, argument: { name: "tag", value } },
      ],
    ]),
    ["prompts/get", { name: "summarize_notes", arguments: {} }],
    ["prompts/get", { name: "summarize_notes", arguments: { tag: "b" } }],
  ];
  const uris = [...HIDDEN, ...VISIBLE, "nowhere"].flatMap((id) => [id, `note://${id}`]);
  for (const tool of reading) {
    const properties = Object.keys(tool.inputSchema.properties ?? {});
    const call = (more: Json) => request.push(["tools/call", { name: tool.name, arguments: argumentsFor(tool, more) }]);
    if (properties.includes("query")) for (const query of QUERIES) call({ query });
    if (properties.includes("limit"))
      for (const limit of [1, 2, 4, 5]) call({ limit, ...(properties.includes("query") ? { query: "garden" } : {}) });
    if (properties.includes("tag")) for (const tag of ["a", "b", "z"]) call({ tag });
    if (properties.includes("id")) for (const id of uris) call({ id });
  }
  return request;
}

/** Without what differs rightly: the tenant's name, the time, and the bytes of what is sealed. */
function told({ status, text }: Answer, tenant: string): string {
  return `${status} ${text}`
    .replaceAll(tenant, "TENANT")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replaceAll(
      /"(nextCursor|cursor)":"([^"]+)"/g,
      (_all, name: string, cursor: string) => `"${name}":${cursor.length}`,
    )
    .replaceAll(/cursor \\"[^"]+\\"/g, "CURSOR");
}

export const hiddenThings: Attack = {
  name: "hidden things",
  classes: ["hidden things that influence visible answers"],
  run: async (target) => {
    const [full, bare] = await worlds(target);
    return [await difference(target, full, bare), await cursors(target, full)];
  },
};

async function difference(target: Target, full: string, bare: string): Promise<Row> {
  const gaveWay: string[] = [];
  const asked = await questions(target, full);
  const options: CallOptions = { profile: PROFILE };
  for (const [method, params] of asked) {
    const [one, two] = await Promise.all([
      target.call(full, method, params, options),
      target.call(bare, method, params, options),
    ]);
    if (told(one, full) !== told(two, bare) || one.text.includes(`${SECRET} password`)) {
      gaveWay.push(`${method} ${JSON.stringify(params).slice(0, 80)} differs`);
    }
  }
  return rowOf(
    "2 search tells what is hidden",
    `${asked.length} requests in a profile, with and without hidden notes`,
    gaveWay,
    "equal answers, order, counts, cursors",
  );
}

/** A cursor may be opened by anybody who can read base64. */
async function cursors(target: Target, full: string): Promise<Row> {
  const gaveWay: string[] = [];
  let seen = 0;
  for (const limit of [1, 2, 3, 4, 5]) {
    for (let cursor: string | undefined, page = 0; page < 8; page += 1) {
      const args = { limit, ...(cursor === undefined ? {} : { cursor }) };
      const { json } = await target.tool(full, "note_list", args, { profile: PROFILE });
      const { nextCursor } = ((json.result as Json).structuredContent ?? {}) as { nextCursor?: string };
      if (nextCursor === undefined) break;
      seen += 1;
      const opened = [
        nextCursor,
        Buffer.from(nextCursor, "base64").toString("latin1"),
        Buffer.from(nextCursor, "base64url").toString("latin1"),
      ];
      const named = HIDDEN.find((id) => opened.some((text) => text.includes(id)));
      if (named !== undefined) gaveWay.push(`limit ${limit}: a cursor names ${named}`);
      cursor = nextCursor;
    }
  }
  if (seen === 0) gaveWay.push("no cursor was seen: nothing was tried");
  return rowOf("11 cursors name hidden things", `${seen} cursors of note_list, opened`, gaveWay, "none names one");
}
