// What a cold start must load, of a Worker with tools alone and of the one that this repository deploys, next to their
// budgets; and, for information, of both kinds when their author writes tools in zod itself.
import { BUNDLE_BUDGETS } from "./budgets.ts";
import { bundle } from "./runtime.ts";

export interface BundleSize {
  name: string;
  gzipBytes: number;
  budgetBytes?: number;
}

export async function bundleSizes(scratch: string): Promise<BundleSize[]> {
  const sizeOf = async (entry: string): Promise<number> => (await bundle(entry, scratch)).gzipBytes;
  return [
    {
      name: "Worker bundle, tools alone",
      gzipBytes: await sizeOf("workers/tools-alone.ts"),
      budgetBytes: BUNDLE_BUDGETS.toolsAlone,
    },
    {
      name: "Worker bundle, with admin, gateway and login",
      gzipBytes: await sizeOf("workers/three-features.ts"),
      budgetBytes: BUNDLE_BUDGETS.threeFeatures,
    },
    {
      name: "Worker bundle, as deployed",
      gzipBytes: await sizeOf("../src/worker.ts"),
      budgetBytes: BUNDLE_BUDGETS.everything,
    },
    { name: "Worker bundle, tools alone, in zod itself", gzipBytes: await sizeOf("workers/tools-in-zod.ts") },
    { name: "Worker bundle, tools in zod itself", gzipBytes: await sizeOf("workers/ours.ts") },
  ];
}

export function bundleLines(sizes: BundleSize[]): string {
  const kibibytes = (bytes: number): string => (bytes / 1024).toFixed(1);
  return sizes
    .map(({ name, gzipBytes, budgetBytes }) => {
      const size = `${name}: ${kibibytes(gzipBytes)} KiB gzip`;
      if (budgetBytes === undefined) return size;
      return `${size}, budget ≤ ${kibibytes(budgetBytes)}  ${gzipBytes > budgetBytes ? "OVER" : "ok"}`;
    })
    .join("\n");
}
