// Handles errors in definitions. A deployed Worker throws them, so that the deployment fails. Under `wrangler dev`
// throwing would end the process at every typo, so errors are stored and answer every request.

declare const process: { readonly env: { readonly NODE_ENV?: string } };

/** Bound: the number of definitions in a script. */
const errors: Error[] = [];

/**
 * Whether this bundle was built for deployment. wrangler replaces `process.env.NODE_ENV` with the value. Elsewhere
 * `process` may be absent.
 */
export function isProduction(): boolean {
  try {
    return process.env.NODE_ENV === "production";
  } catch {
    return false;
  }
}

/** A separate function, so that a bundler can drop the code that a deployment does not use. */
function isDevelopment(): boolean {
  try {
    return process.env.NODE_ENV === "development";
  } catch {
    return false;
  }
}

/**
 * Returns the result of `make`. Under `wrangler dev` it returns undefined if `make` throws: the Worker then serves
 * nothing that could read the value.
 */
export function createDefinition<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!isDevelopment() || !(error instanceof Error)) throw error;
    errors.push(error);
    return undefined as T;
  }
}

/** The stored errors. While there is one, the Worker answers every request with it. */
export function definitionErrors(): readonly Error[] {
  return errors;
}
