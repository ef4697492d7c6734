// Owns how an error is written into the log, with where it happened: so that whoever has the id that a client was told finds it.
// Refuses what was sent: none of it is here.

/** Where something failed, as far as it is known: what an operator finds it by. */
export interface ErrorContext {
  readonly tenant?: string | undefined;
  readonly profile?: string | null | undefined;
  /** Of MCP; before a message was read, of HTTP; of an object's own work, `alarm` and what it is about. */
  readonly method?: string | undefined;
  /** Of what was called. */
  readonly name?: string | undefined;
  /** That which the client was told. */
  readonly requestId?: string | undefined;
}

/** The same of a call, where one was under way; no more of it. */
export function errorContextOf(call: ErrorContext | undefined, otherwise: ErrorContext = {}): ErrorContext {
  if (!call) return otherwise;
  const { tenant, profile, method, name, requestId } = call;
  return { tenant, profile, method, name, requestId };
}

declare const process: { readonly env: { readonly NODE_ENV?: string } };

function isDeployedBuild(): boolean {
  try {
    // wrangler writes the mode in its place. Elsewhere `process` may be absent.
    return process.env.NODE_ENV === "production";
  } catch {
    return false;
  }
}

/** Said where one release cannot go on with what is of another: whoever asks again may meet the right one. */
export const OTHER_RELEASE = "of another release";

/** Said where storage has no schema marker, or another one than this code knows. No code is at fault, so no stack is logged. */
export const UNRELEASED =
  "This storage was made by an unreleased version of tenantry, which this one does not read: delete it, or go back to that version";

/**
 * As one line of JSON where the Worker is deployed: what reads logs has a member for each part of the place. While somebody
 * develops, as the console shows errors, which finds the line of the source.
 */
export function logError(thrown: unknown, context: ErrorContext): void {
  const contextText = textOf(context);
  const error = String(thrown).includes(UNRELEASED) ? String(thrown) : thrown;
  // oxlint-disable-next-line no-console
  console.error(
    ...(isDeployedBuild()
      ? [lineOf(error, context, contextText)]
      : contextText === ""
        ? [error]
        : [`${contextText}:`, error]),
  );
}

function textOf({ tenant, method = "", name = "", requestId }: ErrorContext): string {
  const what = `${tenant ? `${tenant}: ` : ""}${method} ${name}`.trim();
  return requestId ? `${what}, request ${requestId}` : what;
}

function lineOf(error: unknown, context: ErrorContext, at: string): string {
  const { stack, cause } = Object(error) as { readonly stack?: string; readonly cause?: unknown };
  const causeMember = cause instanceof Error ? { cause: cause.stack } : {};
  return JSON.stringify({ message: `${at}: ${String(error)}`, ...context, stack, ...causeMember });
}
