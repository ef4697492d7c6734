// An upstream that puts the credential which it was sent into everything that it says: results, errors, logs, definitions,
// pages, redirects, as servers write JSON. Nobody is shown it, callers and operators alike.

import { rowOf, type Row } from "../report.ts";
import { REVISIONS, type Answer, type Json, type Target } from "../target.ts";
import { pathOf, SECRET, tenantWith, sendEnvelope } from "./attacked-tenant.ts";
import { eraOf, eventOf, type UpstreamRequest, type Behaviour, type HostileUpstreams } from "./hostile-upstream.ts";

const STREAM = "text/event-stream";

/** As servers write a text into JSON, and where they may put it. */
const WRITTEN: readonly ((text: string) => string)[] = [
  (text) => JSON.stringify(text).slice(1, -1),
  (text) =>
    Array.from(text)
      .map((char) => `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`)
      .join(""),
  (text) =>
    Array.from(text)
      .map((char) => `\\u${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`)
      .join(""),
  (text) => JSON.stringify(text).slice(1, -1).replaceAll("/", "\\/"),
  (text) => JSON.stringify(`Bearer ${text}, again ${text}`).slice(1, -1),
];

/** A server that puts what it was sent into everything that it says. */
function echoing(write: (text: string) => string): Behaviour {
  const heard = ({ headers }: UpstreamRequest) => write(String(headers["x-secret"] ?? headers.authorization));
  const answers: Readonly<Record<string, (text: string, request: UpstreamRequest) => string | number | undefined>> = {
    "tools/list": (text) =>
      `{"tools":[{"name":"go","title":"${text}","description":"${text}","inputSchema":{"type":"object","description":"${text}"},"_meta":{"${text}":"${text}"}},{"name":"${text}","inputSchema":{"type":"object"}},{"name":"bad ${text}","inputSchema":7}]}`,
    "prompts/list": (text) => `{"prompts":[{"name":"p","description":"${text}"}]}`,
    "resources/list": (text) => `{"resources":[{"uri":"file:///a","name":"${text}"}]}`,
    "prompts/get": (text) =>
      `{"messages":[{"role":"user","content":{"type":"text","text":"${text}"}}],"description":"${text}"}`,
    "resources/read": (text) => `{"contents":[{"uri":"file:///a","text":"${text}"}]}`,
    "completion/complete": (text) => `{"completion":{"values":["${text}"]}}`,
    "tools/call": (text, request) => {
      const { arguments: given = {} } = request.params as { arguments?: Json };
      const result = `{"resultType":"complete","content":[{"type":"text","text":"${text}"}],"structuredContent":{"${text}":["${text}"]},"_meta":{"x/${text}":"${text}"}}`;
      const wholly = `{"jsonrpc":"2.0","id":${String(request.id)},"result":${result}}`;
      const failed = `{"jsonrpc":"2.0","id":${String(request.id)},"error":{"code":-32055,"message":"${text}","data":{"uri":"${text}","x":"${text}"}}}`;
      const log = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"${text}","logger":"${text}"}}`;
      const { response } = request;
      if (given.as === "stream")
        response.writeHead(200, { "content-type": STREAM }).end(eventOf(log) + eventOf(wholly));
      else if (given.as === "error") response.writeHead(200, { "content-type": "application/json" }).end(failed);
      else if (given.as === "page") response.writeHead(200, { "content-type": "text/html" }).end(`<p>${text}</p>`);
      else if (given.as === "redirect") response.writeHead(302, { location: `/${encodeURIComponent(text)}` }).end();
      else if (given.as === "status")
        response.writeHead(403, { "www-authenticate": `Bearer error="${encodeURIComponent(text)}"` }).end(text);
      else response.writeHead(200, { "content-type": "application/json" }).end(wholly);
      return undefined;
    },
  };
  return Object.fromEntries(
    Object.entries(answers).map(([method, answer]) => [
      method,
      (request: UpstreamRequest) => {
        const found = answer(heard(request), request);
        if (typeof found !== "string") return found;
        const stamped = found.replace("{", '{"resultType":"complete",');
        request.response
          .setHeader("content-type", "application/json")
          .end(`{"jsonrpc":"2.0","id":${String(request.id)},"result":${stamped}}`);
        return undefined;
      },
    ]),
  );
}

const CALLS = ["json", "stream", "error", "page", "redirect", "status"] as const;

export async function echoedSecrets(target: Target, hostile: HostileUpstreams): Promise<Row> {
  const gaveWay: string[] = [];
  let looked = 0;
  let cut = 0;
  await Promise.all(
    WRITTEN.flatMap((write) => REVISIONS.map((revision) => ({ write, revision }))).map(async ({ write, revision }) => {
      const headers = { "X-Secret": "{{secret:ATTACKED}}", Authorization: "Bearer {{secret:ATTACKED}}" };
      const up = { url: hostile.at(echoing(write)), era: eraOf(revision), headers };
      const tenant = await tenantWith(target, hostile, up);
      const look = ({ text }: Pick<Answer, "text">, what: string) => {
        looked += 1;
        if (text.includes("[redacted]")) cut += 1;
        if (isTold(text)) gaveWay.push(`${what} (${write("+")}) tells the secret`);
      };
      for (const client of REVISIONS) {
        const options = { revision: client };
        for (const [method, params] of requests("up__"))
          look(await target.call(tenant, method, params, options), method);
        for (const [method, params] of requests(""))
          look(
            await sendEnvelope(target, tenant, [method, params], { ...options, server: "up" }),
            `/gateway ${method}`,
          );
      }
      for (const path of ["", "/test", "/refresh?wait=1", "/pending"]) {
        const method = path.startsWith("/t") || path.startsWith("/r") ? "POST" : "GET";
        look(await target.admin(method, `${pathOf(tenant, "up")}${path}`), `admin ${path}`);
      }
      for (const path of ["", "/document", "/upstreams", "/audit", "/secrets", "/export"])
        look(await target.admin("GET", `/tenants/${tenant}${path}`), `admin ${path}`);
    }),
  );
  if (cut === 0) gaveWay.push("nothing was cut out: nothing was tried");
  return rowOf(
    "an upstream that says what it was sent",
    `${looked} answers to callers and operators, a secret in all its servers say, in ${WRITTEN.length} notations`,
    gaveWay,
    `in none; ${cut} say that something was cut out`,
  );
}

function requests(prefix: string): (readonly [string, Json])[] {
  return [
    ...["tools", "prompts", "resources"].map((kind): readonly [string, Json] => [`${kind}/list`, {}]),
    ...CALLS.map((as): readonly [string, Json] => [
      "tools/call",
      { name: `${prefix}go`, arguments: { as }, _meta: { "io.modelcontextprotocol/logLevel": "debug" } },
    ]),
    ["prompts/get", { name: `${prefix}p` }],
    ["resources/read", { uri: "file:///a" }],
    ["completion/complete", { ref: { type: "ref/prompt", name: `${prefix}p` }, argument: { name: "a", value: "" } }],
  ];
}

/** Also where its characters are escaped. */
function isTold(text: string): boolean {
  const plain = text.replaceAll(/\\u([\da-f]{4})/gi, (_all, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  const all = [text, plain, plain.replaceAll("\\/", "/"), decodeURIComponentOr(plain)];
  return all.some((one) => one.includes(SECRET));
}

function decodeURIComponentOr(text: string): string {
  return text.replaceAll(/(?:%[\da-f]{2})+/gi, (escaped) => Buffer.from(escaped.replaceAll("%", ""), "hex").toString());
}
