// Whoever sends a large body that is refused for its size, its credential or its address gets that answer, also behind the
// proxies of `npm start`: not a connection that is reset, nor an error of the proxy.

import { mkdtemp, rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startApplication, type Application } from "../support/application.ts";
import { write } from "../support/raw-http.ts";

let folder: string;
let application: Application;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tenantry-early-"));
  application = await startApplication(folder);
});
afterAll(async () => {
  await application.stop();
  await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

const MIB = 1024 * 1024;
const mcp = write("2026-07-28", "tools/list").headers;
const JSON_TYPE = { "content-type": "application/json" };

type Headers = Readonly<Record<string, string>>;

function withFetch(url: string, headers: Headers, body: string): Promise<number> {
  return fetch(url, { method: "POST", headers, body }).then(async (response) => {
    await response.text();
    return response.status;
  });
}

function withHttp(url: string, headers: Headers, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sending = request(url, { method: "POST", headers }, (response) => {
      response.resume();
      response.on("end", () => {
        resolve(response.statusCode ?? 0);
      });
      response.on("error", reject);
    });
    sending.on("error", reject);
    sending.end(body);
  });
}

function reasonOf(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : error.message;
}

test.each([
  { what: "a message that is too large", path: "/mcp/demo", headers: mcp, bytes: 4 * MIB + 1, status: 413 },
  { what: "a message that is far too large", path: "/mcp/demo", headers: mcp, bytes: 16 * MIB, status: 413 },
  { what: "an unknown tenant", path: "/mcp/nobody", headers: mcp, bytes: 4 * MIB, status: 404 },
  {
    what: "an origin that is not allowed",
    path: "/mcp/demo",
    headers: { ...mcp, origin: "https://evil.example" },
    bytes: 4 * MIB,
    status: 403,
  },
  {
    what: "another type",
    path: "/mcp/demo",
    headers: { ...mcp, "content-type": "text/plain" },
    bytes: 4 * MIB,
    status: 415,
  },
  { what: "an operator without a token", path: "/admin/v1/tenants", headers: JSON_TYPE, bytes: 4 * MIB, status: 401 },
])("$what: the client is told so", async ({ path, headers, bytes, status }) => {
  const url = `${application.origin}${path}`;
  const body = " ".repeat(bytes);
  for (const send of [withFetch, withHttp]) {
    const told: unknown[] = [];
    for (let sent = 0; sent < 5; sent += 1) {
      told.push(await send(url, headers, body).catch(reasonOf));
    }
    expect(told, send.name).toEqual(Array(5).fill(status));
  }
});
