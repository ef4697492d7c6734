// Turns failures between this program and a server into one line and an exit code: problem documents (RFC 9457),
// connection errors, and answers of other servers.

import type { Problem, Infer } from "../../admin/contract.ts";
import { CliError, EXIT, type ExitCode } from "../exit.ts";
import { oneLine } from "./printable.ts";

type ProblemDocument = Partial<Infer<typeof Problem>>;
/** A member of the request, and the rule that it breaks. `position`: its place in a file. */
export type MemberError = NonNullable<ProblemDocument["errors"]>[number] & { readonly position?: string };

const EXIT_BY_STATUS: Readonly<Record<number, ExitCode>> = {
  401: EXIT.notAuthorised,
  403: EXIT.notAuthorised,
  404: EXIT.notFound,
  409: EXIT.conflict,
  412: EXIT.conflict,
  428: EXIT.conflict,
  502: EXIT.unreachable,
  504: EXIT.unreachable,
};

const MAX_PROBLEM_CHARACTERS = 2000;

export class ResponseError extends CliError {
  readonly status: number;

  constructor(status: number, message: string) {
    super(EXIT_BY_STATUS[status] ?? EXIT.refused, message);
    this.status = status;
  }
}

/** An error that names the members of the request that break a rule. */
export class ValidationError extends ResponseError {
  readonly title: string;
  readonly memberErrors: readonly MemberError[];
  /** The message for a terminal: several errors have a line each. */
  readonly lines: readonly string[];

  constructor(status: number, title: string, memberErrors: readonly MemberError[]) {
    const texts = memberErrors.map(({ field, rule, position: at }) => {
      const location = at === undefined ? field : `${field} (${at})`;
      return field === "" ? rule : `${location}: ${rule}`;
    });
    super(status, oneLine(`${title}: ${texts.join("; ")}`).slice(0, MAX_PROBLEM_CHARACTERS));
    this.title = title;
    this.memberErrors = memberErrors;
    this.lines =
      texts.length === 1
        ? [this.message]
        : [`${title}:`, ...texts.map((text) => `  ${oneLine(text).slice(0, MAX_PROBLEM_CHARACTERS)}`)];
  }
}

export async function toResponseError(response: Response): Promise<ResponseError> {
  const text = await response.text().catch(() => "");
  const problem = parseProblem(text, response.headers.get("content-type"));
  const { errors = [] } = problem ?? {};
  // The member errors replace the detail, because they say what to change.
  if (errors.length > 0) return new ValidationError(response.status, titleOf(problem), errors);
  const errorMessage =
    problem === undefined ? unexpectedResponseText(response, text) : problemText(problem, response.status);
  return new ResponseError(response.status, oneLine(errorMessage).slice(0, MAX_PROBLEM_CHARACTERS));
}

function parseProblem(text: string, contentType: string | null): ProblemDocument | undefined {
  if (!/^application\/(?:problem\+)?json\b/i.test(contentType ?? "")) return undefined;
  try {
    const value = JSON.parse(text) as ProblemDocument | null;
    return typeof value === "object" && value !== null && typeof value.title === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

const titleOf = ({ title = "" }: ProblemDocument = {}) => title.replace(/\.$/, "");

function problemText(problem: ProblemDocument, status: number): string {
  const { detail, requestId } = problem;
  const text = [titleOf(problem), detail].filter(Boolean).join(": ");
  return status >= 500 && requestId !== undefined ? `${text} (request ${requestId})` : text;
}

function unexpectedResponseText(response: Response, text: string): string {
  const { status, url } = response;
  const location = response.headers.get("location");
  if (status >= 300 && status < 400) return `${url} redirects to ${location ?? "nowhere"}: give that as --url`;
  const type = response.headers.get("content-type") ?? "no content type";
  // A Worker that lacks a binding says so.
  if (status === 500 && type.startsWith("text/plain") && text !== "") return `${url} answered 500: ${text.trim()}`;
  const isEndpoint = /\/mcp(\/[^/]*){0,2}\/admin\/v1\//.test(url);
  const featureHint = status === 404 ? ". Does the Worker have features: [admin()]?" : "";
  const hint = isEndpoint ? ". --url must be the server's URL, without /mcp/TENANT" : featureHint;
  return `${url} answered ${status} (${type}): no admin API answers there${hint}`;
}

export function unreachableError(error: unknown, base: string): CliError {
  const why = reasonOf(error);
  const hint =
    codeOf(error) === "ECONNREFUSED"
      ? ". Is it running? `npm start` starts one; --url or TENANTRY_URL names another"
      : "";
  return new CliError(EXIT.unreachable, oneLine(`cannot reach ${base}: ${why}${hint}`), { cause: error });
}

/** Explains an error of a connection that may have broken after the request was sent. */
export function connectionLostError(error: unknown, url: string): CliError {
  const why = reasonOf(error);
  if (NOT_SENT.has(why)) return unreachableError(error, url);
  const message = `${url}: ${why} before the answer arrived; the request may have taken effect`;
  return new CliError(EXIT.unreachable, oneLine(message), { cause: error });
}

function reasonOf(error: unknown): string {
  return REASONS[codeOf(error)] ?? lastMessage(error);
}

const NO_TLS = "the server does not speak TLS: use http:// instead of https://?";

/**
 * Reasons that rule out that the request was sent: TLS was not established, or `fetch` blocks the port, for which
 * Node has no error code.
 */
const NOT_SENT: ReadonlySet<string> = new Set([NO_TLS, "bad port"]);

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "the connection was closed",
  EPIPE: "the connection was closed",
  UND_ERR_SOCKET: "the connection was closed",
  ENOTFOUND: "no such host",
  EAI_AGAIN: "the host name could not be looked up",
  ETIMEDOUT: "no answer in time",
  UND_ERR_CONNECT_TIMEOUT: "no answer in time",
  UND_ERR_HEADERS_TIMEOUT: "no answer in time",
  UND_ERR_BODY_TIMEOUT: "the answer stopped halfway",
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
  UND_ERR_REQ_CONTENT_LENGTH_MISMATCH: "the file changed while it was sent",
};

/** Whether another attempt may succeed. */
export function isTransientNetworkError(error: unknown): boolean {
  return ["ECONNRESET", "EPIPE", "ETIMEDOUT", "UND_ERR_SOCKET"].includes(codeOf(error));
}

function codeOf(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (typeof code === "string") return code;
  }
  return "";
}

function lastMessage(error: unknown): string {
  let message = String(error);
  for (let cause = error; cause instanceof Error; cause = cause.cause) message = cause.message || message;
  return message;
}
