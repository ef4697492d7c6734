// What headers and paths may do: answers that caches keep, lines that a client smuggles into an answer, hosts and origins
// that a page makes up.

import { operationsOf, pathIn } from "./late-rights.ts";
import { rowOf, type Attack, type Row } from "./report.ts";
import { written, type Target } from "./target.ts";

export const headers: Attack = {
  name: "headers",
  classes: ["a check before the last wait", "trust in our own server"],
  run: async (target) => [await caching(target), await splitting(target), await hosts(target), await origins(target)],
};

async function caching(target: Target): Promise<Row> {
  const gaveWay: string[] = [];
  const tenant = await target.tenant();
  let tried = 0;
  const look = (what: string, answer: { headers: Headers; status: number }) => {
    tried += 1;
    if (!/no-store/.test(answer.headers.get("cache-control") ?? ""))
      gaveWay.push(`${what}: ${answer.status}, ${answer.headers.get("cache-control") ?? "nothing"}`);
  };
  for (const { method, path } of await operationsOf(target)) {
    if (method !== "GET") continue;
    look(`GET ${path}`, await target.admin("GET", pathIn(path, { id: tenant, kind: "tool" })));
    look(`GET ${path} without a token`, await target.send(`/admin/v1${pathIn(path, { id: tenant })}`));
  }
  for (const method of [
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "tools/call",
    "nothing/such",
  ]) {
    for (const revision of ["2025-11-25", "2026-07-28"] as const)
      look(
        `${method} ${revision}`,
        await target.call(tenant, method, { name: "note_list", arguments: {} }, { revision }),
      );
  }
  for (const path of [
    "/healthz",
    "/readyz",
    "/",
    "/mcp",
    `/mcp/${tenant}`,
    "/mcp/no-such",
    "/nowhere",
    "/admin/v1/nowhere",
  ])
    look(path, await target.send(path));
  look("the page of a browser", await target.send(`/mcp/${tenant}`, { headers: { accept: "text/html" } }));
  return rowOf(
    "11 answers without Cache-Control",
    `${tried} answers of every route and method`,
    gaveWay,
    "no-store each",
  );
}

/** Bytes on a socket: no proper client would send them. */
async function splitting(target: Target): Promise<Row> {
  const gaveWay: string[] = [];
  const { host } = new URL(target.origin);
  const crlf = "%0d%0ax-injected:%20yes%0d%0a";
  const paths = [
    `/mcp/${crlf}`,
    `/mcp/demo/${crlf}`,
    `/mcp/demo?sessionId=${crlf}`,
    `/${crlf}`,
    `/admin/v1/tenants/${crlf}`,
    `/mcp/demo%00`,
    "/mcp/%E0%A4%A",
    "/mcp/..%2f..%2fadmin",
    "//evil.example/mcp/demo",
    "/\\evil.example",
  ];
  const values = [
    "x\r\n x-injected: yes",
    "x\u0000",
    "=?base64?DQp4LWluamVjdGVkOiB5ZXM=?=",
    "\u00e9",
    "x".repeat(20_000),
  ];
  const names = [
    "mcp-session-id",
    "mcp-protocol-version",
    "mcp-method",
    "mcp-name",
    "origin",
    "last-event-id",
    "authorization",
    "accept",
    "access-control-request-headers",
    "x-request-id",
    "cf-ray",
    "tenantry-hops",
  ];
  const requests = [
    ...paths.flatMap((path) =>
      ["GET", "POST", "OPTIONS", "DELETE"].map(
        (method) => `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`,
      ),
    ),
    ...names.flatMap((name) =>
      values.map(
        (value) =>
          `POST /mcp/demo HTTP/1.1\r\nhost: ${host}\r\n${name}: ${value}\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}`,
      ),
    ),
    ...[
      `content-length: 2\r\ntransfer-encoding: chunked`,
      `content-length: 2\r\ncontent-length: 3`,
      `transfer-encoding: xchunked`,
    ].map((framing) => `POST /mcp/demo HTTP/1.1\r\nhost: ${host}\r\n${framing}\r\nconnection: close\r\n\r\n{}`),
  ];
  const answers = await Promise.all(
    requests.map(async (request) => ({ request, answer: await target.bytes(request) })),
  );
  for (const { request, answer } of answers) {
    const head = answer.split("\r\n\r\n")[0] ?? "";
    const what = request.slice(0, 60).replaceAll("\r\n", " ");
    // What the local server in front of the Worker says of a request that it cannot frame never meets the Worker.
    if (answer.includes("miniflare/dist")) continue;
    if (/^x-injected/im.test(head)) gaveWay.push(`${what}: a header of the attacker's`);
    if (/^HTTP\/1.1 5(?!03)/.test(answer)) gaveWay.push(`${what}: ${answer.slice(9, 12)}`);
    if (/evil\.example/.test(/^location: .*/im.exec(head)?.[0] ?? "")) gaveWay.push(`${what}: sent elsewhere`);
    if (/\bat .*\.ts:\d+|node_modules/.test(answer)) gaveWay.push(`${what}: a stack`);
  }
  return rowOf(
    "headers: response splitting",
    `${requests.length} requests with line ends, NULs and two framings`,
    gaveWay,
    "no header of the attacker's, no 5xx, no stack",
  );
}

