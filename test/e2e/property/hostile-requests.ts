// Requests that no proper client sends, and proper ones among them: fast-check arbitraries over method, URL, headers
// and body of both eras.

import * as fc from "fast-check";
import { message, REVISIONS, spoilt, type Message } from "./hostile-messages.ts";
import { odd, oddText, oneIn } from "./hostile-values.ts";
import type { Json } from "../../support/mcp-client.ts";
import { write } from "../../support/raw-http.ts";

export interface Shot {
  readonly method: string;
  /** Behind the origin. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  /** A request that nothing was done to: it must be answered with a result. */
  readonly proper: { readonly revision: string; readonly method: string } | undefined;
}

const batch: fc.Arbitrary<{ headers: Record<string, string>; text: string }> = fc
  .record({
    items: fc.array(
      fc.oneof(
        { weight: 8, arbitrary: message.map(({ body }): unknown => body) },
        { weight: 2, arbitrary: spoilt.map(({ body }): unknown => body) },
        { weight: 1, arbitrary: odd },
      ),
      { maxLength: 8 },
    ),
    /** A batch of one kind only, and now and then one over the limit. */
    pings: fc.oneof(
      { weight: 9, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.integer({ min: 45, max: 55 }) },
    ),
    version: fc.constantFrom(undefined, undefined, "2025-03-26", "2025-11-25", "2026-07-28"),
  })
  .map(({ items, pings, version }) => ({
    headers: {
      "content-type": "application/json",
      ...(version === undefined ? {} : { "mcp-protocol-version": version }),
    },
    text: JSON.stringify([
      ...items,
      ...Array.from({ length: pings }, (_none, id) => ({ jsonrpc: "2.0", id, method: "ping" })),
    ]),
  }));

/** Text that was JSON once. */
const damaged: fc.Arbitrary<{ headers: Readonly<Record<string, string>>; text: string }> = fc
  .record({
    message: fc.oneof(message, spoilt),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    kind: fc.nat({ max: 7 }),
    with: oddText,
  })
  .map(({ message: { headers, body }, at, kind, with: inserted }) => {
    const json = JSON.stringify(body);
    const cut = Math.floor(at * json.length);
    const [head, tail] = [json.slice(0, cut), json.slice(cut)];
    const texts = [
      head,
      tail,
      head + inserted + tail,
      head + tail.slice(1),
      json + json,
      `\ufeff${json}`,
      ` \n${json}\t`,
      json.replace(/"id":[^,]*/, '"id":1e400'),
    ];
    return { headers, text: texts[kind] ?? json };
  });

const garbage: fc.Arbitrary<{ headers: Record<string, string>; text: string | Uint8Array }> = fc
  .oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc
      .uint8Array({ maxLength: 40 })
      .map((bytes) => Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":1,"method":"'), bytes, Buffer.from('"}')])),
    oddText.map((text) => (text.isWellFormed() ? text : JSON.stringify(text))),
    odd.map((value) => JSON.stringify(value) ?? ""),
    fc.constantFrom(
      "[".repeat(100_000),
      '{"a":'.repeat(30_000),
      `{"jsonrpc":"2.0","id":${"9".repeat(400)},"method":"ping"}`,
      "\u0000",
      "// comment",
      "NaN",
    ),
  )
  .map((text) => ({ headers: { "content-type": "application/json" }, text }));

