// Writes an error to the log with its context, so that the request id in a client's error leads to it. Contains nothing
// that the client sent.

/** Where an error occurred, as far as it is known, to help an operator find it. */
export interface ErrorContext {
  readonly tenant?: string | undefined;
  readonly profile?: string | null | undefined;
  /**
   * The MCP method; the HTTP method if no message was read; for a Durable Object's own work, `alarm` and its subject.
   */
  readonly method?: string | undefined;
  /** The tool, prompt or resource. */
  readonly name?: string | undefined;
  /** The id in the client's error response. */
  readonly requestId?: string | undefined;
}

/** The context of the current call, if there is one, without its other members. */
export function errorContextOf(call: ErrorContext | undefined, otherwise: ErrorContext = {}): ErrorContext {
  if (!call) return otherwise;
  const { tenant, profile, method, name, requestId } = call;
  return { tenant, profile, method, name, requestId };
}

declare const process: { readonly env: { readonly NODE_ENV?: string } };

function isDeployedBuild(): boolean {
  try {
    // wrangler replaces NODE_ENV with the mode. Elsewhere `process` may be absent.
    return process.env.NODE_ENV === "production";
  } catch {
    return false;
  }
}

/** Message where one release cannot continue the work of another. A retry may reach the right release. */
export const OTHER_RELEASE = "of another release";

/** Message where storage has no schema marker, or an unknown one. The code is not at fault, so no stack is logged. */
export const UNRELEASED =
  "This storage was made by an unreleased version of tenantry, and this version cannot read it: delete the storage, or use the version that made it (tenantry/docs/operations.md)";

/**
 * A deployed Worker logs one line of JSON, in which log tools find each part of the context. In development the error
 * is logged as the console shows it, so that the stack leads to the source line.
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
  const message = at === "" ? String(error) : `${at}: ${String(error)}`;
  return JSON.stringify({ message, ...context, stack, ...causeMember });
}
