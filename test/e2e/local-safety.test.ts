// What `npm start` keeps from others on the same machine: pages that a browser shows, and people who list processes.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Application, startApplication } from "../support/application.ts";

const MODULES = join(import.meta.dirname, "../../node_modules");

let folder: string;
let application: Application;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tenantry-safety-"));
  application = await startApplication(join(folder, "state"));
});

afterAll(async () => {
  await application.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

describe("of the paths that wrangler serves beside the Worker", () => {
  /** Where the installed releases name them. */
  const SOURCES = ["miniflare/dist/src/workers/core/entry.worker.js", "wrangler/wrangler-dist/ProxyWorker.js"];
  /**
   * No setting of wrangler takes these away. They start handlers that the Worker does not have, and a proxy that wants
   * a secret: what they answer shows that they did nothing.
   */
  const IDLE: Readonly<Record<string, number>> = { scheduled: 500, email: 400, "platform-proxy": 400 };
  const IDLE_PATH = /^\/cdn-cgi\/(?:local|handler|mf)\/(scheduled|email|platform-proxy)$/;

  function served(): string[] {
    const texts = SOURCES.map((file) => readFileSync(join(MODULES, file), "utf8")).join("\n");
    const named = [...texts.matchAll(/"(\/(?:cdn-cgi|__cf_local)\/[\w/-]+)"/g)].map(([, path]) => path ?? "");
    // An older name of a folder has everything in it too.
    const aliases = named.map((path) => path.replace("/cdn-cgi/local/", "/cdn-cgi/handler/"));
    return [...new Set([...named, ...aliases])].toSorted();
  }

  test("there are the explorer's, old and new", () => {
    expect(served()).toEqual(expect.arrayContaining(["/cdn-cgi/explorer", "/cdn-cgi/local/explorer"]));
  });

  test.each(["GET", "POST"])("%s finds none that does something, with or without more of a path", async (method) => {
    for (const path of served()) {
      for (const end of ["", "/", "/api/storage/kv/namespaces"]) {
        const url = `${path}${end}`;
        const { status } = await fetch(`${application.origin}${url}`, { method });
        const [, idle = ""] = IDLE_PATH.exec(url) ?? [];
        expect([method, url, status]).toEqual([method, url, IDLE[idle] ?? 404]);
      }
    }
  });

  test("none runs SQL in an object", async () => {
    const path = "/cdn-cgi/explorer/api/workers/durable_objects/namespaces/tenantry-TenantObject/query";
    const body = JSON.stringify({ durable_object_name: "demo", queries: [{ sql: "SELECT 1" }] });
    const headers = { "content-type": "application/json", origin: "http://localhost:3000" };
    const answer = await fetch(`${application.origin}${path}`, { method: "POST", headers, body });
    expect({ status: answer.status, text: await answer.text() }).toEqual({
      status: 404,
      text: expect.stringContaining("Not found: MCP endpoints are at"),
    });
  });
});