const visible = fc.string({
  unit: fc
    .integer({ min: 0x20, max: 0xff })
    .filter((code) => code < 0x7f || code > 0x9f)
    .map((code) => String.fromCodePoint(code)),
  maxLength: 60,
});
const headerValue = fc.oneof(
  visible,
  fc.constantFrom("x".repeat(4000), "=?base64?!?=", "=?base64?4pyT?=", "2026-07-28", "2025-11-25", "__proto__"),
);
const strange: fc.Arbitrary<Record<string, string>> = fc
  .array(
    fc.oneof(
      fc.tuple(
        fc.constantFrom(
          "mcp-protocol-version",
          "mcp-session-id",
          "mcp-method",
          "mcp-name",
          "mcp-param-x",
          "last-event-id",
          "authorization",
          "cookie",
          "cf-ray",
          "x-forwarded-host",
          "content-encoding",
          "content-language",
          "range",
          "if-none-match",
        ),
        headerValue,
      ),
      fc.tuple(
        fc.constant("accept"),
        fc.oneof(
          fc.constantFrom("application/json", "text/event-stream", "*/*", "text/html", "application/json;q=0", ",,;;,"),
          visible,
        ),
      ),
      fc.tuple(
        fc.constant("content-type"),
        fc.oneof(fc.constantFrom("application/json; charset=utf-16", "text/plain", "application/json;"), visible),
      ),
      fc.tuple(
        fc.constant("origin"),
        fc.oneof(fc.constantFrom("null", "http://localhost:1", "https://evil.example", "http://[::1"), visible),
      ),
      fc.tuple(fc.constant("host"), fc.constantFrom("evil.example", "localhost:1", "127.0.0.1", "[::1]:80")),
      fc.tuple(fc.stringMatching(/^x-[a-z]{1,10}$/), headerValue),
    ),
    { maxLength: 3 },
  )
  .map((entries) => Object.fromEntries(entries));

const path = fc.oneof(
  { weight: 30, arbitrary: fc.constant("/mcp/rough") },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "/mcp/rough/",
      "/mcp/rough?a=%zz&a=1",
      "/mcp/rough?sessionId=x",
      "/mcp/rough/profile",
      "/mcp",
      "/mcp/",
      "/mcp/__proto__",
      "/mcp/constructor",
      "/mcp/%",
      "/mcp/%ff",
      "/mcp/a%2fb",
      "/",
      "//",
      "/admin",
      "/gateway/rough",
      "/.well-known/oauth-protected-resource/mcp/rough",
      "/mcp/rough/../rough",
      "/healthz",
    ),
  },
  { weight: 1, arbitrary: fc.stringMatching(/^\/mcp\/[A-Za-z0-9._~%!$&'()*+,;=:@-]{0,60}$/) },
);
const httpMethod = fc.oneof(
  { weight: 30, arbitrary: fc.constant("POST") },
  { weight: 1, arbitrary: fc.constantFrom("GET", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD") },
);

interface Sent {
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string | Uint8Array;
}

const textual = ({ headers, body }: Message): Sent => ({ headers, text: JSON.stringify(body) });

/** Only what cannot fail: right params, right headers, the right place. */
const proper: fc.Arbitrary<Shot> = fc
  .record({
    revision: fc.constantFrom(...REVISIONS),
    call: fc.constantFrom<readonly [string, Json]>(
      ["tools/list", {}],
      ["prompts/list", {}],
      ["resources/templates/list", {}],
      [
        "tools/call",
        { name: "lab_echo", arguments: JSON.parse('{"__proto__":1,"constructor":{"prototype":2}}') as Json },
      ],
      ["tools/call", { name: "lab_strict", arguments: { text: "é😀", count: 3 } }],
      ["resources/read", { uri: "lab://notes/animals/otter" }],
      [
        "completion/complete",
        { ref: { type: "ref/prompt", name: "lab_letter" }, argument: { name: "flower", value: "a" } },
      ],
    ),
    id: fc.oneof(fc.integer(), fc.string({ unit: "binary", maxLength: 10 })),
  })
  .map(({ revision, call: [method, params], id }) => {
    const { headers, body } = write(revision, method, params, id);
    return { method: "POST", path: "/mcp/rough", headers, body: JSON.stringify(body), proper: { revision, method } };
  });

const improper: fc.Arbitrary<Shot> = fc
  .record({
    sent: fc.oneof<[fc.WeightedArbitrary<Sent>, ...fc.WeightedArbitrary<Sent>[]]>(
      { weight: 6, arbitrary: message.map(textual) },
      { weight: 4, arbitrary: spoilt.map(textual) },
      { weight: 2, arbitrary: damaged },
      { weight: 2, arbitrary: garbage },
      { weight: 1, arbitrary: batch },
    ),
    path,
    method: httpMethod,
    strange: oneIn(30, strange),
  })
  .map(({ sent, path: at, method, strange: more }) => ({
    method,
    path: at,
    headers: { ...sent.headers, ...more },
    body: method === "GET" || method === "HEAD" ? "" : sent.text,
    proper: undefined,
  }));

export const shot: fc.Arbitrary<Shot> = fc.oneof({ weight: 1, arbitrary: proper }, { weight: 4, arbitrary: improper });
