// Where the only private tenant stands in code, the name of a deleted tenant was answered 404 and a name that never was 401.

import { afterAll, expect, test } from "vitest";
import { sendRaw, write } from "../support/raw-http.ts";
import { startWorkerPair } from "../support/worker-pair.ts";

const workers = await startWorkerPair({}, undefined, false, { entry: "hidden-worker" });
afterAll(() => workers.stop());

test("a name that was deleted is answered as one that never was, by an isolate that knew its tenant", async () => {
  const { one, two } = workers;
  const ask = async (name: string) => {
    const { headers, body } = write("2025-11-25", "tools/list");
    const {
      status,
      text,
      headers: answered,
    } = await sendRaw(`${two.origin}/mcp/${name}`, {
      headers,
      body: JSON.stringify(body),
    });
    return { status, text, challenge: answered["www-authenticate"] };
  };
  await one.admin("POST", "/tenants", { id: "was", document: { mode: "open", maxStalenessMs: 50 } });
  expect((await ask("was")).status).toBe(200);
  await one.admin("DELETE", "/tenants/was");
  const [gone, never] = [await ask("was"), await ask("never-was")];
  expect(never.status).toBe(401);
  expect(gone).toEqual(never);
});
