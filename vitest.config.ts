// Three runtimes, three projects: plain Node proves purity, workerd has the real bindings, e2e speaks to a running Worker.

import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "node",
          include: [
            "test/{protocol,support,demo,clients}/**/*.test.ts",
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
          include: ["test/{auth,tenants,content,streams,admin}/**/*.test.ts"],
        },
      },
      {
        test: {
          name: "e2e",
          include: ["test/{http,e2e,founding,regression}/**/*.test.ts", "test/conformance/conformance.test.ts"],
          globalSetup: ["test/support/fixture-setup.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
