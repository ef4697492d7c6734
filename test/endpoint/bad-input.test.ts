// Every bad request that could write tries to, so that a test sees whether anything changed.

import { afterEach, describe, expect, test } from "vitest";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { client2026, ERAS, type Json } from "../support/mcp-client.ts";
import { sendRaw, write, type Written } from "../support/raw-http.ts";
import { expectRefusal, sendWritten } from "../support/refusal.ts";

const origin = fixtureOrigin();
const lab = `${origin}/mcp/lab`;
const LIMIT = 4 * 1024 * 1024;

const send = (message: Written, url = lab) => sendWritten(url, message);

let written = 0;

/** A call that stores something, so that a request that is refused too late is found out. */
function writing(revision: string): Written {
  written += 1;
  const args = { uri: `lab://bad/${written}`, name: "bad", text: "This must not be stored." };
  return write(revision, "tools/call", { name: "lab_write", arguments: args }, 7);
}

async function stored(prefix: string): Promise<string> {
  const { result } = await client2026(lab).request("tools/call", { name: "lab_list", arguments: { prefix } });
  return String((result.content as Json[])[0]?.text);
}

afterEach(async () => {
  expect(await stored("lab://bad/")).toBe("[]");
});

test("a write that is not refused is stored, or the check after each test would prove nothing", async () => {
  const { body } = writing("2025-11-25");
  expect((await send(writing("2025-11-25"))).status).toBe(200);
  const uri = `lab://bad/${written}`;
  expect(await stored("lab://bad/")).toBe(JSON.stringify([uri]));
  expect(body.id).toBe(7);
  await client2026(lab).request("tools/call", { name: "lab_delete", arguments: { uri } });
});

