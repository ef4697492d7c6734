// The feature `connectPage()`: HTML for browsers at an endpoint, at the root and at unknown addresses. It makes no
// lookups: the page for a rejected visitor is built from its URL and from data that every client gets.

import type { BuiltInFeature } from "../deployment/deployment.ts";
import type { Feature } from "../deployment/feature.ts";
import { markup, type Markup } from "../deployment/markup.ts";
import { stripMountPath } from "../deployment/mount.ts";
import type { Pages, EndpointPage } from "../deployment/pages.ts";
import { sanitizeText } from "../login/pages/sanitize-text.ts";
import type { Failure } from "../protocol/errors.ts";
import { serverName } from "./recipes/recipe.ts";
import { assertNoOptions } from "../protocol/members.ts";
import { connectBlock, type BlockView } from "./connect-block.ts";
import { EMBED_SCRIPT, CONNECT_SCRIPT } from "./connect-script.ts";
import { BLOCK_STYLE, PAGE_STYLE } from "./connect-style.ts";

const STYLE = PAGE_STYLE + BLOCK_STYLE;
const SCRIPT = `(${CONNECT_SCRIPT})(document)`;

/** Hashes of the texts above; a test fails when they change. */
const STYLE_HASH = "sha256-Tg4ruxJrdQSlTn+eUUV53zrxf0cSZqOEOB9SH/xNv1w=";
const SCRIPT_HASH = "sha256-xsijzB6B2UcQLCS5BQcSSELdMk3o4YhssxUpmKWbGbs=";

const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": `default-src 'none'; style-src '${STYLE_HASH}'; script-src '${SCRIPT_HASH}'; connect-src 'self'; img-src https:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "x-frame-options": "DENY",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
  vary: "Accept",
};

/**
 * Serves a page for people who open an endpoint in a browser, and a block to embed in your own pages. See
 * `node_modules/tenantry/docs/connect-page.md`.
 */
export function connectPage(...options: readonly never[]): Feature {
  assertNoOptions("connectPage", options);
  const feature: BuiltInFeature = {
    name: "connectPage",
    pages: { isOwnOrigin, renderEndpoint: endpointPage, renderRejection: rejectionPage },
    routes: {
      path: "/connect.js",
      onHostnames: true,
      open:
        ({ path }) =>
        (request) =>
          embedScript(request, path),
    },
  };
  return feature;
}

/** With https no attacker can have a page of this origin: DNS rebinding gives no certificate for the name. */
const isOwnOrigin: Pages["isOwnOrigin"] = ({ url }, origin) =>
  origin.startsWith("https://") && new URL(url).origin === origin;

/**
 * A hostname can contain text that a shell reads as a command, and an attacker can point such a name at this Worker.
 */
const PLAIN_HOST = /^(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])$/;

function endpointPage(request: Request, mount: string, { tenant, profile, path, mode, view }: EndpointPage): Response {
  const { origin, hostname } = new URL(request.url);
  if (!PLAIN_HOST.test(hostname)) return notFoundPage(request, mount, undefined);
  const { title = tenant, description, icons = [], name, version } = view.server;
  const src = icons[0]?.["src"];
  const block = connectBlock({
    url: `${origin}${mount}/mcp${path}`,
    id: serverName(tenant, profile ?? undefined),
    title,
    about: description,
    icon: typeof src === "string" && src.startsWith("https://") ? src : undefined,
    access: mode === "open" ? "open" : "more",
    tools: view.tools.map(({ wire }) => wire),
    prompts: view.prompts.map(({ wire }) => wire.name),
  });
  return renderBlockPage(title, markup`${block}<footer>${name} ${version}</footer>`);
}

/**
 * Page for callers who are not authorized, and for unknown addresses. It does not reveal whether a tenant of this name
 * exists.
 */
function rejectionPage(request: Request, mount: string, response: Response, why: Failure): Response {
  const { status, headers } = response;
  const endpoint = endpointAt(request.url, mount);
  const page =
    status === 401 && endpoint
      ? connectPageFor({
          ...endpoint,
          access: headers.get("www-authenticate")?.includes("resource_metadata") ? "login" : "key",
        })
      : notFoundPage(request, mount, status === 404 ? undefined : why.message);
  const all = new Headers(headers);
  for (const [name, value] of page.headers) all.set(name, value);
  return new Response(page.body, { status, headers: all });
}

