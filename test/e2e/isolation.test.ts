// Nobody lists, calls, reads, completes or resumes across a boundary: tenants × profiles × principals × methods × eras,
// held against an oracle that knows the documents alone. What is hidden answers as what never was. A new surface is one
// more entry of `surfaces`: it asks from one viewpoint, and says how many combinations it held against the oracle.

import { afterAll, beforeAll, expect, test } from "vitest";
import {
  admitted,
  inLanes,
  isSame,
  REVISIONS,
  shapeOf,
  viewerOf,
  viewpoints,
  type Revision,
  type Viewer,
  type IsolationFixture,
} from "./isolation/visible.ts";
import {
  has,
  makeFixture,
  markOf,
  maySee,
  refusal,
  SQUARE,
  storedText,
  templates,
  universe,
  visibleStored,
  type Viewpoint,
} from "./isolation/fixture.ts";
import { comparableHeaders } from "../support/comparable-headers.ts";
import type { Json, Reply } from "../support/mcp-client.ts";
import { write } from "../support/raw-http.ts";
import { startWorkerPair, type WorkerPair } from "../support/worker-pair.ts";

const NEVER = "never_was";
const NEVER_URI = "never://was";

let workers: WorkerPair;
let fixture: IsolationFixture;
beforeAll(async () => {
  workers = await startWorkerPair();
  fixture = { workers, tokens: await makeFixture(workers.one) };
});
afterAll(() => workers.stop());

interface Asking {
  readonly viewer: Viewer;
  readonly method: string;
  /** With the name that is asked for. */
  readonly params: (name: string) => Json;
  readonly never: string;
}

/** Whether each name answers like one that never was; the others are given to `look`. */
async function expectHidden(
  { viewer, method, params, never }: Asking,
  names: readonly (readonly [name: string, visible: boolean])[],
  look: (reply: Reply, name: string) => void = () => {},
): Promise<number> {
  const nothing = shapeOf(await viewer.ask(method, params(never)), never);
  for (const [name, visible] of names) {
    const reply = await viewer.ask(method, params(name));
    const { tenant, profile, principal, revision } = viewer;
    const same = shapeOf(reply, name) === nothing;
    expect({ tenant, profile, principal, revision, method, name, same, text: reply.text }).toMatchObject({
      same: !visible,
    });
    if (visible) look(reply, name);
  }
  return names.length;
}

/** Every item of a list, page by page, by the member that names it. */
async function walk(viewer: Viewer, method: string, member: string, key: string): Promise<string[]> {
  const names: string[] = [];
  let cursor: string | undefined;
  do {
    const { result } = await viewer.ask(method, cursor === undefined ? {} : { cursor });
    names.push(...(result[member] as Json[]).map((item) => String(item[key])));
    cursor = result["nextCursor"] as string | undefined;
  } while (cursor !== undefined);
  return names;
}

const NAMED = [
  ["tools", "name"],
  ["prompts", "name"],
  ["resources", "uri"],
] as const;

const lists = async (viewer: Viewer): Promise<number> => {
  for (const [kind, key] of NAMED) {
    const listed = await walk(viewer, `${kind}/list`, kind, key);
    const expected = universe[kind].filter((name) => name !== SQUARE && has(viewer, kind, name) !== undefined);
    const known = kind === "tools" ? listed : listed.filter((name) => universe[kind].includes(name));
    expect(known.toSorted()).toEqual(expected.toSorted());
  }
  const listed = await walk(viewer, "resources/templates/list", "resourceTemplates", "uriTemplate");
  const expected = templates.filter((template) => maySee(viewer, "resources", template));
  expect(listed.filter((template) => templates.some((one) => one === template)).toSorted()).toEqual(
    expected.toSorted(),
  );
  return NAMED.length + 1;
};

const ARGUMENTS: Readonly<Record<string, Json>> = {
  lab_strict: { text: "x" },
  lab_list: { prefix: "" },
  search: { query: "otter" },
  fetch: { id: NEVER_URI },
  lab_pay: { key: "isolation" },
};

