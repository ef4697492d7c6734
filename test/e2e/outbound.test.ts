// The way out over a real network: a Worker as it is deployed, whose tool asks whatever URL its caller names, beside a
// server on the loopback interface and a resolver that says what a test wants.

import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { client2026 } from "../support/mcp-client.ts";
import { bundleWorker, startWorker, type OneWorker } from "../support/start-worker.ts";

const servers: Server[] = [];
let worker: OneWorker;
let strict: OneWorker;
let target: string;
let lookups: string[] = [];
let seen: IncomingHttpHeaders[] = [];

const listen = async (serve: RequestListener): Promise<string> => {
  const server = createServer(serve);
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

/** What the resolver says, by name. */
const ADDRESSES: Record<string, readonly string[]> = {
  "rebinds.example.com": ["127.0.0.1"],
  "half.example.com": ["1.1.1.1", "10.0.0.7"],
  "mapped.example.com": ["::ffff:169.254.169.254"],
};

beforeAll(async () => {
  const resolver = await listen((request, response) => {
    const query = new URL(request.url ?? "", "http://resolver").searchParams;
    const name = query.get("name") ?? "";
    const wanted = query.get("type") === "A" ? 1 : 28;
    lookups.push(`${name} ${wanted}`);
    if (name === "broken.example.com") return response.writeHead(500).end("{}");
    const answers = (ADDRESSES[name] ?? []).map((data) => ({ name, type: data.includes(":") ? 28 : 1, TTL: 60, data }));
    const alias = { name, type: 5, TTL: 60, data: "alias.example.com." };
    const Answer = [alias, ...answers.filter(({ type }) => type === wanted)];
    return response.setHeader("content-type", "application/dns-json").end(JSON.stringify({ Status: 0, Answer }));
  });
  target = await listen((request, response) => {
    seen.push(request.headers);
    const url = new URL(request.url ?? "", "http://target");
    if (url.pathname === "/to") return response.writeHead(302, { location: url.searchParams.get("at") ?? "" }).end();
    if (url.pathname === "/round") return response.writeHead(302, { location: "/round" }).end();
    if (url.pathname === "/large") return response.end("x".repeat(2000));
    return response.end("here");
  });
  const modules = await bundleWorker("worker");
  const vars = { OUTBOUND_RESOLVER: `${resolver}/dns-query` };
  [worker, strict] = await Promise.all([
    startWorker(modules, { vars: { ...vars, OUTBOUND_ALLOW: "http://127.0.0.1" } }),
    startWorker(modules, { vars }),
  ]);
});
afterAll(async () => {
  await Promise.all([worker.stop(), strict.stop()]);
  for (const server of servers) server.close();
});

async function textOfTool(
  name: string,
  args: Record<string, unknown>,
  headers: Record<string, string> = {},
  by = worker,
) {
  const { result, text } = await client2026(`${by.origin}/mcp/lab`).request(
    "tools/call",
    { name, arguments: args },
    { headers },
  );
  const [content] = (result.content ?? []) as { text: string }[];
  if (content === undefined) throw new Error(text);
  return content.text;
}

async function fetched(args: Record<string, unknown>, by = worker) {
  return JSON.parse(await textOfTool("lab_fetch", args, {}, by)) as Record<string, unknown>;
}

test("an address that is not public is refused before anything is sent", async () => {
  seen = [];
  const port = new URL(target).port;
  for (const host of [
    "127.0.0.1",
    "127.1",
    "2130706433",
    "[::ffff:127.0.0.1]",
    "[::1]",
    "①②⑦.0.0.1",
    "169.254.169.254",
    "10.0.0.1",
  ]) {
    expect((await fetched({ url: `https://${host}:${port}/` }, strict)).rule, host).toBe("address");
  }
  expect((await fetched({ url: target }, strict)).rule).toBe("scheme");
  expect(seen).toEqual([]);
});

test("a name that stands for an address that is not public is refused without that address, and the answer is kept", async () => {
  lookups = [];
  for (let time = 0; time < 3; time += 1) {
    expect(await fetched({ url: "https://rebinds.example.com/" })).toEqual({
      rule: "address",
      message:
        "outbound request refused (address): the address is not public, and OUTBOUND_ALLOW does not list the host",
    });
  }
  expect(lookups.toSorted()).toEqual(["rebinds.example.com 1", "rebinds.example.com 28"]);
  expect((await fetched({ url: "https://half.example.com/" })).rule).toBe("address");
  expect((await fetched({ url: "https://mapped.example.com/" })).rule).toBe("address");
  expect((await fetched({ url: "https://nothing.example.com/" })).rule).toBe("resolution");
});

test("a name that cannot be looked up is refused, and asked again the next time", async () => {
  for (let time = 0; time < 2; time += 1) {
    lookups = [];
    expect((await fetched({ url: "https://broken.example.com/" })).rule).toBe("resolution");
    // Of the two questions about a name, one may end before it is sent because the other failed.
    expect(lookups.length).toBeGreaterThan(0);
  }
});

test("an address that an operator allows is asked, and a redirect from there is looked at like any other", async () => {
  expect(await fetched({ url: `${target}/` })).toEqual({
    status: 200,
    redirected: false,
    url: `${target}/`,
    body: "here",
  });
  expect(await fetched({ url: `${target}/to?at=/end` })).toMatchObject({
    redirected: true,
    url: `${target}/end`,
    body: "here",
  });
  const to = (at: string) => fetched({ url: `${target}/to?at=${encodeURIComponent(at)}` });
  expect((await to("http://169.254.169.254/latest/meta-data/")).rule).toBe("scheme");
  expect((await to("https://169.254.169.254/latest/meta-data/")).rule).toBe("address");
  expect((await to("https://rebinds.example.com/")).rule).toBe("address");
  expect((await to("https://metadata.google.internal/")).rule).toBe("name");
  expect((await to("/round")).rule).toBe("redirects");
});

test("an answer is read up to its cap", async () => {
  expect((await fetched({ url: `${target}/large`, maxBytes: 1999 })).rule).toBe("size");
  expect((await fetched({ url: `${target}/large`, maxBytes: 2000 })).status).toBe(200);
});

test("a call has 32 requests under way at most, and the next call has them again", async () => {
  for (let time = 0; time < 5; time += 1) {
    expect((await fetched({ url: `${target}/`, times: 33 })).rule).toBe("connections");
    expect((await fetched({ url: `${target}/`, times: 32 })).status).toBe(200);
  }
});

test("nothing that the caller sent goes out", async () => {
  seen = [];
  const secrets = {
    cookie: "own=cookie-of-the-caller",
    "x-api-key": "key-of-the-caller",
    "proxy-authorization": "Basic of-the-caller",
    forwarded: "for=of-the-caller",
    "x-forwarded-for": "of-the-caller",
    traceparent: "of-the-caller",
  };
  await textOfTool("lab_fetch", { url: `${target}/` }, secrets);
  expect(JSON.stringify(seen)).not.toContain("of-the-caller");
  expect(seen.map((headers) => headers["tenantry-hops"])).toEqual(["1"]);
});

test.each([
  ["lab_circle", false],
  ["lab_kept_circle", true],
])("a loop of tools ends by itself: %s", async (tool, session) => {
  const url = `${worker.origin}/mcp/lab`;
  const text = await textOfTool(tool, { tool, url, session });
  expect(text).toContain("looks like a loop of tools");
  // Each Worker has what the next one answered within its own answer.
  expect(text.match(/\b200 /g)).toHaveLength(8);
});

test("a request says through how many Workers it came: nonsense and too many are refused", async () => {
  const answered = async (hops: string) => {
    const headers = { "tenantry-hops": hops };
    const { status, error } = await client2026(`${worker.origin}/mcp/lab`).request("tools/list", {}, { headers });
    return { hops, status, code: error?.code };
  };
  for (const hops of ["0", "8"]) expect(await answered(hops)).toEqual({ hops, status: 200, code: undefined });
  for (const hops of ["9", "99", "100", "-1", "1, 1", "x", ""]) {
    expect(await answered(hops)).toEqual({ hops, status: 400, code: -32600 });
  }
});
