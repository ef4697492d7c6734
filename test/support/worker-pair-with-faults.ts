// Two Workers in which one fault at a time is asked for: what a test says happens once, to the next call of that name,
// and nothing else fails. They are started before a file's tests, and stopped after them.

import { afterAll, beforeAll } from "vitest";
import type { FaultsOnce } from "./injected-faults.ts";
import { ADMIN_TOKEN, startWorkerPair, type WorkerPair, type WatchedWorker } from "./worker-pair.ts";

/** At the Worker of this origin. Gives what of it, and of what was asked for before, did not happen yet. */
export async function injectFaultsAt(origin: string, faults: FaultsOnce): Promise<readonly string[]> {
  const init = { method: "POST", body: JSON.stringify({ once: faults }) };
  return (await (await fetch(`${origin}/__chaos`, init)).json()) as readonly string[];
}

/** `ready`: with what the file's tests begin. */
export function workerPairWithFaults(
  vars: Parameters<typeof startWorkerPair>[0],
  ready: (one: WatchedWorker) => Promise<unknown> = async () => {},
) {
  let workers: WorkerPair | undefined;
  const one = (): WatchedWorker => {
    if (!workers) throw new Error("they do not run yet");
    return workers.one;
  };
  beforeAll(async () => {
    workers = await startWorkerPair(vars, undefined, false, { entry: "chaos-worker", flags: ["nodejs_als"] });
    await ready(one());
  }, 600_000);
  afterAll(() => workers?.stop());
  const injectFaults = (faults: FaultsOnce) => injectFaultsAt(one().origin, faults);
  /** Asks the admin API as its owner, whatever comes of it. */
  const askAdmin = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, ...(body && { "content-type": "application/json" }) };
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const response = await fetch(`${one().origin}/admin/v1${path}`, init);
    return { status: response.status, text: await response.text() };
  };
  return { one, injectFaults, askAdmin };
}
