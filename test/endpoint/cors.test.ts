// The headers are found in the code that reads those of clients, and in the code that answers.

import { globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { preflight, withOrigin } from "../../src/endpoint/cors.ts";

const READING = ["src/{app,auth,endpoint,limits,streams}/**/*.ts", "src/gateway/guard/client-headers.ts"];
const ANSWERING = ["src/{app,endpoint}/**/*.ts"];

function namesIn(files: readonly string[], pattern: RegExp): readonly string[] {
  const code = globSync([...files]).map((file) => readFileSync(file, "utf8"));
  return [...new Set(code.flatMap((text) => [...text.matchAll(pattern)].map(([, name = ""]) => name)))];
}

/** Added by the browser, the platform or a proxy: no page may send these, or needs leave to. */
const NOT_OF_A_PAGE = /^(host|origin|content-length|access-control-.*|cf-.*|sec-.*|x-forwarded-proto)$/;
/** https://fetch.spec.whatwg.org/#cors-safelisted-response-header-name */
const READ_ANYWAY = /^(cache-control|content-type|content-length|access-control-.*|vary)$/;
/** Says no more than the status does, or is for the page of a tenant, which no script reads. */
const NOT_FOR_SCRIPTS = /^(allow|content-security-policy|referrer-policy|x-.*)$/;

const listed = (header: string | null) => (header ?? "").split(", ");
const ORIGIN = "https://app.example.com";

describe("a page of another origin", () => {
  it("may send every header that is read of a client, the trace context among them", () => {
    const read = namesIn(READING, /(?:headers\.(?:get|has)|client)\("([a-z-]+)"\)/g).filter(
      (name) => !NOT_OF_A_PAGE.test(name),
    );
    expect(read).toEqual(expect.arrayContaining(["traceparent", "mcp-name", "authorization"]));
    const allowed = listed(preflight(null).headers.get("access-control-allow-headers"));
    expect(allowed).toEqual(expect.arrayContaining([...read, "tracestate", "baggage"]));
  });

  it("may read every header that an answer has and a client needs", () => {
    const sent = [
      ...namesIn(ANSWERING, /headers\.set\("([a-z-]+)"/g),
      ...namesIn(ANSWERING, /(?:^|[{\s])"?([a-z]+(?:-[a-z]+)+|ratelimit)"?: /g),
    ];
    const needed = sent.filter((name) => !READ_ANYWAY.test(name) && !NOT_FOR_SCRIPTS.test(name));
    expect(needed).toEqual(expect.arrayContaining(["mcp-session-id", "retry-after", "ratelimit"]));
    const { headers } = withOrigin(new Response(null), ORIGIN);
    expect(listed(headers.get("access-control-expose-headers"))).toEqual(expect.arrayContaining(needed));
  });
});
