// The options of `tenantry upstream add`: an upstream's members in the document, as flags. Contradictions are
// rejected before anything is sent.

import { Option, type Command } from "commander";
import type { Infer, Upstream } from "../../admin/contract.ts";
import { collectOption } from "../command-context.ts";
import { usageError } from "../exit.ts";
import { parseUpTo, parseSeconds } from "./option-values.ts";

type Document = Infer<typeof Upstream>;
type Auth = NonNullable<Document["auth"]>;

export interface UpstreamOptions {
  readonly service?: string;
  readonly path?: string;
  readonly era?: Document["era"];
  readonly header?: readonly string[];
  readonly authUrl?: string;
  readonly authClient?: string;
  readonly authSecret?: string;
  readonly authMethod?: Auth["method"];
  readonly authScope?: string;
  readonly authResource?: string;
  readonly timeout?: number;
  readonly retry?: number;
  readonly uri?: readonly string[];
  readonly trust?: Document["trust"];
  readonly disabled?: boolean;
}

export function addUpstreamOptions(command: Command): Command {
  return command
    .option("--service <name>", "a service binding of the tenant, instead of a URL")
    .option("--path <path>", "the path of its endpoint; default /mcp")
    .addOption(
      new Option("--era <era>", "its protocol versions, of 2025 or 2026; auto detects them").choices([
        "auto",
        "2025",
        "2026",
      ]),
    )
    .option("--header <header>", "a header of every request, as Name: value; repeatable", collectOption)
    .option("--auth-url <url>", "the token endpoint, for OAuth client credentials")
    .option("--auth-client <id>", "the client id at the authorization server")
    .option("--auth-secret <secret>", "the client secret at the authorization server, as {{secret:NAME}}")
    .addOption(
      new Option("--auth-method <method>", "how the secret is sent to the authorization server").choices([
        "client_secret_basic",
        "client_secret_post",
      ]),
    )
    .option("--auth-scope <scope>", "the requested scopes")
    .option("--auth-resource <url>", "the resource of the token; default: the URL of the upstream")
    .option("--timeout <duration>", "the time limit of a call, such as 30s", parseSeconds)
    .option("--retry <times>", "how many times to repeat a read that gets no answer, 0 to 5", parseUpTo(5))
    .option("--uri <prefix>", "a prefix of its resources' URIs; repeatable", collectOption)
    .addOption(
      new Option("--trust <trust>", "with review, its definitions wait for your approval").choices(["auto", "review"]),
    )
    .option("--disabled", "add it switched off");
}

/**
 * The upstream's document from the flags. `trust` is handled separately, because it keeps its value if no flag sets
 * it.
 */
export function toUpstreamDocument(url: string | undefined, options: UpstreamOptions): Document {
  const { service, path, era, header, timeout, retry, uri, disabled } = options;
  if ((url === undefined) === (service === undefined))
    throw usageError("give the id of the upstream and its URL, or its id and --service");
  const auth = toUpstreamAuth(options);
  return {
    ...(url !== undefined && { url }),
    ...(service !== undefined && { service }),
    ...(path !== undefined && { path }),
    ...(era !== undefined && { era }),
    ...(header && { headers: parseHeaders(header) }),
    ...(auth && { auth }),
    ...(timeout !== undefined && { timeoutMs: timeout * 1000 }),
    ...(retry !== undefined && { retry }),
    ...(uri && { uris: [...uri] }),
    ...(disabled === true && { enabled: false }),
  };
}

function toUpstreamAuth(options: UpstreamOptions): Auth | undefined {
  const { authUrl: tokenUrl, authClient: clientId, authSecret: clientSecret } = options;
  const { authMethod: method, authScope: scope, authResource: resource } = options;
  const values = [tokenUrl, clientId, clientSecret, method, scope, resource];
  if (values.every((value) => value === undefined)) return undefined;
  if (tokenUrl === undefined || clientId === undefined || clientSecret === undefined) {
    throw usageError("client credentials need --auth-url, --auth-client and --auth-secret");
  }
  // Other programs of the machine can see arguments, and the document stores this value. Only a secret's name is
  // allowed.
  if (!/^\{\{secret:[^{}]+\}\}$/.test(clientSecret)) throw usageError("--auth-secret: write {{secret:NAME}}");
  return {
    kind: "client_credentials",
    tokenUrl,
    clientId,
    clientSecret,
    ...(method !== undefined && { method }),
    ...(scope !== undefined && { scope }),
    ...(resource !== undefined && { resource }),
  };
}

/** `Name: value`, as in curl. */
function parseHeaders(texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const [, name = "", value = ""] = /^([^:\s]+):\s*(.*)$/.exec(text) ?? [];
      if (name === "") throw usageError("--header: write Name: value");
      return [name, value] as const;
    }),
  );
}
