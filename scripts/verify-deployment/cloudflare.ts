// A Cloudflare account, by wrangler. Not tried by the project's own tests, which have no account.

import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { writeEntry } from "./entries.ts";
import {
  RELEASE_HEADER,
  type Counters,
  type Release,
  type Skipped,
  type Target,
  type TargetOptions,
} from "./target.ts";

const WRANGLER = join(import.meta.dirname, "../../node_modules/wrangler/bin/wrangler.js");
/** A deployment is everywhere within about this time. */
const RELEASED_WITHIN_MS = 120_000;
/** Counters of the last minutes come late. */
const COUNTED_WITHIN_MS = 600_000;
const LOOK_EVERY_MS = 3000;
const GRAPHQL = "https://api.cloudflare.com/client/v4/graphql";

function wrangler(args: readonly string[], options: { readonly mayFail?: boolean } = {}): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [WRANGLER, ...args], { encoding: "utf8" });
  if (status !== 0 && !options.mayFail) throw new Error(`wrangler ${args.join(" ")}:\n${stdout}${stderr}`);
  return stdout;
}

export async function cloudflareTarget(options: TargetOptions): Promise<Target> {
  const name = `tenantry-verify-${randomBytes(4).toString("hex")}`;
  const began = new Date();
  const adminToken = randomBytes(24).toString("base64url");
  const secrets = join(options.folder, "secrets.json");
  const values = { ADMIN_TOKEN: adminToken, SECRETS_KEY: randomBytes(32).toString("base64url") };
  await writeFile(secrets, JSON.stringify(values), { mode: 0o600 });
  let origin = "";
  let startup: number | undefined;

  const untilReleased = async (release: Release) => {
    const until = Date.now() + RELEASED_WITHIN_MS;
    while (Date.now() < until) {
      const answer = await fetch(`${origin}/healthz`, { signal: AbortSignal.timeout(10_000) }).catch(() => undefined);
      if (answer?.headers.get(RELEASE_HEADER) === release) return;
      await wait(LOOK_EVERY_MS);
    }
    throw new Error(`${origin} does not serve release "${release}" within ${RELEASED_WITHIN_MS / 1000} s`);
  };

  const namespaceId = () => {
    const listed = JSON.parse(wrangler(["kv", "namespace", "list"])) as { id: string; title: string }[];
    return listed.find(({ title }) => title.startsWith(name))?.id;
  };

  return {
    name: `Cloudflare, as ${name}`,
    adminToken,
    origin: () => origin,
    log: async () => `the log: npx wrangler tail ${name}`,
    deploy: async (release) => {
      const entry = await writeEntry(options, release, false);
      const output = wrangler([
        "deploy",
        entry,
        `--config=${options.config}`,
        `--name=${name}`,
        `--secrets-file=${secrets}`,
      ]);
      origin = /https:\/\/[^\s)]+\.workers\.dev/.exec(output)?.[0] ?? origin;
      if (origin === "") throw new Error(`wrangler names no workers.dev address:\n${output}`);
      startup ??= numberIn(/Worker Startup Time: (\d+) ms/.exec(output)?.[1]);
      await untilReleased(release);
    },
    rollback: async () => {
      wrangler(["rollback", `--name=${name}`, "--yes", "--message=verify-deployment"]);
      await untilReleased("first");
    },
    startupMs: async () => startup ?? { skipped: "wrangler deploy printed no Worker Startup Time" },
    counters: (atLeast) => untilCounted({ name, began, namespaceId: namespaceId(), atLeast }),
    cleanUp: async () => {
      const id = namespaceId();
      wrangler(["delete", name, "--force"], { mayFail: true });
      if (id !== undefined) wrangler(["kv", "namespace", "delete", `--namespace-id=${id}`, "-y"], { mayFail: true });
    },
  };
}

function numberIn(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

const QUERY = `query ($account: string!, $script: string!, $namespace: string!, $since: Time!, $until: Time!) {
  viewer { accounts(filter: { accountTag: $account }) {
    workers: workersInvocationsAdaptive(limit: 1000, filter: { scriptName: $script, datetime_geq: $since, datetime_leq: $until }) { sum { requests } }
    objects: durableObjectsInvocationsAdaptiveGroups(limit: 1000, filter: { scriptName: $script, datetime_geq: $since, datetime_leq: $until }) { sum { requests } }
    kv: kvOperationsAdaptiveGroups(limit: 1000, filter: { namespaceId: $namespace, datetime_geq: $since, datetime_leq: $until }) { sum { requests } dimensions { actionType } }
  } }
}`;

interface Row {
  readonly sum: { readonly requests: number };
  readonly dimensions?: { readonly actionType: string };
}

interface Account {
  readonly workers: readonly Row[];
  readonly objects: readonly Row[];
  readonly kv: readonly Row[];
}

async function untilCounted(about: {
  readonly name: string;
  readonly began: Date;
  readonly namespaceId: string | undefined;
  readonly atLeast: number;
}): Promise<Counters | Skipped> {
  const { CLOUDFLARE_API_TOKEN: token, CLOUDFLARE_ACCOUNT_ID: account } = process.env;
  if (!token || !account) return { skipped: "CLOUDFLARE_API_TOKEN and CLOUDFLARE_ACCOUNT_ID are not both set" };
  const until = Date.now() + COUNTED_WITHIN_MS;
  for (;;) {
    const counters = await countersOf(token, { ...about, account });
    if (counters.requests >= about.atLeast) return counters;
    if (Date.now() > until) {
      return { skipped: `after 10 minutes the account counts ${counters.requests} of ${about.atLeast} requests` };
    }
    await wait(LOOK_EVERY_MS * 5);
  }
}

async function countersOf(
  token: string,
  about: {
    readonly account: string;
    readonly name: string;
    readonly began: Date;
    readonly namespaceId: string | undefined;
  },
): Promise<Counters> {
  const variables = {
    account: about.account,
    script: about.name,
    namespace: about.namespaceId ?? "",
    since: about.began.toISOString(),
    until: new Date().toISOString(),
  };
  const response = await fetch(GRAPHQL, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ query: QUERY, variables }),
  });
  const { data, errors } = (await response.json()) as {
    data?: { viewer: { accounts: readonly Account[] } };
    errors?: readonly { readonly message: string }[];
  };
  const [row] = data?.viewer.accounts ?? [];
  if (!row) throw new Error(`the analytics API answers ${response.status}: ${errors?.[0]?.message ?? "no account"}`);
  const sum = (rows: readonly Row[]) => rows.reduce((total, { sum: { requests } }) => total + requests, 0);
  const kv = (action: string) => sum(row.kv.filter(({ dimensions }) => dimensions?.actionType === action));
  return { requests: sum(row.workers), objectCalls: sum(row.objects), kvReads: kv("read"), kvWrites: kv("write") };
}
