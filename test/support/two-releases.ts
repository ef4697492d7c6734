// Owns two Workers over one storage of which one is the previous release: one has the objects, the other calls them, as while a
// release is rolled out or back, or one takes the place of the other. Refuses mocks: the previous one is as it was uploaded, see
// scripts/previous-release.ts.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { convertV4MiniflareOptions, Miniflare, NoOpLog } from "miniflare";
import { bundleWorker, compatibilityDate, OBJECTS, type WorkerModule } from "./worker-bundle.ts";

const PREVIOUS = join(import.meta.dirname, "../fixtures/previous-release.js.gz");
export const ADMIN_TOKEN = "admin-token-of-two-releases-0123456789";
/** 32 bytes that seal the secrets of their tenants. */
const SECRETS_KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";

export type Release = "previous" | "this";

export interface TwoReleases {
  /** Of the Worker that has the objects, then of the other one. */
  readonly origins: readonly [string, string];
  stop(): Promise<void>;
}

async function modulesOf(release: Release): Promise<WorkerModule[]> {
  if (release === "this") return bundleWorker("worker");
  const contents = gunzipSync(await readFile(PREVIOUS)).toString();
  return [{ type: "ESModule", path: "worker.js", contents }];
}

/** What every Worker of these has, but for its objects. */
const settingsOf = async (release: Release) => ({
  modules: await modulesOf(release),
  compatibilityDate: compatibilityDate(),
  bindings: { ADMIN_TOKEN, SECRETS_KEY, OUTBOUND_LOCAL: "http://127.0.0.1" },
  kvNamespaces: ["BODIES"],
});

/** One release by itself, at this port of the loopback interface, over what the other one may have stored. */
export async function startAlone(
  release: Release,
  { storage, port }: { readonly storage: string; readonly port: number },
): Promise<{
  /** Kills its process, in the middle of whatever it does. */
  kill(): Promise<void>;
}> {
  const objects = Object.entries(OBJECTS).map(([binding, className]) => [binding, { className, useSQLite: true }]);
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      log: new NoOpLog(),
      handleStructuredLogs: () => {},
      resourcePersistencePath: storage,
      workers: [
        {
          name: "objects",
          ...(await settingsOf(release)),
          durableObjects: Object.fromEntries(objects),
          unsafeDirectSockets: [{ host: "127.0.0.1", port }],
        },
      ],
    }),
  );
  await miniflare.ready;
  return { kill: () => miniflare.dispose() };
}

/** `holder`: which release has the objects. */
export async function startReleases(holder: Release, storage: string): Promise<TwoReleases> {
  const other: Release = holder === "this" ? "previous" : "this";
  const workers = await Promise.all(
    [holder, other].map(async (release, at) => ({
      name: at === 0 ? "objects" : "caller",
      ...(await settingsOf(release)),
      durableObjects: Object.fromEntries(
        Object.entries(OBJECTS).map(([binding, className]) => [
          binding,
          { className, useSQLite: true, ...(at === 0 ? {} : { scriptName: "objects" }) },
        ]),
      ),
      unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
    })),
  );
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      log: new NoOpLog(),
      handleStructuredLogs: () => {},
      resourcePersistencePath: storage,
      workers,
    }),
  );
  await miniflare.ready;
  const originOf = async (name: string) => (await miniflare.unsafeGetDirectURL(name)).origin;
  return {
    origins: [await originOf("objects"), await originOf("caller")],
    stop: () => miniflare.dispose(),
  };
}
