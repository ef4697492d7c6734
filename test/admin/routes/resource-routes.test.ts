import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { AuditRow, ResourceShape, Infer } from "../../../src/admin/contract.ts";
import { ask, newTenant, rules, send, type Asking } from "../../support/workerd/admin.ts";

type About = Infer<typeof ResourceShape>;
type Audit = Infer<typeof AuditRow>;

const MIB = 1024 * 1024;
const at = (id: string, uri: string, more = "") =>
  `/tenants/${id}/resources/content?uri=${encodeURIComponent(uri)}${more}`;
const put = (id: string, uri: string, body: BodyInit, { type = "text/plain", more = "", ...asking }: Putting = {}) =>
  ask("PUT", at(id, uri, more), { body, ...asking, headers: { "content-type": type, ...asking.headers } });
const list = async (id: string, query = "") =>
  (await ask("GET", `/tenants/${id}/resources${query}`)).body as { items: About[]; cursor?: string };
const bodiesOf = async (id: string) => (await env.BODIES.list({ prefix: `body/${id}/` })).keys.map(({ name }) => name);
const sha256 = async (bytes: Uint8Array) =>
  Array.from(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");

interface Bad extends Putting {
  readonly uri?: string;
  readonly body?: BodyInit;
}

interface Putting extends Asking {
  readonly type?: string;
  readonly more?: string;
}

describe("writing a resource", () => {
  it("stores the body and its metadata", async () => {
    const id = await newTenant();
    const more =
      "&name=Plan&title=The%20plan&description=What%20we%20do&tag=x&tag=y&tag=x&audience=user&audience=assistant&priority=0.5";
    const made = await put(id, "note:plan", "Übermorgen", { type: "text/markdown", more });
    expect([made.status, made.body]).toMatchObject([
      201,
      {
        uri: "note:plan",
        name: "Plan",
        title: "The plan",
        description: "What we do",
        mimeType: "text/markdown",
        binary: false,
        size: 11,
        sha256: await sha256(new TextEncoder().encode("Übermorgen")),
        audience: ["user", "assistant"],
        priority: 0.5,
        tags: ["x", "y"],
      },
    ]);
    expect(made.headers.get("etag")).toBe((made.body as About).etag);
    expect((await list(id)).items).toEqual([made.body]);
    const got = await ask("GET", at(id, "note:plan"));
    expect([got.text, got.headers.get("content-type"), got.headers.get("etag")]).toEqual([
      "Übermorgen",
      "text/markdown",
      (made.body as About).etag,
    ]);
  });

  it("keeps the time that the source of a copy says, as it says it", async () => {
    const id = await newTenant();
    const lastModified = "2020-02-29T23:59:59.123456Z";
    const copy = `&lastModified=${lastModified}`;
    const made = await put(id, "note:a", "x", { more: copy });
    expect([made.status, made.body]).toMatchObject([201, { lastModified }]);
    expect((await put(id, "note:a", "x", { more: copy })).body).toEqual(made.body);
    // Who does not say leaves the time of what is the same, and gives another to what is not.
    expect((await put(id, "note:a", "x")).body).toEqual(made.body);
    expect((await put(id, "note:a", "y")).body).not.toMatchObject({ lastModified });
    const back = await put(id, "note:a", "y", { more: copy });
    expect(back.body).toMatchObject({ lastModified });
    expect((await list(id)).items).toEqual([back.body]);
    const got = await ask("GET", at(id, "note:a"));
    expect(got.headers.get("last-modified")).toBe("Sat, 29 Feb 2020 23:59:59 GMT");
  });

  it("names it after the end of its URI", async () => {
    const id = await newTenant();
    for (const [uri, name] of [
      ["file:///docs/a%20b.md", "a b.md"],
      ["note:plan", "plan"],
      ["https://a.example/x/?q=1", "x"],
    ] as const) {
      expect((await put(id, uri, "x")).body).toMatchObject({ name });
    }
  });

  it("gives every byte back", async () => {
    const id = await newTenant();
    const bytes = Uint8Array.from({ length: 70_000 }, (_, index) => (index * 7) % 256);
    expect((await put(id, "bin:all", bytes, { type: "image/png" })).body).toMatchObject({ binary: true, size: 70_000 });
    const got = await send("GET", at(id, "bin:all"));
    expect(new Uint8Array(await got.arrayBuffer())).toEqual(bytes);
    expect(got.headers.get("content-disposition")).toBe("attachment");
    expect(got.headers.get("x-content-type-options")).toBe("nosniff");
  });

  it("takes the empty body", async () => {
    const id = await newTenant();
    expect((await put(id, "note:empty", "")).body).toMatchObject({ size: 0, binary: false });
    expect((await ask("GET", at(id, "note:empty"))).text).toBe("");
  });

  it("takes 25 MiB in a stream without a length, and not a byte more", async () => {
    const id = await newTenant();
    const stored = await put(id, "bin:large", streamOf(25 * MIB), { type: "application/octet-stream" });
    expect(stored.body).toMatchObject({ size: 25 * MIB, binary: true });
    let read = 0;
    const got = await send("GET", at(id, "bin:large"));
    for await (const chunk of got.body ?? []) read += chunk.byteLength;
    expect(read).toBe(25 * MIB);
    const refused = await put(id, "bin:larger", streamOf(25 * MIB + 1), { type: "application/octet-stream" });
    expect(rules(refused)).toEqual([413, ["body", `at most ${25 * MIB} bytes`]]);
    expect((await list(id)).items.map(({ uri }) => uri)).toEqual(["bin:large"]);
  });

  it("answers an equal body and equal words with what is there, and writes nothing", async () => {
    const id = await newTenant();
    const first = await put(id, "note:a", "same", { more: "&tag=x" });
    const again = await put(id, "note:a", "same", { more: "&tag=x" });
    expect([first.status, again.status, again.body]).toEqual([201, 200, first.body]);
    expect(await auditOf(id)).toHaveLength(2);
    const other = await put(id, "note:a", "same", { more: "&tag=y" });
    expect((other.body as About).etag).not.toBe((first.body as About).etag);
  });

  it.each<[string, string, boolean | undefined, boolean]>([
    ["text", "text/csv", undefined, false],
    ["json", "application/vnd.x+json", undefined, false],
    ["svg", "image/svg+xml", undefined, false],
    ["image", "image/png", undefined, true],
    ["unknown type", "application/x-thing", undefined, false],
    ["no type", "application/octet-stream", undefined, true],
    ["text by the writer's word", "application/octet-stream", false, false],
    ["bytes by the writer's word", "text/plain", true, true],
  ])("takes %s for what it is", async (_what, type, says, binary) => {
    const id = await newTenant();
    const more = says === undefined ? "" : `&binary=${says ? 1 : 0}`;
    expect((await put(id, "note:x", "plain words", { type, more })).body).toMatchObject({ binary, mimeType: type });
  });

  it("takes bytes of an unknown type for bytes", async () => {
    const id = await newTenant();
    for (const bytes of [Uint8Array.of(1, 0, 2), Uint8Array.of(0xff, 0xfe)]) {
      expect((await put(id, "bin:x", bytes, { type: "application/x-thing" })).body).toMatchObject({ binary: true });
    }
  });
});

function streamOf(size: number): ReadableStream<Uint8Array> {
  let left = size;
  return new ReadableStream({
    pull: (controller) => {
      const chunk = new Uint8Array(Math.min(left, MIB));
      left -= chunk.byteLength;
      if (chunk.byteLength > 0) controller.enqueue(chunk);
      else controller.close();
    },
  });
}

describe("a resource that breaks a rule", () => {
  it.each<[string, Bad, string, string]>([
    ["has no URI", { uri: "no scheme" }, "uri", "a URI must start with a scheme"],
    ["climbs out", { uri: "file:///a/../b" }, "uri", "a URI must not have . or .. segments"],
    ["has too long a URI", { uri: `note:${"x".repeat(2048)}` }, "uri", "at most 2048"],
    ["has an empty name", { more: "&name=" }, "name", "at least 1 character"],
    ["is worth more than all", { more: "&priority=2" }, "priority", "at most 1"],
    ["is worth a word", { more: "&priority=high" }, "priority", "must be a number"],
    ["is for nobody known", { more: "&audience=dogs" }, "audience.0", "one of user, assistant"],
    ["has an empty tag", { more: "&tag=" }, "tag.0", "at least 1 character"],
    ["changed at no time", { more: "&lastModified=yesterday" }, "lastModified", "a time in UTC"],
    ["changed on no day", { more: "&lastModified=2026-02-30T00:00:00Z" }, "lastModified", "a time in UTC"],
    ["is said twice", { more: "&name=a&name=b" }, "name", "must be given once"],
    ["has an unknown parameter", { more: "&mimetype=x" }, "mimetype", "is not a known parameter"],
    ["has a flag that is none", { more: "&binary=maybe" }, "binary", "1 or 0"],
    ["has no media type", { type: "plain" }, "Content-Type", "a media type, type/subtype"],
    ["is text in Latin-1", { type: "text/plain; charset=latin1" }, "Content-Type", "UTF-8"],
    ["is no UTF-8", { body: Uint8Array.of(0xc3, 0x28) }, "body", "text/plain is text, and this is not UTF-8"],
    ["ends in half a character", { body: Uint8Array.of(0x61, 0xc3) }, "body", "is not UTF-8"],
  ])("and %s is named with field and rule, and stores nothing", async (_what, bad, field, rule) => {
    const id = await newTenant();
    const { uri = "note:a", body = "x", ...putting } = bad;
    const refused = await put(id, uri, body, putting);
    expect(rules(refused)).toEqual([422, [field, expect.stringContaining(rule)]]);
    expect([(await list(id)).items, await bodiesOf(id)]).toEqual([[], []]);
  });

  it("is refused before its body is read where its length is known", async () => {
    const id = await newTenant();
    const headers = { "content-length": String(26 * MIB) };
    expect((await put(id, "bin:x", "short", { headers })).status).toBe(413);
  });
});

describe("conditions", () => {
  it("accept a writer who has the current version", async () => {
    const id = await newTenant();
    const { etag } = (await put(id, "note:a", "one")).body as About;
    const second = await put(id, "note:a", "two", { headers: { "if-match": `"other", ${etag}` } });
    expect(second.status).toBe(200);
    const late = await put(id, "note:a", "three", { headers: { "if-match": etag } });
    expect([late.status, late.headers.get("etag")]).toEqual([412, (second.body as About).etag]);
    expect((await ask("GET", at(id, "note:a"))).text).toBe("two");
  });

  it("tell a deleted and recreated resource from the first", async () => {
    const id = await newTenant();
    const { etag } = (await put(id, "note:a", "one")).body as About;
    await ask("DELETE", at(id, "note:a"));
    await put(id, "note:a", "one", { more: "&title=mine" });
    expect((await put(id, "note:a", "one", { headers: { "if-match": etag } })).status).toBe(412);
  });

  it("make, or change, only what is not there, or is", async () => {
    const id = await newTenant();
    const absent = { headers: { "if-none-match": "*" } };
    const present = { headers: { "if-match": "*" } };
    expect((await put(id, "note:a", "one", present)).status).toBe(412);
    expect((await put(id, "note:a", "one", absent)).status).toBe(201);
    expect((await put(id, "note:a", "two", absent)).status).toBe(412);
    expect((await put(id, "note:a", "two", present)).status).toBe(200);
  });

  it("hold for deleting", async () => {
    const id = await newTenant();
    const { etag } = (await put(id, "note:a", "one")).body as About;
    const other = { headers: { "if-match": '"other"' } };
    expect((await ask("DELETE", at(id, "note:a"), other)).status).toBe(412);
    expect((await ask("DELETE", at(id, "note:a"), { headers: { "if-match": etag } })).status).toBe(204);
    expect((await ask("DELETE", at(id, "note:a"))).status).toBe(404);
    expect((await ask("GET", at(id, "note:a"))).status).toBe(404);
  });

  it("save a reader the body it has", async () => {
    const id = await newTenant();
    const { etag } = (await put(id, "note:a", "one")).body as About;
    for (const tag of [etag, `W/${etag}`, `"x", ${etag}`, "*"]) {
      const got = await ask("GET", at(id, "note:a"), { headers: { "if-none-match": tag } });
      expect([got.status, got.text, got.headers.get("etag")]).toEqual([304, "", etag]);
    }
    expect((await ask("GET", at(id, "note:a"), { headers: { "if-none-match": '"x"' } })).status).toBe(200);
  });

  it.each([
    ["if-match", "abc", "If-Match", "must be * or quoted entity tags"],
    ["if-none-match", '"abc"', "If-None-Match", "must be * for a write"],
  ])("that cannot be read are refused: %s", async (header, value, field, rule) => {
    const id = await newTenant();
    expect(rules(await put(id, "note:a", "x", { headers: { [header]: value } }))).toEqual([422, [field, rule]]);
  });

  it("hold at the moment of the write, however long the body takes", async () => {
    const id = await newTenant();
    const { etag } = (await put(id, "note:a", "one")).body as About;
    const { promise: other, resolve } = Promise.withResolvers<void>();
    const slow = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          // Read only once the condition was looked at the first time.
          resolve(await put(id, "note:a", "two").then(() => undefined));
          controller.enqueue(new TextEncoder().encode("three"));
          controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    const late = await put(id, "note:a", slow, { headers: { "if-match": etag } });
    await other;
    expect([late.status, (await ask("GET", at(id, "note:a"))).text]).toEqual([412, "two"]);
  });

  it("lose nothing of two writers: every write is audited or refused, and the log replayed is the state", async () => {
    const id = await newTenant();
    const uris = ["note:a", "note:b", "note:c"];
    for (const uri of uris) await put(id, uri, "start");
    /** What a writer had seen, by the tag of what it then wrote. */
    const seen = new Map<string, string>();
    const write = async (writer: string) => {
      for (let round = 0; round < 60; round += 1) {
        const uri = uris[round % uris.length] ?? "";
        const current = (await list(id)).items.find((item) => item.uri === uri)?.etag ?? "";
        const { status, body } = await put(id, uri, `${writer} ${round}`, { headers: { "if-match": current } });
        expect([200, 412]).toContain(status);
        if (status === 200) seen.set((body as About).etag, current);
      }
    };
    await Promise.all(["one", "two"].map(write));
    const entries = (await auditOf(id)).filter(({ action }) => action.startsWith("resource."));
    expect(entries).toHaveLength(uris.length + seen.size);
    const tagOf = (row: unknown) => {
      const { hash, revision } = row as { hash: string; revision: number };
      return `"${hash}-${revision}"`;
    };
    const replayed = new Map<string, unknown>();
    for (const { target, action, before, after } of entries.toReversed()) {
      expect(before ?? undefined).toEqual(replayed.get(target));
      if (action === "resource.update") expect(seen.get(tagOf(after))).toBe(tagOf(before));
      replayed.set(target, after);
    }
    const tags = (await list(id)).items.map(({ etag }) => etag);
    expect(uris.map((uri) => tagOf(replayed.get(`resource ${uri}`)))).toEqual(tags);
  });
});

async function auditOf(id: string): Promise<Audit[]> {
  const entries: Audit[] = [];
  for (let query = ""; ;) {
    const page = (await ask("GET", `/tenants/${id}/audit?limit=1000${query}`)).body as {
      items: Audit[];
      cursor?: string;
    };
    entries.push(...page.items);
    if (page.cursor === undefined) return entries;
    query = `&cursor=${encodeURIComponent(page.cursor)}`;
  }
}

it("resources are listed by prefix and in pages", async () => {
  const id = await newTenant();
  for (const uri of ["note:b", "note:a", "doc:a", "note:c"]) await put(id, uri, uri);
  const first = await list(id, "?prefix=note:&limit=2");
  expect(first.items.map(({ uri }) => uri)).toEqual(["note:a", "note:b"]);
  const second = await list(id, `?prefix=note:&limit=2&cursor=${encodeURIComponent(first.cursor ?? "")}`);
  expect([second.items.map(({ uri }) => uri), second.cursor]).toEqual([["note:c"], undefined]);
});

it("an export has the document, then a line for each resource", async () => {
  const id = await newTenant({ title: "T" });
  const made: About[] = [];
  for (let n = 0; n < 7; n += 1) made.push((await put(id, `note:${n}`, `text ${n}`)).body);
  const { text, headers } = await ask("GET", `/tenants/${id}/export`);
  expect(headers.get("content-type")).toBe("application/x-ndjson");
  const lines = text.trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    { kind: "tenant", id, region: null, jurisdiction: null, revision: 1, document: { mode: "open", title: "T" } },
    ...made.map((about) => ({ kind: "resource", ...about })),
  ]);
});