const calls = (viewer: Viewer): Promise<number> =>
  expectHidden(
    { viewer, method: "tools/call", params: (name) => ({ name, arguments: ARGUMENTS[name] ?? {} }), never: NEVER },
    universe.tools.map((name) => [name, has(viewer, "tools", name) !== undefined]),
    ({ result }, name) => {
      if (name === "search") {
        const { results } = result["structuredContent"] as { results: { id: string }[] };
        expect(results.map(({ id }) => id).toSorted()).toEqual(visibleStored(viewer).toSorted());
      }
      if (name === "lab_list") {
        const [{ text = "" } = {}] = result["content"] as { text?: string }[];
        expect((JSON.parse(text) as string[]).toSorted()).toEqual(visibleStored(viewer).toSorted());
      }
    },
  );

const fetches = async (viewer: Viewer): Promise<number> => {
  if (has(viewer, "tools", "fetch") === undefined) return 0;
  const params = (id: string) => ({ name: "fetch", arguments: { id } });
  const stored = universe.resources.map((uri) => [uri, visibleStored(viewer).includes(uri)] as const);
  return expectHidden({ viewer, method: "tools/call", params, never: NEVER_URI }, stored, ({ result }, uri) => {
    expect(result["structuredContent"]).toMatchObject({ id: uri, text: storedText(viewer.tenant, uri) });
  });
};

const prompts = async (viewer: Viewer): Promise<number> => {
  const params = (name: string) => (name === "analyze_code" ? { name, arguments: { language: "go" } } : { name });
  const names = universe.prompts.map((name) => [name, has(viewer, "prompts", name) !== undefined] as const);
  return expectHidden(
    { viewer, method: "prompts/get", params, never: NEVER },
    names,
    ({ result, error, text }, name) => {
      const secret = `${viewer.tenant}://secret/b`;
      if (name !== "embedding" || maySee(viewer, "resources", secret)) expect(result).toHaveProperty("messages");
      else expect([error?.code, text.includes(markOf(viewer.tenant))]).toEqual([-32602, false]);
    },
  );
};

const reads = (viewer: Viewer): Promise<number> =>
  expectHidden(
    { viewer, method: "resources/read", params: (uri) => ({ uri }), never: NEVER_URI },
    universe.resources.map((uri) => [uri, has(viewer, "resources", uri) !== undefined]),
    ({ result }, uri) => {
      const [{ text } = {}] = result["contents"] as { text?: string }[];
      if (visibleStored(viewer).includes(uri)) expect(text).toBe(storedText(viewer.tenant, uri));
    },
  );

const completions = async (viewer: Viewer): Promise<number> => {
  const ofPrompt = (name: string) => ({
    ref: { type: "ref/prompt", name },
    argument: { name: "language", value: "" },
  });
  const ofTemplate = (uri: string, name = "id", context?: Json) => ({
    ref: { type: "ref/resource", uri },
    argument: { name, value: "" },
    ...(context === undefined ? {} : { context: { arguments: context } }),
  });
  const method = "completion/complete";
  const names = universe.prompts.map((name) => [name, has(viewer, "prompts", name) !== undefined] as const);
  const seen = templates.map((template) => [template, maySee(viewer, "resources", template)] as const);
  const counted =
    (await expectHidden({ viewer, method, params: ofPrompt, never: NEVER }, names)) +
    (await expectHidden({ viewer, method, params: (uri) => ofTemplate(uri), never: NEVER_URI }, seen));
  const [notes] = templates;
  if (!maySee(viewer, "resources", notes)) return counted;
  const visible = visibleStored(viewer).flatMap((uri) => /^lab:\/\/notes\/(\w+)\/(\w+)$/.exec(uri)?.slice(1) ?? []);
  const pairs = visible.flatMap((folder, at) => (at % 2 === 0 ? [[folder, visible[at + 1]] as const] : []));
  for (const folder of ["public", "secret"]) {
    const { result } = await viewer.ask(method, ofTemplate(notes, "id", { folder }));
    const { values } = result["completion"] as { values: string[] };
    const expected = pairs.filter(([of]) => of === folder).map(([, id]) => String(id));
    expect(values.toSorted()).toEqual(expected.toSorted());
  }
  const { result } = await viewer.ask(method, ofTemplate(notes, "folder"));
  const { values } = result["completion"] as { values: string[] };
  expect(values.toSorted()).toEqual([...new Set(pairs.map(([folder]) => folder))].toSorted());
  return counted + 3;
};

