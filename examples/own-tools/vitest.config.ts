// `npm test`: what is pure in plain Node, the Worker in workerd.
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
      { test: { name: "tools", include: ["test/tools.test.ts"] } },
      {
        plugins: [
          cloudflareTest({
            wrangler: { configPath: "./wrangler.toml" },
            // The plugin does not look behind `export * from "tenantry/objects"`.
            additionalExports: {
              StoredRuns: "WorkerEntrypoint",
              UpstreamRefreshes: "WorkerEntrypoint",
              WebhookDeliveries: "WorkerEntrypoint",
            },
          }),
        ],
        test: {
          name: "worker",
          include: ["test/worker.test.ts"],
          // The first request to a Worker loads it.
          testTimeout: 30_000,
          // As one file each: module by module they take longer to load than the tests to run.
          deps: { optimizer: { ssr: { enabled: true, include: ["tenantry", "tenantry/objects", "zod"] } } },
        },
      },
    ],
  },
});
