// What a cold start must load: of a Worker with tools alone, and of the one that this repository deploys, next to its budget.
import { BUNDLE_BUDGET } from "./budgets.ts";
import { bundle } from "./runtime.ts";

export interface BundleSize {
  name: string;
  gzipBytes: number;
  budgetBytes?: number;
}

export async function bundleSizes(scratch: string): Promise<BundleSize[]> {
  const sizeOf = async (entry: string): Promise<number> => (await bundle(entry, scratch)).gzipBytes;
  return [
    { name: "Worker bundle, tools alone", gzipBytes: await sizeOf("workers/tools-alone.ts") },
    {
      name: "Worker bundle, as deployed",
      gzipBytes: await sizeOf("../src/worker.ts"),
      budgetBytes: BUNDLE_BUDGET,
    },
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
