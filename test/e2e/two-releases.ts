// Two Workers over one storage of which one is the next release: one has the objects, the other calls them, as while a
// release is rolled out or back, or one takes the place of the other. The next one is this one with more migrations.

import { convertV4MiniflareOptions, Miniflare, NoOpLog } from "miniflare";
import { OBJECT_CLASSES } from "../../src/tenants/directory/object-classes.ts";
import { bundleWorker, compatibilityDate } from "../support/start-worker.ts";

export const ADMIN_TOKEN = "admin-token-of-two-releases-0123456789";
/** 32 bytes that seal the secrets of their tenants. */
const SECRETS_KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";

export type Release = "this" | "next";

export interface TwoReleases {
  /** Of the Worker that has the objects, then of the other one. */
  readonly origins: readonly [string, string];
  stop(): Promise<void>;
}

/** What every Worker of these has, but for its objects. */
const settingsOf = async (release: Release) => ({
  modules: await bundleWorker(release === "this" ? "worker" : "next-release-worker"),
  compatibilityDate: compatibilityDate(),
  bindings: { ADMIN_TOKEN, SECRETS_KEY, OUTBOUND_LOCAL: "http://127.0.0.1" },
  kvNamespaces: ["BODIES"],
});

export interface Alone {
  readonly origin: string;
  /** Everything in its log so far. */
  log(): string;
  /** Kills its process, in the middle of whatever it does. */
  kill(): Promise<void>;
}

/** One release by itself, over what the other one may have stored. `port`: of the loopback interface; absent: any. */
export async function startAlone(
  release: Release,
  { storage, port = 0 }: { readonly storage: string; readonly port?: number },
): Promise<Alone> {
  let log = "";
  const objects = OBJECT_CLASSES.map((className) => [className, { className, useSQLite: true }]);
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      log: new NoOpLog(),
      handleStructuredLogs: ({ message }: { message: string }) => {
        log += `${message}\n`;
      },
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
  const { origin } = await miniflare.unsafeGetDirectURL("objects");
  return { origin, log: () => log, kill: () => miniflare.dispose() };
}

/** `holder`: which release has the objects. */
export async function startReleases(holder: Release, storage: string): Promise<TwoReleases> {
  const other: Release = holder === "this" ? "next" : "this";
  const workers = await Promise.all(
    [holder, other].map(async (release, at) => ({
      name: at === 0 ? "objects" : "caller",
      ...(await settingsOf(release)),
      durableObjects: Object.fromEntries(
        OBJECT_CLASSES.map((className) => [
          className,
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
