// The layout of all login pages: the tenant's name above one task, without scripts and external resources, and the
// headers that enforce this.

import { markup, type Markup } from "../../deployment/markup.ts";
import { sanitizeText } from "./sanitize-text.ts";

/** The tenant that the page belongs to. */
export interface PageTenant {
  readonly id: string;
  readonly title?: string | undefined;
}

export interface FormTarget {
  readonly action: string;
  /** Sent back unchanged. */
  readonly fields: Readonly<Record<string, string>>;
}

/** `STYLE_HASH` is the hash of this text; a test fails when this changes. */
const STYLE = `
:root{color-scheme:light dark;accent-color:CanvasText;--soft:color-mix(in srgb,CanvasText 68%,Canvas);--line:1px solid color-mix(in srgb,CanvasText 20%,Canvas)}
*{box-sizing:border-box}body{margin:0;font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}main{max-width:34rem;margin:auto;padding:2.5rem 1.25rem}
header,.row,.act{display:flex;gap:.75rem}header,fieldset{margin:0 0 1.75rem}header,legend{font-weight:600}
b{flex:none;width:1.6em;background:CanvasText;color:Canvas;border-radius:6px;text-align:center}
h1{font-size:1.6rem;line-height:1.25;margin:0}h2,h3{font-size:1rem;margin:0}p{margin:.5rem 0}
small,dt{color:var(--soft)}small,code{font-size:.875rem}dl{display:grid;grid-template-columns:auto 1fr;gap:.35rem 1.25rem;margin:1rem 0}dd{margin:0}
.note,.card,.list{border:var(--line);border-radius:8px;margin:1rem 0;padding:.25rem 1rem}.note{border-left:4px solid #d97706}.bad{border-left-color:#d92d20}.card{padding:1rem}
fieldset,legend{border:0;padding:0;min-width:0}.list{max-height:21rem;overflow:auto;margin:.5rem 0 0}.row{padding:.6rem 0}.list .row+.row{border-top:var(--line)}.row small{display:block}.row+h3{margin-top:1rem}
input,button{font:inherit;border:1px solid var(--soft);border-radius:8px;background:Canvas;color:CanvasText;padding:.6rem 1.25rem}button{font-weight:600;cursor:pointer}
[type=checkbox]{flex:none;width:1.1rem;height:1.1rem;margin:.2rem 0 0}#key{width:100%;margin:.35rem 0}
.go{background:CanvasText;color:Canvas}.link{border:0;padding:0;font-weight:400;text-decoration:underline}:focus-visible{outline:2px solid CanvasText;outline-offset:2px}
@media(hover:hover){main:hover .go{animation:arm .5s}}@keyframes arm{from,to{pointer-events:none}}
.go,b{forced-color-adjust:none}
`;
const STYLE_HASH = "sha256-90UxCO7E/n3TpkK+MyI2qfN2cnyaeCJKvDjsSAbBc9I=";

interface PageParts {
  readonly tenant: PageTenant;
  /** Title of the window. */
  readonly title: string;
  /** Heading of the page, if it differs from the title. */
  readonly heading?: Markup;
  readonly body: Markup;
}

/** The tenant's name for people. */
export function tenantName({ title, id }: PageTenant): string {
  return sanitizeText(title ?? "") || id;
}

/** `bdi`: a right-to-left name does not change the rest of its line. */
export function renderPage({ tenant, title, heading, body }: PageParts): string {
  const name = tenantName(tenant);
  const [initial = ""] = name;
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>${title} - ${name}</title>
<style>${{ html: STYLE }}</style>
</head>
<body>
<main>
<header><b aria-hidden="true">${initial.toUpperCase()}</b><bdi>${name}</bdi></header>
<h1>${heading ?? title}</h1>
${body}
</main>
</body>
</html>`.html;
}

/** A form that sends the given fields; `content` has its buttons. */
export function renderForm({ action, fields }: FormTarget, content: Markup): Markup {
  const hidden = Object.entries(fields).map(
    ([name, value]) => markup`<input type="hidden" name="${name}" value="${value}">`,
  );
  return markup`<form method="post" action="${action}">${hidden}${content}</form>`;
}

interface PageResponseOptions {
  readonly status?: number;
  /** Destinations of its forms other than this host: see `formTarget`. */
  readonly formTargets?: readonly string[];
  readonly headers?: HeadersInit;
}

/**
 * No Cross-Origin-Opener-Policy: it would separate a client that opened this window from the page of its redirect.
 * Without scripts, an opener can reach nothing here.
 */
export function pageResponse(
  html: string,
  { status = 200, formTargets = [], headers }: PageResponseOptions = {},
): Response {
  const all = new Headers(headers);
  const policy = `default-src 'none'; style-src '${STYLE_HASH}'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'`;
  for (const [name, value] of Object.entries({
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": [policy, ...formTargets].join(" "),
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    // With no-referrer, browsers would also hide a form's origin from its own host.
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
  }))
    all.set(name, value);
  return new Response(html, { status, headers: all });
}

/**
 * The CSP form target for a redirect URI. Browsers apply the policy to every redirect that follows a form, and a client
 * may redirect to any other address. For web URIs the whole web must therefore be allowed.
 */
export function formTarget(redirect: string): string {
  const { protocol } = new URL(redirect);
  return /^https?:$/.test(protocol) ? "https: http:" : protocol;
}
