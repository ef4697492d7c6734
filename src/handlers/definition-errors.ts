// Owns what becomes of a mistake in a definition. In a deployment it is thrown, so that the deployment is refused.
// Under `wrangler dev` that would end the process at every typo: there it is kept, and answers every request.

declare const process: { readonly env: { readonly NODE_ENV?: string } };

/** Bound: as many as the definitions of a script. */
const errors: Error[] = [];

/**
 * Whether this was built to be deployed. wrangler writes the value into the bundle in the place of `process.env.NODE_ENV`. Elsewhere
 * `process` may be absent.
 */
export function isProduction(): boolean {
  try {
    return process.env.NODE_ENV === "production";
  } catch {
    return false;
  }
}

/** Asked by itself: a bundler sees then what a deployment has no use for. */
function isDevelopment(): boolean {
  try {
    return process.env.NODE_ENV === "development";
  } catch {
    return false;
  }
}

/** What `make` returns. Under `wrangler dev` undefined where it threw: then nothing is served that could meet it. */
export function createDefinition<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!isDevelopment() || !(error instanceof Error)) throw error;
    errors.push(error);
    return undefined as T;
  }
}

/** The mistakes that were kept. While there is one, the Worker answers every request with it. */
export function definitionErrors(): readonly Error[] {
  return errors;
}
