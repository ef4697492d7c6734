// Metadata that is asked for by POST has the directory looked at as by GET, so names of no tenant are counted as there.

import { expect, test } from "vitest";
import { bundleWorker, startWorker } from "../support/start-worker.ts";

test.each(["/.well-known/oauth-protected-resource/mcp/ID", "/.well-known/oauth-authorization-server/login/ID"])(
  "a flood of names of no tenant, posted to %s, is refused in the end",
  async (path) => {
    const worker = await startWorker(await bundleWorker("demo-worker"), { vars: { ADMIN_TOKEN: "admin" } });
    try {
      const statuses: number[] = [];
      while (statuses.at(-1) !== 429 && statuses.length < 400) {
        const url = worker.origin + path.replace("ID", `nobody-${statuses.length}`);
        statuses.push((await fetch(url, { method: "POST", body: "a=b" })).status);
      }
      expect([statuses[0], statuses.at(-1)]).toEqual([401, 429]);
    } finally {
      await worker.stop();
    }
  },
);
