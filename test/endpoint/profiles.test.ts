import { beforeAll, describe, expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { client2025, mcpClient, ERAS, type Client, type Json, type Reply } from "../support/mcp-client.ts";
import { write } from "../support/raw-http.ts";
import { expectRefusal, sendWritten } from "../support/refusal.ts";

const origin = fixtureOrigin();
const admin = fixtureAdmin(origin, "profiles");
const urlOf = (tenant: string, profile?: string) =>
  `${origin}/mcp/${tenant}${profile === undefined ? "" : `/${profile}`}`;

const ON = { enabled: true };
const LAB = { "*": { enabled: false }, "lab_*": ON, search: ON, fetch: ON };
const DOCUMENT = {
  instructions: "Of the tenant.",
  search: true,
  tools: LAB,
  prompts: {
    secret: { messages: [{ role: "user", content: { type: "resource", uri: "note:secret" } }] },
    open: { messages: [{ role: "user", content: { type: "resource", uri: "note:open" } }] },
  },
  profiles: {
    reader: {
      title: "Reader",
      instructions: "Read only.",
      tools: {
        allow: ["lab_echo", "lab_list", "search", "fetch"],
        rename: { lab_echo: { name: "echo", title: "Echo", description: "Repeats." }, search: { name: "find" } },
      },
      prompts: { allow: ["lab_letter", "open", "secret"], rename: { lab_letter: { name: "letter" } } },
      resources: { allow: ["note:*", "lab://square/*"], deny: ["note:secret*"] },
    },
    writer: {
      tools: { allow: ["lab_write", "lab_delete", "lab_echo"] },
      prompts: { allow: [] },
      resources: { deny: ["note:secret*"] },
    },
    mute: { search: false },
  },
};

/** An error without the name that was asked for. */
const shapeOf = ({ status, error }: Reply, name: string) => ({
  status,
  code: error?.code,
  text: error?.message.replaceAll(name, "X"),
  data: error?.data && JSON.stringify(error.data).replaceAll(name, "X"),
});

const textOf = ({ result }: Reply) => (result.content as Json[])[0]?.text;

let tenant = "";
beforeAll(async () => {
  tenant = await admin.tenant(DOCUMENT);
  const client = await mcpClient("2026-07-28", urlOf(tenant));
  for (const name of ["open", "secret", "secret/2"]) {
    const resource = { uri: `note:${name}`, name, text: `the apple is ${name}`, tags: [name.slice(0, 6)] };
    expect((await client.request("tools/call", { name: "lab_write", arguments: resource })).error).toBeUndefined();
  }
});

describe.each(ERAS)("in era $era", ({ era, revision }) => {
  const open = (profile?: string, of = tenant) => mcpClient(revision, urlOf(of, profile));
  const call = (client: Client, name: string, args: Json = {}) =>
    client.request("tools/call", { name, arguments: args });
  const toolsOf = async (client: Client) =>
    ((await client.request("tools/list")).result.tools as { name: string }[]).map(({ name }) => name);
  const refused = { status: 403, code: era === "2025" ? -32003 : -32600 };

  describe("a profile", () => {
    let reader: Client;
    let writer: Client;
    beforeAll(async () => {
      reader = await open("reader");
      writer = await open("writer");
    });

    /** Whatever is asked for under either name, the answer is the same. */
    async function expectSame(method: string, of: (name: string) => Json, [hidden, missing]: readonly string[]) {
      const [a = "", b = ""] = [hidden, missing];
      const answer = await reader.request(method, of(a));
      expect(answer.error).toBeDefined();
      expect(shapeOf(answer, a)).toEqual(shapeOf(await reader.request(method, of(b)), b));
    }

    test("lists its tools under its names, and calls them by these", async () => {
      const { result } = await reader.request("tools/list");
      const tools = result.tools as { name: string }[];
      expect(tools.map(({ name }) => name).toSorted()).toEqual(["echo", "fetch", "find", "lab_list"]);
      expect(tools.find(({ name }) => name === "echo")).toMatchObject({ title: "Echo", description: "Repeats." });
      expect(textOf(await call(reader, "echo", { a: 1 }))).toBe('{"a":1}');
      expect(await toolsOf(writer)).toEqual(["lab_echo", "lab_write", "lab_delete"]);
      expect(textOf(await call(writer, "lab_echo", { a: 1 }))).toBe('{"a":1}');
    });

    test("does not find a tool that it hides or renames", async () => {
      for (const name of ["lab_echo", "lab_write", "search", "crowd_001"]) {
        await expectSame("tools/call", (asked) => ({ name: asked, arguments: {} }), [name, "never-was"]);
      }
    });

    test("lists, gets and completes its prompts under its names", async () => {
      const { result } = await reader.request("prompts/list");
      const prompts = result.prompts as { name: string }[];
      expect(prompts.map(({ name }) => name).toSorted()).toEqual(["letter", "open", "secret"]);
      const ref = { type: "ref/prompt", name: "letter" };
      const completed = await reader.request("completion/complete", { ref, argument: { name: "flower", value: "as" } });
      expect((completed.result.completion as Json).values).toEqual(["aster"]);
      expect((await writer.request("prompts/list")).result.prompts).toEqual([]);
    });

    test("does not find a prompt that it hides or renames", async () => {
      const completing = (name: string) => ({
        ref: { type: "ref/prompt", name },
        argument: { name: "flower", value: "" },
      });
      for (const name of ["lab_letter", "crowd_001"]) {
        await expectSame("prompts/get", (asked) => ({ name: asked }), [name, "never-was"]);
        await expectSame("completion/complete", completing, [name, "never-was"]);
      }
    });

    test("lists and reads the resources it sees", async () => {
      const { result } = await reader.request("resources/list");
      expect((result.resources as { uri: string }[]).map(({ uri }) => uri)).toEqual(["note:open"]);
      const read = await reader.request("resources/read", { uri: "note:open" });
      expect((read.result.contents as Json[])[0]?.text).toBe("the apple is open");
      const square = await reader.request("resources/read", { uri: "lab://square/3" });
      expect((square.result.contents as Json[])[0]?.text).toBe("9");
    });

    test("does not find a resource that it hides, however it is spelt", async () => {
      for (const uri of ["note:secret", "note:secret/2", "note:%73ecret", "archive://code/001", "lab://broken/1"]) {
        await expectSame("resources/read", (name) => ({ uri: name }), [uri, "note:never-was"]);
      }
    });

    test("completes no template that it hides", async () => {
      const { result } = await reader.request("resources/templates/list");
      expect((result.resourceTemplates as Json[]).map(({ uriTemplate }) => uriTemplate)).toEqual([
        "lab://square/{number}",
      ]);
      const completing = (uri: string) => ({ ref: { type: "ref/resource", uri }, argument: { name: "id", value: "" } });
      await expectSame("completion/complete", completing, ["lab://notes/{folder}/{id}", "never://{id}"]);
    });

    test("searches, fetches and lists for tools only what it sees", async () => {
      const found = await call(reader, "find", { query: "apple" });
      expect((found.result.structuredContent as { results: { id: string }[] }).results.map(({ id }) => id)).toEqual([
        "note:open",
      ]);
      const secret = await call(reader, "fetch", { id: "note:secret" });
      const missing = await call(reader, "fetch", { id: "note:never" });
      expect(secret.result.isError).toBe(true);
      expect(String(textOf(secret)).replace("secret", "never")).toBe(textOf(missing));
      expect(textOf(await call(reader, "lab_list", { prefix: "note:" }))).toBe('["note:open"]');
    });

    test("gives its tools no way to write or delete what it hides", async () => {
      const written = await call(writer, "lab_write", { uri: "note:secret", name: "mine", text: "mine" });
      expect(written.error ?? written.result).toMatchObject({ code: -32602 });
      expect(textOf(await call(writer, "lab_delete", { uri: "note:secret" }))).toBe("false");
      const whole = await open();
      const { result } = await whole.request("resources/read", { uri: "note:secret" });
      expect((result.contents as Json[])[0]?.text).toBe("the apple is secret");
    });

    test("gives its prompts nothing that it hides", async () => {
      const { result } = await reader.request("prompts/get", { name: "open" });
      expect(JSON.stringify(result.messages)).toContain("the apple is open");
      const secret = await reader.request("prompts/get", { name: "secret" });
      expect(secret.error).toBeDefined();
      expect(secret.text).not.toContain("apple");
    });

    test("has search where it does not switch it off", async () => {
      expect(await toolsOf(await open())).toEqual(expect.arrayContaining(["search", "fetch"]));
      const mute = await open("mute");
      expect((await toolsOf(mute)).filter((name) => ["search", "fetch"].includes(name))).toEqual([]);
      const of = (name: string) => call(mute, name, { query: "apple" }).then((reply) => shapeOf(reply, name));
      expect(await of("search")).toEqual(await of("never-was"));
    });

    test("that does not exist is refused by a message that says so", async () => {
      const written = write(revision, "tools/list");
      const error = expectRefusal(await sendWritten(`${urlOf(tenant)}/nobody`, written), revision, {
        status: 404,
        code: -32600,
      });
      expect(error.message).toBe("Not found: this tenant has no profile of this name");
    });

    test("with an invalid name is not found", async () => {
      const written = write(revision, "tools/list");
      for (const profile of ["nobody", "constructor", "__proto__", "READER", "reader/reader", "reader%2F", "%00"]) {
        const reply = await sendWritten(`${urlOf(tenant)}/${profile}`, written);
        expectRefusal(reply, revision, { status: 404, code: -32600 });
      }
    });
  });

  test("instructions and title are the profile's, else the tenant's", async () => {
    const hello = async (profile?: string) => {
      if (era === "2026") return (await (await open(profile)).request("server/discover")).result;
      const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: "t", version: "1" } };
      return (await (await open(profile)).request("initialize", params)).result;
    };
    expect((await hello()).instructions).toBe("Of the tenant.");
    expect((await hello("writer")).instructions).toBe("Of the tenant.");
    const reader = await hello("reader");
    expect(reader.instructions).toBe("Read only.");
    expect(JSON.stringify(reader)).toContain('"title":"Reader"');
  });

  describe("a retired name", () => {
    const renamed = (name?: string, more: Json = {}) => ({
      tools: LAB,
      profiles: { p: { tools: { rename: name === undefined ? {} : { lab_echo: { name } } } } },
      ...more,
    });

    test("can be called for a while, is listed no more, and never after a block", async () => {
      const id = await admin.tenant(renamed());
      await admin.apply(id, renamed("echo"));
      const client = await open("p", id);
      expect(await toolsOf(client)).toContain("echo");
      expect(await toolsOf(client)).not.toContain("lab_echo");
      expect(textOf(await call(client, "lab_echo", { a: 1 }))).toBe('{"a":1}');
      await admin.suspend(id, "tool", "lab_echo", "it echoes");
      for (const name of ["echo", "lab_echo"]) {
        const { status, error } = await call(client, name);
        expect({ status, ...error }).toMatchObject({ ...refused, message: `${name} is suspended: it echoes` });
      }
      expect(await toolsOf(client)).not.toContain("echo");
    });

    test("names its successor after its time, by the successor's current name", async () => {
      const id = await admin.tenant(renamed());
      // Less than the millisecond that passes before anybody can ask.
      await admin.apply(id, renamed("echo", { deprecatedNameDays: 1e-9 }));
      const client = await open("p", id);
      const ended = (next: string) => ({ code: -32602, message: `Unknown tool: lab_echo; ${next}` });
      expect((await call(client, "lab_echo")).error).toMatchObject(ended("it is now called echo"));
      expect(textOf(await call(client, "echo"))).toBe("{}");
    });
  });

  describe("a suspension", () => {
    test("of a tool, a profile, anonymous callers or the whole tenant answers with its note", async () => {
      const id = await admin.tenant(DOCUMENT);
      const whole = await open(undefined, id);
      const writer = await open("writer", id);
      const answers = async () =>
        Promise.all([call(whole, "lab_echo"), call(writer, "lab_echo"), writer.request("tools/list")]);
      const shown = async () =>
        (await answers()).map(({ status, error }) =>
          error ? { status, code: error.code, message: error.message, why: error.data?.["code"] } : undefined,
        );
      const by = (message: string) => ({ ...refused, message, why: "suspended" });
      expect(await shown()).toEqual([undefined, undefined, undefined]);

      await admin.suspend(id, "tool", "lab_echo", "a tool");
      const tool = by("lab_echo is suspended: a tool");
      expect(await shown()).toEqual([tool, tool, undefined]);
      await admin.ask("DELETE", `/tenants/${id}/suspensions/tool/lab_echo`);

      await admin.suspend(id, "profile", "writer", "a profile");
      expect(await shown()).toEqual([undefined, by("Suspended: a profile"), by("Suspended: a profile")]);
      await admin.ask("DELETE", `/tenants/${id}/suspensions/profile/writer`);

      for (const [kind, name, rest] of [
        ["principal", "anonymous", "/anonymous"],
        ["tenant", undefined, ""],
      ] as const) {
        await admin.suspend(id, kind, name, kind);
        expect(await shown()).toEqual(Array(3).fill(by(`Suspended: ${kind}`)));
        expect((await fetch(urlOf(id), { headers: { accept: "text/html" } })).status).toBe(403);
        await admin.ask("DELETE", `/tenants/${id}/suspensions/${kind}${rest}`);
      }
      expect(await shown()).toEqual([undefined, undefined, undefined]);
    });
  });
});

