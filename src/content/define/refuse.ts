// Owns what becomes of a mistake in a definition. In a deployment it is thrown, so that the deployment is refused.
// Under `wrangler dev` that would end the process at every typo: there it is kept, and answers every request.

declare const process: { readonly env: { readonly NODE_ENV?: string } };

const faults: Error[] = [];

/** Whether this was built to be deployed. */
export function isDeployed(): boolean {
  return modeOf() === "production";
}

/**
 * wrangler writes the value into the bundle in the place of `process.env.NODE_ENV`. Elsewhere `process` may be absent.
 */
function modeOf(): string | undefined {
  try {
    return process.env.NODE_ENV;
  } catch {
    return undefined;
  }
}

/** What `make` returns. Under `wrangler dev` undefined where it threw: then nothing is served that could meet it. */
export function defined<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (modeOf() !== "development" || !(error instanceof Error)) throw error;
    faults.push(error);
    return undefined as T;
  }
}

/** The mistakes that were kept. While there is one, the Worker answers every request with it. */
export function definitionFaults(): readonly Error[] {
  return faults;
}