async function hosts(target: Target): Promise<Row> {
  const gaveWay: string[] = [];
  const { host, port } = new URL(target.origin);
  const made = [
    "evil.example",
    `evil.example:${port}`,
    `localhost.evil.example`,
    `localhost@evil.example`,
    "[::2]",
    "127.0.0.1.evil.example",
    "0.0.0.0",
    "localhost,evil.example",
    "localhost evil.example",
  ];
  for (const name of made) {
    for (const path of ["/mcp/demo", "/admin/v1/tenants", "/admin/openapi.json", "/"]) {
      const answer = await target.bytes(
        `GET ${path} HTTP/1.1\r\nhost: ${name}\r\naccept: text/html\r\nauthorization: Bearer ${target.adminToken}\r\nconnection: close\r\n\r\n`,
      );
      if (/^HTTP\/1.1 2/.test(answer)) gaveWay.push(`${path} is served to Host ${name}`);
    }
  }
  const forwarded = {
    "x-forwarded-host": "evil.example",
    forwarded: "host=evil.example",
    "x-original-url": "/admin/v1/tenants",
    accept: "text/html",
  };
  const page = await target.send("/mcp/demo", { headers: forwarded });
  if (page.text.includes("evil.example")) gaveWay.push("the connect page shows X-Forwarded-Host");
  return rowOf(
    "headers: hosts made up",
    `${made.length} hosts x 4 paths, and X-Forwarded-Host (${host})`,
    gaveWay,
    "refused each",
  );
}

async function origins(target: Target): Promise<Row> {
  const gaveWay: string[] = [];
  const made = [
    "https://evil.example",
    "null",
    "http://localhost.evil.example",
    "http://evil.example:8362",
    "file://",
    "https://localhost@evil.example",
    "chrome-extension://x",
    "http://127.0.0.1.evil.example",
  ];
  const call = written("tools/list", {});
  for (const origin of made) {
    const answers = {
      "a call": await target.send("/mcp/demo", {
        method: "POST",
        headers: { ...call.headers, origin },
        body: call.body,
      }),
      "the admin API": await target.send("/admin/v1/tenants", {
        headers: { origin, authorization: `Bearer ${target.adminToken}` },
      }),
    };
    for (const [what, { status, headers: sent }] of Object.entries(answers)) {
      if (status < 300) gaveWay.push(`${what} is answered to ${origin}`);
      if (["*", origin].includes(sent.get("access-control-allow-origin") ?? ""))
        gaveWay.push(`${what} may be read by ${origin}`);
    }
  }
  return rowOf(
    "headers: origins made up",
    `${made.length} origins: a call, the admin API`,
    gaveWay,
    "403, and nothing to read",
  );
}