test("a session of one profile is refused at another", async () => {
  const began = await fetch(urlOf(tenant, "reader"), {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
    }),
  });
  const session = began.headers.get("mcp-session-id") ?? "";
  const client = await client2025(urlOf(tenant, "writer"));
  const reply = await client.request("tools/list", {}, { headers: { "mcp-session-id": session } });
  expect([reply.status, reply.error?.code]).toEqual([404, -32600]);
});

test("a tool that is blocked in all tenants cannot be called until it is unblocked", async () => {
  const another = await admin.tenant({ tools: LAB });
  const clients = await Promise.all(
    ERAS.flatMap(({ revision }) => [tenant, another].map((id) => mcpClient(revision, urlOf(id)))),
  );
  const shown = () =>
    Promise.all(
      clients.map(async (client) => {
        const { status, error } = await client.request("tools/call", { name: "lab_list", arguments: { prefix: "x:" } });
        const { tools } = (await client.request("tools/list")).result as { tools: { name: string }[] };
        return [status, error?.message, tools.some(({ name }) => name === "lab_list")];
      }),
    );
  await admin.ask("POST", "/tools/lab_list/block", { note: "recalled" });
  try {
    expect(await shown()).toEqual(clients.map(() => [403, "lab_list is suspended: recalled", false]));
    const born = await mcpClient("2026-07-28", urlOf(await admin.tenant({ tools: LAB })));
    expect((await born.request("tools/call", { name: "lab_list", arguments: {} })).status).toBe(403);
  } finally {
    await admin.ask("DELETE", "/tools/lab_list/block");
  }
  expect(await shown()).toEqual(clients.map(() => [200, undefined, true]));
});