function connectPageFor(view: Omit<BlockView, "title">): Response {
  return renderBlockPage(view.id, connectBlock({ ...view, title: view.id }));
}

/** Allows only the characters of ids and profiles. Other text in a URL could be a command to a person who copies it. */
const ENDPOINT = /^(?:\/mcp(?:\/([a-z0-9-]{1,40})(?:\/([a-z0-9-]{1,40}))?)?)?\/?$/;

function endpointAt(address: string, mount: string): Pick<BlockView, "url" | "id"> | undefined {
  const { origin, hostname, pathname } = new URL(address);
  const match = PLAIN_HOST.test(hostname) && ENDPOINT.exec(stripMountPath(mount, pathname));
  if (!match) return undefined;
  const names = match.slice(1).filter((name) => name !== undefined);
  const [label = "", ...more] = hostname.split(".");
  const home = more.length > 0 && /^[a-z]/.test(label) ? label : "mcp";
  return { url: [`${origin}${mount}/mcp`, ...names].join("/"), id: names.join("_") || home };
}

/** `why` is undefined if there is nothing at the address. */
function notFoundPage(request: Request, mount: string, why: string | undefined): Response {
  const { origin } = new URL(request.url);
  const base = `${origin}${mount}/mcp/`;
  const isRoot = stripMountPath(mount, new URL(request.url).pathname) === "/";
  const title = why !== undefined ? "Not now" : isRoot ? "MCP endpoints" : "This page does not exist";
  const notice =
    why === undefined ? "" : markup`<div class="card bad" role="alert"><p>${sanitizeText(why, 400)}</p></div>`;
  const block = markup`<section id="connect"><header><b aria-hidden="true">M</b><h1>${title}</h1></header>
${notice}<p class="about">This server has tools for AI clients, such as Claude, Cursor or VS Code. They reach them at an address of this form:</p>
<div class="line url"><code>${base}<b>name</b></code></div>
<p class="about">Compare your address with the one that you were given, letter by letter. Open the right address in a browser to see how to connect each client.</p></section>`;
  return renderBlockPage(title, block, markup``);
}

function renderBlockPage(
  title: string,
  block: Markup,
  script = markup`<script>${{ html: SCRIPT }}</script>`,
): Response {
  const page = markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="robots" content="noindex">
<title>${sanitizeText(title)} - MCP</title>
<style>${{ html: STYLE }}</style>
</head>
<body>
<main>
${block}
</main>
${script}
</body>
</html>`.html;
  return new Response(page, { headers: HEADERS });
}

/** The script for embedding. It looks up nothing about the endpoint: its output depends on the URL alone. */
function embedScript(request: Request, mount: string): Response {
  const { origin, searchParams } = new URL(request.url);
  const endpointName = searchParams.get("for") ?? "";
  const endpoint = endpointAt(`${origin}${mount}/mcp${endpointName === "" ? "" : `/${endpointName}`}`, mount);
  const access = searchParams.get("access") ?? "key";
  if (request.method !== "GET" || !endpoint || !isAccess(access)) {
    return new Response(
      "connect.js needs ?for=TENANT or ?for=TENANT/PROFILE; access must be key, login, more or open\n",
      {
        status: 400,
      },
    );
  }
  const title = searchParams.get("title") ?? endpoint.id;
  const { html } = connectBlock({ ...endpoint, title, access });
  return new Response(
    `(${CONNECT_SCRIPT})(...(${EMBED_SCRIPT})(${JSON.stringify(BLOCK_STYLE)},${JSON.stringify(html)}))\n`,
    {
      headers: {
        "content-type": "text/javascript; charset=utf-8",
        "x-content-type-options": "nosniff",
        "cross-origin-resource-policy": "cross-origin",
        "cache-control": "public, max-age=300",
      },
    },
  );
}

function isAccess(access: string): access is BlockView["access"] {
  return ["key", "login", "more", "open"].includes(access);
}