describe.each(ERAS)("in era $era", ({ era, revision }) => {
  const headers = write(revision, "tools/call").headers;

  test.each([
    ["a truncated message", JSON.stringify(writing(revision).body).slice(0, -1)],
    ["two messages", JSON.stringify(writing(revision).body).repeat(2)],
    ["nothing", ""],
    ["words", "hello"],
    ["single quotes", "{'jsonrpc':'2.0'}"],
    ["a number that is none", '{"jsonrpc":"2.0","id":NaN,"method":"ping"}'],
  ])("a body that is %s is a parse error", async (_what, body) => {
    expectRefusal(await sendRaw(lab, { headers, body }), revision, { status: 400, code: -32700 });
  });

  test.each(["null", "true", "5", '"tools/list"', "{}"])("the JSON %s is no message", async (body) => {
    expectRefusal(await sendRaw(lab, { headers, body }), revision, { status: 400, code: -32600 });
  });

  test.each([
    ["another version of JSON-RPC", { jsonrpc: "1.0" }],
    ["no version of JSON-RPC", { jsonrpc: undefined }],
    ["a method that is a number", { method: 5 }],
    ["a method that is null", { method: null }],
    ["no method", { method: undefined }],
    ["params that are an array", { params: ["lab_write"] }],
    ["params that are a text", { params: "lab_write" }],
    ["a method and a result", { result: {} }],
    ["a method and an error", { error: { code: 1, message: "no" } }],
  ])("a message with %s is an invalid request, and its id is echoed", async (_what, wrong) => {
    const { headers: sent, body } = writing(revision);
    const reply = await send({ headers: sent, body: { ...body, ...wrong } });
    expectRefusal(reply, revision, { status: 400, code: -32600, id: 7 });
  });

  test.each([
    ["an object", {}],
    ["a boolean", true],
    ["a fraction", 1.5],
    ["an array", [1]],
  ])("an id that is %s is not echoed", async (_what, id) => {
    const { headers: sent, body } = writing(revision);
    expectRefusal(await send({ headers: sent, body: { ...body, id } }), revision, { status: 400, code: -32600 });
  });

  test("an id that is null is answered with null, as the founding documents ask", async () => {
    const { headers: sent, body } = writing(revision);
    const reply = await send({ headers: sent, body: { ...body, id: null } });
    expect(reply).toMatchObject({ status: 400 });
    expect(JSON.parse(reply.text)).toMatchObject({ id: null, error: { code: -32600 } });
  });

  test.each(["tools/destroy", "__proto__", "constructor", "toString", "rpc.discover", "TOOLS/CALL"])(
    "the method %s is unknown",
    async (method) => {
      const status = era === "2026" ? 404 : 200;
      expectRefusal(await send(write(revision, method, {}, "a")), revision, { status, code: -32601, id: "a" });
    },
  );

  test("unknown notifications are accepted without a word", async () => {
    for (const method of ["notifications/unknown", "tools/call", "initialize", "__proto__"]) {
      const { body } = writing(revision);
      expect(await send({ headers, body: { jsonrpc: "2.0", method, params: body.params } })).toMatchObject({
        status: 202,
        text: "",
      });
    }
  });

  test.each(["no_body", "LAB", "__proto__", "a".repeat(500), "lab%00", "%E0%A4%A", "lab//", "..%2flab"])(
    "no tenant can have the name %s, and the answer says where tenants are",
    async (tenant) => {
      const reply = await send(writing(revision), `${origin}/mcp/${tenant}`);
      const { message } = expectRefusal(reply, revision, { status: 404, code: -32600 });
      expect(message).toContain("/mcp/{tenant}");
    },
  );

  test.each(["text/plain", "application/jsonx", "application/json-patch+json", "multipart/form-data; boundary=x", ""])(
    "the content type '%s' is unsupported",
    async (type) => {
      const { headers: sent, body } = writing(revision);
      const reply = await send({ headers: { ...sent, "content-type": type }, body });
      expectRefusal(reply, revision, { status: 415, code: -32600 });
    },
  );

  test("a body without a content type is unsupported", async () => {
    const { headers: sent, body } = writing(revision);
    const { "content-type": _type, ...rest } = sent;
    expectRefusal(await send({ headers: rest, body }), revision, { status: 415, code: -32600 });
  });

  test.each(["text/html", "image/*", "application/xml", "application/json;q=0, text/event-stream;q=0.0", "json"])(
    "Accept '%s' excludes both types",
    async (accept) => {
      const { headers: sent, body } = writing(revision);
      const reply = await send({ headers: { ...sent, accept }, body });
      expectRefusal(reply, revision, { status: 406, code: -32600 });
    },
  );

  test.each(["application/json; charset=utf-8", "Application/JSON"])("the content type '%s' is JSON", async (type) => {
    const { headers: sent, body } = write(revision, "tools/list");
    expect((await send({ headers: { ...sent, "content-type": type }, body })).status).toBe(200);
  });

  test.each([
    "https://evil.example",
    "null",
    "file://",
    "http://localhost.evil.example",
    "https://localhost@evil.example",
  ])("a page of the origin %s may not call", async (from) => {
    const { headers: sent, body } = writing(revision);
    const reply = await send({ headers: { ...sent, origin: from, host: new URL(origin).host }, body });
    expectRefusal(reply, revision, { status: 403, code: -32600 });
    expect(reply.headers).not.toHaveProperty("access-control-allow-origin");
    const rebound = await send({ headers: { ...sent, origin: from, host: "evil.example" }, body });
    expectRefusal(rebound, revision, { status: 403, code: -32600 });
  });

  test("a page of this machine may call", async () => {
    const { headers: sent, body } = write(revision, "tools/list");
    for (const from of ["http://localhost:3000", "http://127.0.0.1", "https://[::1]:8443"]) {
      const reply = await send({ headers: { ...sent, origin: from }, body });
      expect(reply.status).toBe(200);
      expect(reply.headers["access-control-allow-origin"]).toBe(from);
    }
  });

  test.each(["GET", "PUT", "DELETE", "PATCH"])("%s is not allowed, and Allow says what is", async (method) => {
    const { headers: sent, body } = writing(revision);
    const reply = await sendRaw(lab, {
      method,
      // A GET that names streams opens one.
      headers: method === "GET" ? { ...sent, accept: "*/*" } : sent,
      ...(method === "GET" ? {} : { body: JSON.stringify(body) }),
    });
    expectRefusal(reply, revision, { status: 405, code: -32600 });
    expect(String(reply.headers.allow).split(/,\s*/)).toEqual(expect.arrayContaining(["POST", "OPTIONS"]));
  });

  test("HEAD is not allowed and has no body; OPTIONS tells a page of this machine what it may send", async () => {
    expect(await sendRaw(lab, { method: "HEAD", headers })).toMatchObject({ status: 405, text: "" });
    const asked = { origin: "http://localhost:3000", "access-control-request-headers": "mcp-param-region, x-other" };
    const reply = await sendRaw(lab, { method: "OPTIONS", headers: asked });
    expect(reply).toMatchObject({ status: 204, text: "" });
    expect(reply.headers["access-control-allow-headers"]).toMatch(/mcp-session-id.*mcp-param-region, x-other/);
  });

  test("a trailing slash and a query string do not matter", async () => {
    for (const url of [`${lab}/`, `${lab}?a=1&tenant=nobody`, `${lab}/?`]) {
      expect((await send(write(revision, "tools/list"), url)).status).toBe(200);
    }
  });

  test("/mcp without a tenant is not found where no default tenant is set", async () => {
    for (const url of [`${origin}/mcp`, `${origin}/mcp/`, `${origin}/`, `${origin}/nowhere`]) {
      const error = expectRefusal(await send(writing(revision), url), revision, { status: 404, code: -32600 });
      expect(error.message).toContain(`${origin}/mcp/{tenant}`);
    }
  });

  describe("a body over the limit", () => {
    const padded = (bytes: number): Written => {
      const { headers: sent, body } = write(revision, "tools/list");
      const _meta = { ...((body.params as Json)._meta as Json | undefined), padding: "" };
      const bare = JSON.stringify({ ...body, params: { _meta } }).length;
      return { headers: sent, body: { ...body, params: { _meta: { ..._meta, padding: "x".repeat(bytes - bare) } } } };
    };

    const inParts = (text: string) => text.match(/[^]{1,65536}/g) ?? [];

    test("is refused by its Content-Length, before it ends; one of exactly the limit is served", async () => {
      expect((await send(padded(LIMIT))).status).toBe(200);
      const declared = { ...padded(LIMIT).headers, "content-length": LIMIT + 1 };
      const reply = await sendRaw(lab, { headers: declared, body: ["{"], unfinished: true });
      expectRefusal(reply, revision, { status: 413, code: -32600 });
    });

    test("is refused without a Content-Length, before it ends; one of exactly the limit is served", async () => {
      const fits = padded(LIMIT);
      const whole = await sendRaw(lab, { headers: fits.headers, body: inParts(JSON.stringify(fits.body)) });
      expect(whole.status).toBe(200);
      const over = padded(LIMIT + 1);
      const parts = inParts(JSON.stringify(over.body));
      const reply = await sendRaw(lab, { headers: over.headers, body: parts, unfinished: true });
      expectRefusal(reply, revision, { status: 413, code: -32600 });
    });
  });

  test("a request whose Origin is allowed is served under any Host while none are listed", async () => {
    const { headers: sent, body } = write(revision, "tools/list");
    expect((await send({ headers: { ...sent, host: "other.example" }, body })).status).toBe(200);
  });

  test.each(["[],", "{},", "[[[[{}]]]],"])(
    "more than 100,000 objects and lists, as of %s, are refused",
    async (piece) => {
      const open = piece.split(/[[{]/).length - 1;
      const listOf = (count: number) => `[${piece.repeat(count / open)}"{[,"]`;
      const echo = write(revision, "tools/call", { name: "lab_echo", arguments: { dense: "DENSE" } });
      const around = JSON.stringify(echo.body).split(/[[{]/).length;
      const bodyWith = (count: number) => JSON.stringify(echo.body).replace('"DENSE"', listOf(count));
      const most = 100_000 - around;
      expect((await sendRaw(lab, { headers: echo.headers, body: bodyWith(most - (most % open)) })).status).toBe(200);
      const reply = await sendRaw(lab, { headers: echo.headers, body: bodyWith(100_000) });
      expectRefusal(reply, revision, { status: 400, code: -32600 });
      expect(reply.text).toContain("more than 100000 objects and lists");
    },
  );

  test("nesting is refused where it is deep, and harmless where the text is short", async () => {
    for (const [open, close] of [
      ["[", "]"],
      ['{"a":', "}"],
    ] as const) {
      const body = JSON.stringify(writing(revision).body).replace(
        '"bad"',
        `${open.repeat(50_000)}1${close.repeat(50_000)}`,
      );
      expectRefusal(await sendRaw(lab, { headers, body }), revision, { status: 400, code: -32600 });
    }
    const echo = write(revision, "tools/call", { name: "lab_echo", arguments: { deep: "DEEP" } });
    const body = JSON.stringify(echo.body).replace('"DEEP"', `${"[".repeat(700)}${"]".repeat(700)}`);
    expect((await sendRaw(lab, { headers: echo.headers, body })).status).toBe(200);
  });
});
