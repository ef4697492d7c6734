// Three runtimes: plain Node proves purity, workerd has the real bindings, e2e speaks to a running Worker. What starts Workers
// of its own is a project apart: it disturbs nobody and mostly waits, so it runs beside the others.

import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

/** These ask for the one Worker that they share. */
const SHARED = "test/e2e/{mcp-client,official-streams*,property,stdio,watch}.test.ts";
const E2E = { testTimeout: 120_000, hookTimeout: 120_000 };

export default defineConfig({
  test: {
    // As many as the smallest machine has cores; what may not run beside another says so itself.
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: "node",
          include: [
            "test/{protocol,mcp-client,support,demo,clients}/**/*.test.ts",
            "test/conformance/verdict.test.ts",
            "test/*.test.ts",
          ],
          testTimeout: 60_000,
        },
      },
      {
        plugins: [cloudflareTest({ wrangler: { configPath: "./test/fixtures/wrangler.toml" } })],
        test: {
          name: "worker",
          include: ["test/{auth,tenants,calls,content,streams,sessions,deployment,gateway,admin}/**/*.test.ts"],
        },
      },
      {
        test: {
          name: "e2e",
          include: ["test/{http,founding,regression}/**/*.test.ts", "test/conformance/conformance.test.ts", SHARED],
          globalSetup: ["test/support/fixture-setup.ts", "test/support/run-folder.ts"],
          ...E2E,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: "own",
          include: ["test/e2e/**/*.test.ts"],
          exclude: [SHARED],
          globalSetup: ["test/support/run-folder.ts"],
          ...E2E,
        },
      },
    ],
  },
});
