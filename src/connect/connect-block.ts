// The block that helps a person connect: the endpoint, a field for the key, steps for each client, and the tools. It
// appears on the Worker's own page and, embedded, on other pages. Its caller decides what it shows.

import { markup, type Markup } from "../deployment/markup.ts";
import { sanitizeText } from "../login/pages/sanitize-text.ts";
import { isObject } from "../protocol/jsonrpc.ts";
import { KEY_PLACEHOLDER, type Access, type ClientEndpoint, type Recipe } from "./recipes/recipe.ts";
import { RECIPES } from "./recipes/recipes.ts";

/**
 * `open`: everyone may call. `key`: every caller needs a key. `login`: a client signs its person in, who may have a key
 * instead. `more`: everyone may call, and a key or a login shows more.
 */
export type ConnectAccess = "open" | "key" | "login" | "more";

export interface BlockTool {
  readonly name: string;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly annotations?: unknown;
}

export interface BlockView {
  readonly url: string;
  /** The server's name in client configurations. */
  readonly id: string;
  readonly title: string;
  readonly about?: string | undefined;
  readonly icon?: string | undefined;
  readonly access: ConnectAccess;
  /** The tools visible without a key. */
  readonly tools?: readonly BlockTool[];
  readonly prompts?: readonly string[];
}

const DEFAULT_DESCRIPTION = "Tools for AI clients that speak the Model Context Protocol.";

const ACCESS_HINTS: Readonly<Record<Exclude<ConnectAccess, "open">, string>> = {
  key: "You need a key: ask the person who gave you this address. A mistyped address asks for a key, too.",
  login: "Add the address to a client, which opens a page to sign in. If you have a key, paste it here instead.",
  more: "Some tools are open to everybody. Sign in from a client or use a key to see more.",
};

export function connectBlock(view: BlockView): Markup {
  const { url, id, access, about = "" } = view;
  const title = sanitizeText(view.title) || id;
  const [initial = ""] = title;
  const icon =
    view.icon === undefined
      ? markup`<b aria-hidden="true">${initial.toUpperCase()}</b>`
      : markup`<img alt="" src="${view.icon}">`;
  return markup`<section id="connect" class="${access === "key" ? "keyed" : ""}" data-url="${url}" data-id="${id}" data-access="${access}">
<header>${icon}<h1><bdi>${title}</bdi></h1></header>
<p class="about">${sanitizeText(about, 600) || DEFAULT_DESCRIPTION}</p>
<div class="line url copied"><code class="text">${url}</code>${COPY_BUTTON}</div>
${access === "open" ? "" : keyField(ACCESS_HINTS[access])}
<h2>Connect a client</h2>
<p class="adds">${RECIPES.flatMap((recipe) => variants(view).flatMap((one) => installLink(recipe, one)))}</p>
<div class="tabs">${RECIPES.map((recipe, at) => tab(recipe, view, at === 0))}</div>
<h2>Tools</h2>
${access === "open" ? STATUS_LINE : ""}<div id="tools">${toolRows(view)}</div>
${view.prompts && view.prompts.length > 0 ? markup`<h2>Prompts</h2><p class="soft">${view.prompts.map((name) => sanitizeText(name)).join(", ")}</p>` : ""}
</section>`;
}

const COPY_BUTTON = markup`<button type="button" class="js" data-copy>Copy</button>`;

/** Shows the status of requests. */
const STATUS_LINE = markup`<p class="soft" role="status" id="said"></p>`;

/** Outside of any form and without a name, so that no browser submits it. */
function keyField(hint: string): Markup {
  return markup`<div class="card"><p>${hint}</p>
<noscript><p><small>Without script, put your key in place of YOUR_KEY below.</small></p></noscript>
<p class="js"><label for="key"><small>Your key. It stays on this page and is sent only to the address above.</small></label></p>
<div class="line js"><input id="key" type="password" autocomplete="off" spellcheck="false" maxlength="4096" placeholder="tnt_…"><button type="button" class="go" id="use">Show tools</button></div>${STATUS_LINE}</div>`;
}

/** One version of the instructions. The page shows one of two, depending on whether a key is needed or was entered. */
interface Variant {
  readonly audience: "keyed" | "unkeyed";
  readonly endpoint: ClientEndpoint;
}

function variants({ access, id, url }: BlockView): readonly Variant[] {
  const createVariant = (shownTo: Variant["audience"], clientAccess: Access): Variant => ({
    audience: shownTo,
    endpoint: { name: id, url, access: clientAccess },
  });
  const unkeyed = createVariant("unkeyed", { kind: access === "login" ? "login" : "open" });
  const keyed = createVariant("keyed", { kind: "key", key: KEY_PLACEHOLDER });
  if (access === "open") return [unkeyed];
  return access === "key" ? [keyed] : [unkeyed, keyed];
}

/** A link that opens the client's program, which adds the endpoint. */
function installLink({ client, title, snippet }: Recipe, { audience, endpoint }: Variant): Markup[] {
  const { link } = snippet(endpoint);
  if (link === undefined) return [];
  return [markup`<a class="add ${audience}" data-client="${client}" href="${link}">Add to ${title}</a>`];
}

function tab({ client, title, snippet }: Recipe, view: BlockView, isFirst: boolean): Markup {
  const panels = variants(view).map(({ audience, endpoint }) => {
    const { file, text, steps } = snippet(endpoint);
    return markup`<div class="copied ${audience}"><p class="line"><small>${file ?? ""}</small>${COPY_BUTTON}</p><pre class="text">${markKeyPlaceholder(text)}</pre><p class="soft">${steps.join(" ")}</p></div>`;
  });
  return markup`<input type="radio" name="client" id="for-${client}"${isFirst ? CHECKED : ""}><label for="for-${client}">${title}</label><div class="panel">${panels}</div>`;
}

const CHECKED = markup` checked`;

/** The script replaces the placeholder by the key. */
function markKeyPlaceholder(text: string): readonly Markup[] {
  return text
    .split(KEY_PLACEHOLDER)
    .map((part, at) => (at === 0 ? markup`${part}` : markup`<i>${KEY_PLACEHOLDER}</i>${part}`));
}

function toolRows({ tools, access }: BlockView): Markup | readonly Markup[] {
  if (tools === undefined) {
    return markup`<p class="soft">${access === "login" ? "A client lists them after you sign in." : "Enter a key above to list them."}</p>`;
  }
  if (tools.length === 0) return markup`<p class="soft">None.</p>`;
  const hiddenCount = tools.length - MAX_TOOLS;
  const remainder =
    hiddenCount > 0 ? [markup`<p class="soft">And ${`${hiddenCount}`} more, which clients list.</p>`] : [];
  const rows = tools.slice(0, MAX_TOOLS).map(({ name, title, description, annotations }) => {
    const label = sanitizeText(textOf(title));
    const titleMarkup = label === "" || label === name ? "" : markup` <bdi>${label}</bdi>`;
    return markup`<details data-name="${name}"><summary><code>${sanitizeText(name)}</code>${titleMarkup}${isObject(annotations) && annotations["readOnlyHint"] === true ? TRY_TAG : ""}</summary><p class="soft">${sanitizeText(textOf(description), 600)}</p></details>`;
  });
  return [...rows, ...remainder];
}

/** Most tools listed on the page: people do not read longer lists. */
const MAX_TOOLS = 300;

const TRY_TAG = markup`<small class="tag js">try it</small>`;

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
