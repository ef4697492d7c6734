// Three runtimes: plain Node proves purity, workerd has the real bindings, e2e speaks to a running Worker. Every file runs
// beside another: what must not be disturbed has a Worker to itself, or starts its own.
// `--mode long` and `--mode soak` are tiers of their own: what the others do little of, more of it, and all of it.

import { randomInt } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import type { Tier } from "./test/support/tier.ts";

/** A failure says what it saw, as a report has its message alone. */
const chaiConfig = { truncateThreshold: 1_500 };

/** In these folders a file says by its imports what it needs: a Worker that runs, Workers of its own, or none. */
const MIXED = globSync("test/{app,endpoint,founding,regression}/**/*.test.ts");
const E2E = globSync("test/e2e/**/*.test.ts");
const asksRunning = (file: string) => imports(file, /support\/fixture-origin\.ts"/);
const startsOwn = (file: string) =>
  imports(
    file,
    /support\/(worker-pair|worker-pair-with-faults|start-worker|application|gateway-tenant|login-tenant|app-users)\.ts"/,
  );
const isSized = (file: string) => imports(file, /support\/tier\.ts"/);

function imports(file: string, what: RegExp): boolean {
  return what.test(readFileSync(file, "utf8"));
}

/** What starts Workers of its own takes minutes. Of these, `npm test` has what a change breaks first; CI has them all. */
const FIRST = globSync([
  "test/conformance/{authorization,conformance}.test.ts",
  "test/e2e/{official-clients,walk,start,package}.test.ts",
  "test/e2e/{isolation,isolation-identity,revocation,operators,own-login,login-clients}.test.ts",
]);

/** Of what asks the Worker that runs already, what takes longest: CI has it. */
const LATER = globSync(
  "test/e2e/{stdio,gateway-upstreams,official-streams-cut,official-streams-local,unread-bodies}.test.ts",
);

/** What starts programs a hundred times over. */
const SLOW_PROGRAMS = [
  "test/cli/stdio/**/*.test.ts",
  "test/cli/hostile-*.test.ts",
  "test/scripts/script-options.test.ts",
];

/** Dependencies that each workerd loads as one file: one by one, zod's modules take longer than most tests. */
const BUNDLED = [
  "zod",
  "zod/mini",
  "zod/locales",
  "zod/v4/core",
  "hono",
  "hono/tiny",
  "jose",
  "eventsource-parser",
  "@cfworker/json-schema",
];

for (const path of process.argv.slice(2).filter((given) => given.startsWith("test/"))) {
  if (!globSync("test/**/*.test.ts").some((file) => file.includes(path.replace(/:\d+$/, "")))) {
    throw new Error(`no test file has ${path} in its path`);
  }
}

const provide = { seed: drawnSeed(), tier: "usual" as Tier };
const FIXTURE = "test/support/fixture-setup.ts";
const RUN_FOLDER = "test/support/run-folder.ts";
/** A test that fails shows its last requests and responses. */
const REPORT = ["test/support/failure-report.ts"];
/** Processes have to start, and a machine that is busy is no failure. */
const PATIENCE = { testTimeout: 240_000, hookTimeout: 240_000, expect: { poll: { timeout: 30_000 } } };

/** Kept in the environment, because vitest reads this file more than once. */
function drawnSeed(): number {
  const given = process.env["SEED"];
  if (given !== undefined) return Number(given);
  const seed = randomInt(2 ** 31);
  process.env["SEED"] = String(seed);
  process.stderr.write(`Properties draw their cases from seed ${seed}; the same ones again: SEED=${seed}\n`);
  return seed;
}

/** Whoever counts what several runs of one command passed names a folder, and finds a report of each there. */
function reporting(folder: string | undefined): { reporters?: ["default", ["json", { outputFile: string }]] } {
  if (folder === undefined) return {};
  return { reporters: ["default", ["json", { outputFile: `${folder}/${process.pid}.json` }]] };
}

/** What waits for deadlines, goes over all tenants, counts what an isolate holds, or needs a fresh module: a workerd for each. */
const ALONE = [
  "test/handlers/{lost-promises-of-two-workers,zod-mini}.test.ts",
  "test/gateway/{slow-upstream,objects-away,guard/call-retry}.test.ts",
  "test/records/stored-calls.test.ts",
  "test/{deployment/feature-sources,tenants/cache/section-cache}.test.ts",
  "test/admin/{declared-tenants,hub-away,operator-decisions,skewed-clocks}.test.ts",
  "test/admin/{tenant-admin-secrecy,withdrawn-access,services/block-during-rollout}.test.ts",
  "test/admin/platform/*.test.ts",
  "test/admin/routes/upstream-blocks.test.ts",
];

function inWorkerd(name: string, test: TestProjectInlineConfiguration["test"]): TestProjectInlineConfiguration {
  return {
    plugins: [
      cloudflareTest({
        wrangler: { configPath: "./test/fixtures/wrangler.toml" },
        miniflare: { durableObjects: { SESSIONS_TO_LIST: "SessionObject" } },
        // The plugin reads the main file alone, which exports them by `export *`.
        additionalExports: {
          StoredRuns: "WorkerEntrypoint",
          UpstreamRefreshes: "WorkerEntrypoint",
          WebhookDeliveries: "WorkerEntrypoint",
        },
      }),
    ],
    test: {
      name,
      provide,
      testTimeout: 60_000,
      hookTimeout: 120_000,
      expect: { poll: { timeout: 30_000 } },
      deps: { optimizer: { ssr: { enabled: true, include: BUNDLED } } },
      ...test,
      setupFiles: ["test/support/workerd/fixture-registry-setup.ts", "test/support/workerd/leak-check.ts"],
    },
  };
}

/** Of a folder that needs workerd otherwise. */
const PURE = "test/connect/recipes.test.ts";

/** Asks the Worker that runs for all of them. */
function e2e(name: string, isMeant: (file: string) => boolean): TestProjectInlineConfiguration {
  const include = [...MIXED, ...E2E].filter((file) => asksRunning(file) && isMeant(file));
  return {
    test: {
      name,
      include,
      globalSetup: [FIXTURE, RUN_FOLDER],
      setupFiles: REPORT,
      isolate: false,
      provide,
      ...PATIENCE,
    },
  };
}

/** Each starts what it needs. */
function own(name: string, isMeant: (file: string) => boolean): TestProjectInlineConfiguration {
  const include = [
    ...globSync("test/conformance/{authorization,conformance,gateway}.test.ts"),
    ...MIXED.filter((file) => startsOwn(file) && !asksRunning(file)),
    ...E2E.filter((file) => !asksRunning(file)),
  ].filter(isMeant);
  return {
    test: { name, include, globalSetup: [RUN_FOLDER], setupFiles: REPORT, isolate: false, provide, ...PATIENCE },
  };
}

const USUAL: TestProjectInlineConfiguration[] = [
  {
    test: {
      name: "node",
      include: [
        "test/{protocol,mcp-client,limits,support,demo,cli,bench,scripts,testing}/**/*.test.ts",
        "test/conformance/verdict.test.ts",
        PURE,
        "test/*.test.ts",
        ...MIXED.filter((file) => !asksRunning(file) && !startsOwn(file)),
      ],
      exclude: SLOW_PROGRAMS,
      testTimeout: 120_000,
      hookTimeout: 120_000,
      expect: { poll: { timeout: 30_000 } },
      // What is pure leaves nothing behind, and the programs that others start are processes of their own.
      isolate: false,
      provide,
    },
  },
  // No file names what it stores as another does: one workerd serves all.
  inWorkerd("worker", {
    include: [
      "test/{auth,catalog,connect,deployment,gateway,handlers,login,outbound,records,resources,sessions,streams,tenants}/**/*.test.ts",
    ],
    exclude: [...ALONE, PURE],
    isolate: false,
  }),
  inWorkerd("admin", { include: ["test/admin/**/*.test.ts"], exclude: ALONE, isolate: false }),
  e2e("e2e", (file) => !LATER.includes(file)),
  own("own", (file) => FIRST.includes(file)),
  // What `npm test` leaves to `npm run test:all`.
  inWorkerd("alone-rest", { include: ALONE }),
  {
    test: {
      name: "programs-rest",
      include: SLOW_PROGRAMS,
      testTimeout: 120_000,
      hookTimeout: 120_000,
      expect: { poll: { timeout: 30_000 } },
      isolate: false,
      provide,
    },
  },
  e2e("e2e-rest", (file) => LATER.includes(file)),
  own("own-rest", (file) => !FIRST.includes(file)),
];

/** How soon clients hear again is what it is about: nothing runs beside it. */
const MEASURED = "test/e2e/kills.test.ts";

/** What the others do little of. */
function more(tier: Tier): TestProjectInlineConfiguration[] {
  const shared = {
    globalSetup: [FIXTURE, RUN_FOLDER],
    setupFiles: REPORT,
    provide: { ...provide, tier },
    testTimeout: 3_600_000,
    hookTimeout: 120_000,
  };
  const sized = [...MIXED, ...E2E].filter(isSized);
  const include = [...sized, ...(tier === "long" ? ["test/long/**/*.test.ts"] : [])];
  return [
    { test: { ...shared, name: tier, include, exclude: [MEASURED], sequence: { groupOrder: 0 } } },
    { test: { ...shared, name: `${tier}-alone`, include: [MEASURED], sequence: { groupOrder: 1 } } },
  ];
}

export default defineConfig(({ mode }) => ({
  test: {
    // For the smallest machine, which has two cores: most of what tests do is to wait.
    maxWorkers: 4,
    ...reporting(process.env["TEST_REPORTS"]),
    projects: (mode === "long" || mode === "soak" ? more(mode) : USUAL).map((project) => ({
      ...project,
      test: { chaiConfig, ...project.test },
    })),
  },
}));