const surfaces = { lists, calls, fetches, prompts, reads, completions } as const;

let combinations = 0;
const inBothEras = (seen: readonly Viewpoint[]) =>
  REVISIONS.flatMap((revision) => seen.map((viewpoint) => viewerOf(fixture, viewpoint, revision)));

test.each(Object.keys(surfaces) as (keyof typeof surfaces)[])(
  "%s show what the document says, and no more",
  async (name) => {
    combinations += await inLanes(inBothEras(admitted), surfaces[name]);
  },
);

test("who is not admitted is told the same whatever they ask for", async () => {
  const asked: readonly (readonly [string, Json])[] = [
    ...["tools/list", "prompts/list", "resources/list", "resources/templates/list"].map(
      (method) => [method, {}] as const,
    ),
    ...["lab_echo", NEVER].map((name) => ["tools/call", { name, arguments: {} }] as const),
    ...["shared_prompt", NEVER].map((name) => ["prompts/get", { name }] as const),
    ...["shared://doc", NEVER_URI].map((uri) => ["resources/read", { uri }] as const),
    [
      "completion/complete",
      { ref: { type: "ref/prompt", name: "analyze_code" }, argument: { name: "language", value: "" } },
    ],
  ];
  const refused = viewpoints.filter((viewpoint) => refusal(viewpoint) !== undefined);
  combinations += await inLanes(inBothEras(refused), async (viewer) => {
    const shapes = new Set<string>();
    for (const [method, params] of asked) {
      const reply = await viewer.ask(method, params);
      expect(reply.status).toBe(refusal(viewer));
      shapes.add(shapeOf(reply, NEVER));
    }
    expect(shapes.size).toBe(1);
    return asked.length;
  });
});

/** Whatever one viewpoint was given, at every other one. */
async function elsewhere(
  givers: readonly Viewer[],
  give: (viewer: Viewer) => Promise<string | undefined>,
  present: (given: string, to: Viewer, from: Viewer) => Promise<void>,
): Promise<number> {
  const given = await Promise.all(givers.map(async (from) => ({ from, text: await give(from) })));
  const pairs = given.flatMap(({ from, text }) =>
    text === undefined
      ? []
      : inBothEras(admitted).flatMap((to) => (to.revision === from.revision ? [{ from, to, text }] : [])),
  );
  expect(pairs.length).toBeGreaterThan(0);
  return inLanes(pairs, async ({ from, to, text }) => {
    await present(text, to, from);
    return 1;
  });
}

const viewersOf = (revision: Revision) => admitted.map((viewpoint) => viewerOf(fixture, viewpoint, revision));

test("a session of 2025 is one only where it was begun, for who began it", async () => {
  const begin = async (viewer: Viewer) => {
    const about = { protocolVersion: viewer.revision, capabilities: {}, clientInfo: { name: "test", version: "1" } };
    return (await viewer.ask("initialize", about)).headers.get("mcp-session-id") ?? "none";
  };
  combinations += await elsewhere(viewersOf("2025-11-25"), begin, async (session, to, from) => {
    const { status } = await to.ask("tools/list", {}, { "mcp-session-id": session });
    expect({ to, from, status }).toMatchObject({ status: isSame(to, from) ? 200 : 404 });
  });
});

