// Owns the block that connects a person: the endpoint, a field for the key, what each client needs, and the tools. It stands on
// the Worker's own page and in others'. Refuses to decide who sees what: it is told.

import { markup, type Markup } from "../deployment/markup.ts";
import { harmless } from "../login/pages/harmless.ts";
import { isObject } from "../protocol/jsonrpc.ts";
import { KEY_TO_COME, type Access, type EndpointAbout, type Recipe } from "../protocol/connect/recipe.ts";
import { RECIPES } from "../protocol/connect/recipes.ts";

/** `key`: nobody is let in without one; `login`: a client signs its person in, who may have a key too; `more`: so who has one sees more. */
export type ConnectAccess = "open" | "key" | "login" | "more";

export interface BlockTool {
  readonly name: string;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly annotations?: unknown;
}

export interface BlockView {
  readonly url: string;
  /** Under which name clients have it. */
  readonly id: string;
  readonly title: string;
  readonly about?: string | undefined;
  readonly icon?: string | undefined;
  readonly access: ConnectAccess;
  /** What a visitor sees without a key. */
  readonly tools?: readonly BlockTool[];
  readonly prompts?: readonly string[];
}

const USUAL = "Tools for AI clients that speak the Model Context Protocol.";

const WANTED: Readonly<Record<Exclude<ConnectAccess, "open">, string>> = {
  key: "You need a key here: whoever gave you this address can give you one. A mistyped address asks for a key, too.",
  login:
    "Add the address to a client: it opens a page on which you sign in. If you were given a key instead, it goes here.",
  more: "Some of it is for everybody, and more for who signs in from a client or has a key.",
};

export function connectBlock(view: BlockView): Markup {
  const { url, id, access, about = "" } = view;
  const title = harmless(view.title) || id;
  const [initial = ""] = title;
  const icon =
    view.icon === undefined
      ? markup`<b aria-hidden="true">${initial.toUpperCase()}</b>`
      : markup`<img alt="" src="${view.icon}">`;
  return markup`<section id="connect" class="${access === "key" ? "keyed" : ""}" data-url="${url}" data-id="${id}" data-access="${access}">
<header>${icon}<h1><bdi>${title}</bdi></h1></header>
<p class="about">${harmless(about, 600) || USUAL}</p>
<div class="line url copied"><code class="text">${url}</code>${COPY}</div>
${access === "open" ? "" : keyField(WANTED[access])}
<h2>Connect a client</h2>
<p class="adds">${RECIPES.flatMap((recipe) => variants(view).flatMap((one) => installLink(recipe, one)))}</p>
<div class="tabs">${RECIPES.map((recipe, at) => tab(recipe, view, at === 0))}</div>
<h2>Tools</h2>
${access === "open" ? SAID : ""}<div id="tools">${toolRows(view)}</div>
${view.prompts && view.prompts.length > 0 ? markup`<h2>Prompts</h2><p class="soft">${view.prompts.map((name) => harmless(name)).join(", ")}</p>` : ""}
</section>`;
}

const COPY = markup`<button type="button" class="js" data-copy>Copy</button>`;

/** What became of what was asked. */
const SAID = markup`<p class="soft" role="status" id="said"></p>`;

/** Outside of any form, and without a name: no browser sends it anywhere. */
function keyField(why: string): Markup {
  return markup`<div class="card"><p>${why}</p>
<noscript><p><small>Without script, put your key in place of YOUR_KEY below.</small></p></noscript>
<p class="js"><label for="key"><small>Your key. It stays on this page, and is sent to the address above alone.</small></label></p>
<div class="line js"><input id="key" type="password" autocomplete="off" spellcheck="false" maxlength="4096" placeholder="tnt_…"><button type="button" class="go" id="use">Show tools</button></div>${SAID}</div>`;
}

/** What a client is told: the page shows one of two, whether a key is needed or was entered. */
interface Variant {
  readonly shownTo: "keyed" | "unkeyed";
  readonly endpoint: EndpointAbout;
}

function variants({ access, id, url }: BlockView): readonly Variant[] {
  const variant = (shownTo: Variant["shownTo"], by: Access): Variant => ({
    shownTo,
    endpoint: { name: id, url, access: by },
  });
  const unkeyed = variant("unkeyed", { kind: access === "login" ? "login" : "open" });
  const keyed = variant("keyed", { kind: "key", key: KEY_TO_COME });
  if (access === "open") return [unkeyed];
  return access === "key" ? [keyed] : [unkeyed, keyed];
}

/** A link that a client's program opens, and adds the endpoint. */
function installLink({ client, title, snippet }: Recipe, { shownTo, endpoint }: Variant): Markup[] {
  const { link } = snippet(endpoint);
  if (link === undefined) return [];
  return [markup`<a class="add ${shownTo}" data-client="${client}" href="${link}">Add to ${title}</a>`];
}

function tab({ client, title, snippet }: Recipe, view: BlockView, isFirst: boolean): Markup {
  const panels = variants(view).map(({ shownTo, endpoint }) => {
    const { file, text, steps } = snippet(endpoint);
    return markup`<div class="copied ${shownTo}"><p class="line"><small>${file ?? ""}</small>${COPY}</p><pre class="text">${marked(text)}</pre><p class="soft">${steps.join(" ")}</p></div>`;
  });
  return markup`<input type="radio" name="client" id="for-${client}"${isFirst ? CHECKED : ""}><label for="for-${client}">${title}</label><div class="panel">${panels}</div>`;
}

const CHECKED = markup` checked`;

/** The script puts the key in its place. */
function marked(text: string): readonly Markup[] {
  return text.split(KEY_TO_COME).map((part, at) => (at === 0 ? markup`${part}` : markup`<i>${KEY_TO_COME}</i>${part}`));
}

function toolRows({ tools, access }: BlockView): Markup | readonly Markup[] {
  if (tools === undefined) {
    return markup`<p class="soft">${access === "login" ? "A client lists them once you have signed in." : "They are listed once there is a key above."}</p>`;
  }
  if (tools.length === 0) return markup`<p class="soft">None.</p>`;
  const more = tools.length - MOST_TOOLS;
  const rest = more > 0 ? [markup`<p class="soft">And ${`${more}`} more, which clients list.</p>`] : [];
  const rows = tools.slice(0, MOST_TOOLS).map(({ name, title, description, annotations }) => {
    const shown = harmless(textOf(title));
    const called = shown === "" || shown === name ? "" : markup` <bdi>${shown}</bdi>`;
    return markup`<details data-name="${name}"><summary><code>${harmless(name)}</code>${called}${isObject(annotations) && annotations["readOnlyHint"] === true ? TRIED : ""}</summary><p class="soft">${harmless(textOf(description), 600)}</p></details>`;
  });
  return [...rows, ...rest];
}

/** A page that nobody reads to its end need not be longer. */
const MOST_TOOLS = 300;

const TRIED = markup`<small class="tag js">try it</small>`;

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
