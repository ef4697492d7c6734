// Validates resource URIs and normalizes them. A URI is only a name here: it is never fetched or opened.
// https://www.rfc-editor.org/rfc/rfc3986

export const MAX_URI_BYTES = 2048;

const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*:/;
const ALLOWED = /^[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]*$/;
/** After the scheme: authority, path, query and fragment. `ALLOWED` has checked the characters before. */
const SHAPE =
  /^(?:\/\/(?:[^@[\]/?#]*@)?(?:\[[0-9A-Fa-f:.]+\](?::\d*)?|[^@[\]/?#]*))?[^?#[\]]*(?:\?[^#[\]]*)?(?:#[^#[\]]*)?$/;
const UNRESERVED = /[A-Za-z0-9\-._~]/;
/**
 * Only these schemes define their host as a DNS name, hence case-insensitive. In other schemes the host is part of a
 * name.
 */
const DNS_SCHEMES = new Set(["http", "https", "ws", "wss", "ftp"]);

export function parseUri(text: string): { readonly uri: string } | { readonly broken: string } {
  if (text.length > MAX_URI_BYTES) return { broken: `a URI must have at most ${MAX_URI_BYTES} bytes` };
  const ascii = encodeNonAscii(text);
  if (ascii === undefined) return { broken: "a URI must be well-formed Unicode" };
  if (ascii.length > MAX_URI_BYTES) return { broken: `a URI must have at most ${MAX_URI_BYTES} bytes` };
  const scheme = SCHEME.exec(ascii)?.[0];
  if (scheme === undefined) return { broken: "a URI must start with a scheme" };
  if (!ALLOWED.test(ascii)) return { broken: "a URI must not contain spaces, control characters or quotes" };
  const rest = normalizeEscapes(ascii.slice(scheme.length));
  if (rest === undefined) return { broken: "a percent sign must start a two-digit escape, not of a control character" };
  if (/^(?:[?#]|$)/.test(rest)) return { broken: "a URI must have more than a scheme" };
  if (!SHAPE.test(rest))
    return { broken: "a URI must have at most one fragment, and brackets only around an IP address" };
  if (hasDotSegment(rest)) return { broken: "a URI must not have . or .. segments" };
  const name = scheme.toLowerCase();
  return { uri: name + (DNS_SCHEMES.has(name.slice(0, -1)) ? lowerHost(rest) : rest) };
}

function encodeNonAscii(text: string): string | undefined {
  if (!text.isWellFormed()) return undefined;
  return text.replaceAll(/[^\u0000-\u007f]+/g, (run) => encodeURIComponent(run));
}

function normalizeEscapes(text: string): string | undefined {
  let broken = false;
  const normal = text.replaceAll(/%(..?)?/g, (whole, digits: string | undefined) => {
    if (digits === undefined || !/^[0-9A-Fa-f]{2}$/.test(digits)) {
      broken = true;
      return whole;
    }
    const code = Number.parseInt(digits, 16);
    if (code < 0x20 || code === 0x7f) broken = true;
    const char = String.fromCodePoint(code);
    return UNRESERVED.test(char) ? char : whole.toUpperCase();
  });
  return broken ? undefined : normal;
}

function hasDotSegment(rest: string): boolean {
  const path = rest.split(/[?#]/, 1)[0] ?? "";
  return path.split(/\/|%2F|%5C/).some((segment) => segment === "." || segment === "..");
}

/** Leaves the user information before an @ unchanged: names and passwords are case-sensitive. */
function lowerHost(rest: string): string {
  return rest.replace(/^(\/\/(?:[^/?#@]*@)?)([^/?#]*)/, (_authority, before: string, host: string) => {
    return before + host.toLowerCase().replaceAll(/%../g, (escape) => escape.toUpperCase());
  });
}

/**
 * Normalizes a literal piece of a URI template. Returns undefined if no URI can contain it. `first`: the piece starts
 * the template, so it may contain the scheme and the host.
 */
export function normalizeLiteral(text: string, first: boolean): string | undefined {
  const ascii = encodeNonAscii(text);
  if (ascii === undefined || !ALLOWED.test(ascii)) return undefined;
  const scheme = first ? (SCHEME.exec(ascii)?.[0] ?? "") : "";
  const rest = normalizeEscapes(ascii.slice(scheme.length));
  const name = scheme.toLowerCase();
  return rest === undefined ? undefined : name + (DNS_SCHEMES.has(name.slice(0, -1)) ? lowerHost(rest) : rest);
}
