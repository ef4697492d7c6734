// The HTTP exchanges of the running test, for the message of a test that fails.

const SHOWN = 3;
const LONGEST = 1_000;
let exchanges: string[] = [];

/** `body`: what was sent, as text. */
export function logExchange(
  request: { readonly method: string; readonly url: string; readonly body: unknown },
  response: { readonly status: number; readonly text: string },
): void {
  const body = typeof request.body === "string" ? request.body : "";
  const sent = `→ ${request.method} ${request.url} ${shortened(body)}`.trimEnd();
  exchanges = [...exchanges, `${sent}\n← ${response.status} ${shortened(response.text.trim())}`].slice(-SHOWN);
}

export function clearExchanges(): void {
  exchanges = [];
}

/** The last of them, or "" when the test sent nothing. */
export function lastExchanges(): string {
  return exchanges.length === 0 ? "" : `\n\nLast requests and responses:\n${exchanges.join("\n")}`;
}

function shortened(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}… (${text.length} characters)` : text;
}
