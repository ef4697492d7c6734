// Owns what becomes of a mistake in a definition. In a deployment it throws, so that the deployment is refused. Under
// `wrangler dev` a throw would end the process at every typo: there it is kept, and every request is answered with it.

declare const process: { readonly env: { readonly NODE_ENV?: string } };

const faults: Error[] = [];

/** Whether this was built to be deployed. */
export function isDeployed(): boolean {
  return modeOf() === "production";
}

/** wrangler writes this into the bundle; where nobody does, there is no `process`. */
function modeOf(): string | undefined {
  try {
    return process.env.NODE_ENV;
  } catch {
    return undefined;
  }
}

/** What `make` makes; undefined when it threw and nothing may be served. */
export function defined<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (modeOf() !== "development" || !(error instanceof Error)) throw error;
    faults.push(error);
    return undefined as T;
  }
}

/** The mistakes of this isolate: while there is one, it serves nothing else. */
export function definitionFaults(): readonly Error[] {
  return faults;
}