test("a call of 2026-07-28 is resumed only where it was begun, by who began it", async () => {
  const meta = { "io.modelcontextprotocol/clientCapabilities": { elicitation: {} } };
  const params = { name: "lab_pay", arguments: { key: "isolation" }, _meta: meta };
  const begin = async (viewer: Viewer) => {
    if (has(viewer, "tools", "lab_pay") === undefined) return undefined;
    const { result } = await viewer.ask("tools/call", params);
    expect(result).toMatchObject({ resultType: "input_required" });
    return String(result["requestState"]);
  };
  combinations += await elsewhere(viewersOf("2026-07-28"), begin, async (requestState, to, from) => {
    const inputResponses = { sure: { action: "decline" } };
    const { result, error } = await to.ask("tools/call", { ...params, requestState, inputResponses });
    if (isSame(to, from)) expect(result).toMatchObject({ content: [{ text: "not paid: decline" }] });
    else expect({ to, from, code: error?.code }).toMatchObject({ code: -32602 });
  });
});

test("a cursor from elsewhere shows nothing but what is listed here", async () => {
  const listed = new Map<string, Promise<readonly string[]>>();
  const listedAt = (viewer: Viewer) => {
    const key = JSON.stringify([viewer.revision, viewer.tenant, viewer.profile, viewer.principal]);
    const names = listed.get(key) ?? walk(viewer, "resources/list", "resources", "uri");
    listed.set(key, names);
    return names;
  };
  for (const revision of REVISIONS) {
    const give = async (viewer: Viewer) =>
      (await viewer.ask("resources/list")).result["nextCursor"] as string | undefined;
    combinations += await elsewhere(viewersOf(revision), give, async (cursor, to) => {
      const { result, error } = await to.ask("resources/list", { cursor });
      const here = await listedAt(to);
      const shown = error === undefined ? (result["resources"] as { uri: string }[]) : [];
      expect(shown.filter(({ uri }) => !here.includes(uri))).toEqual([]);
    });
  }
});

test("a tenant that takes a key is not told from a name that is nobody's", async () => {
  const names = ["beta", "gamma", "beta/narrow", "beta/nowhere", "nobody", "nobody/narrow"];
  const { alpha } = fixture.tokens;
  const held = Object.values(alpha).filter((token) => token !== alpha.foreign && token !== alpha.guest);
  const { headers, body } = write("2025-11-25", "tools/list");
  for (const token of new Set([undefined, "", ...held])) {
    const credential = token === undefined ? {} : { authorization: `Bearer ${token}` };
    for (const method of ["POST", "GET", "DELETE", "PUT"]) {
      const sent = { method, headers: { ...headers, ...credential } };
      const answers = names.map(async (name) => {
        const url = `${workers.one.origin}/mcp/${name}`;
        const reply = await fetch(url, method === "POST" ? { ...sent, body: JSON.stringify(body) } : sent);
        return { status: reply.status, told: comparableHeaders(reply.headers), text: await reply.text() };
      });
      const seen = await Promise.all(answers);
      expect(new Set(seen.map((answer) => JSON.stringify(answer))).size, JSON.stringify([method, token, seen])).toBe(1);
      combinations += seen.length;
    }
  }
});

test("nothing is looked up for a user of another tenant", async () => {
  const { one } = workers;
  const { headers, body } = write("2025-11-25", "tools/list");
  const authorization = `Bearer ${fixture.tokens.beta.guest}`;
  await one.reset();
  for (const name of ["alpha", "beta", "beta/narrow", "nobody"]) {
    const sent = { method: "POST", headers: { ...headers, authorization }, body: JSON.stringify(body) };
    expect((await fetch(`${one.origin}/mcp/${name}`, sent)).status).toBe(404);
  }
  expect(await one.calls()).toEqual([]);
});

test("that was thousands of combinations", () => {
  console.log(`${combinations} combinations`);
  expect(combinations).toBeGreaterThanOrEqual(2000);
});
