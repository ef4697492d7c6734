// Owns a person at a browser without scripts, over real HTTP: cookies, redirects, and the forms of pages. It stops where a
// redirect leads to somebody whose page nobody is asked for: the client's. Refuses to follow more than a browser would.

/** A page as it came. */
export interface BrowserPage {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly html: string;
}

/** Where the browser was sent, and never went. */
export interface SentAway {
  readonly to: URL;
}

/** Where a client of a test is answered. */
export const CLIENT_AT = "http://127.0.0.1:33418/callback";

/** `signIn`: what a person does at the URL; gives where the browser was sent at last. */
export type SignInAt = (url: URL) => Promise<URL>;

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
}

const MOST_REDIRECTS = 20;

export class PersonAtBrowser {
  /** What redirects lead to here is the client's: it is told, not asked for. */
  readonly #clientAt: string;
  readonly #cookies = new Map<string, Map<string, Cookie>>();

  constructor(clientAt: string) {
    this.#clientAt = clientAt;
  }

  open(url: string | URL): Promise<BrowserPage | SentAway> {
    return this.#go(new URL(url), { method: "GET" });
  }

  /**
   * Submits the form that has the button, filled in with `values` beside what the page has put in; a box that is not
   * named stays as it is, one whose value is null is unticked.
   */
  submit(
    page: BrowserPage,
    button: string,
    values: Readonly<Record<string, string | null>> = {},
  ): Promise<BrowserPage | SentAway> {
    const form = formsOf(page.html).find(({ buttons }) => buttons.some(({ label }) => label.includes(button)));
    if (!form) throw new Error(`no form has a button "${button}": ${textOf(page.html)}`);
    const fields = form.fields.filter(([name]) => values[name] !== null && !(name in values));
    const given = Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== null);
    const pressed = form.buttons.find(({ label }) => label.includes(button));
    const own: [string, string][] = pressed?.name === undefined ? [] : [[pressed.name, pressed.value]];
    const body = new URLSearchParams([...fields, ...given, ...own]);
    const action = new URL(form.action || page.url, page.url);
    const origin = new URL(page.url).origin;
    if (form.method === "get") {
      action.search = body.toString();
      return this.#go(action, { method: "GET" });
    }
    const isSame = action.origin === origin;
    const headers = { origin, "sec-fetch-site": isSame ? "same-origin" : "cross-site" };
    return this.#go(action, { method: "POST", body, headers });
  }

  async #go(url: URL, init: RequestInit, redirects = 0): Promise<BrowserPage | SentAway> {
    if (url.href.startsWith(this.#clientAt)) return { to: url };
    if (redirects > MOST_REDIRECTS) throw new Error(`redirected in a circle, at ${url.href}`);
    const headers = new Headers({
      accept: "text/html,*/*;q=0.8",
      "sec-fetch-site": "none",
      "sec-fetch-mode": "navigate",
    });
    new Headers(init.headers).forEach((value, name) => headers.set(name, value));
    const cookies = [...(this.#cookies.get(url.host)?.values() ?? [])].filter(({ path }) =>
      url.pathname.startsWith(path),
    );
    if (cookies.length > 0) headers.set("cookie", cookies.map(({ name, value }) => `${name}=${value}`).join("; "));
    const response = await fetch(url, { ...init, headers, redirect: "manual" });
    for (const line of response.headers.getSetCookie()) this.#keep(url.host, line);
    const location = response.headers.get("location");
    const html = await response.text();
    if (response.status < 300 || response.status > 399 || location === null) {
      return { url: url.href, status: response.status, headers: response.headers, html };
    }
    return this.#go(new URL(location, url), { method: "GET" }, redirects + 1);
  }

  #keep(host: string, line: string): void {
    const [pair = "", ...attributes] = line.split(";").map((part) => part.trim());
    const at = pair.indexOf("=");
    const name = pair.slice(0, at);
    const value = pair.slice(at + 1);
    const path = attributes.find((one) => /^path=/i.test(one))?.slice(5) ?? "/";
    const isOver = attributes.some((one) => /^max-age=0$/i.test(one));
    const kept = this.#cookies.get(host) ?? new Map<string, Cookie>();
    if (isOver) kept.delete(name);
    else kept.set(name, { name, value, path });
    this.#cookies.set(host, kept);
  }
}

export function isPage(arrived: BrowserPage | SentAway): arrived is BrowserPage {
  return "html" in arrived;
}

interface Form {
  readonly action: string;
  readonly method: string;
  readonly fields: readonly [name: string, value: string][];
  readonly buttons: readonly { readonly label: string; readonly name: string | undefined; readonly value: string }[];
}

function formsOf(html: string): readonly Form[] {
  return [...html.matchAll(/<form\b([^>]*)>(.*?)<\/form>/gis)].map(([, attributes = "", inner = ""]) => ({
    action: attribute(attributes, "action") ?? "",
    method: (attribute(attributes, "method") ?? "get").toLowerCase(),
    fields: [...inner.matchAll(/<input\b([^>]*)>/gi)].flatMap(([, own = ""]) => fieldOf(own)),
    buttons: [...inner.matchAll(/<button\b([^>]*)>(.*?)<\/button>/gis)].map(([, own = "", label = ""]) => ({
      label: textOf(label),
      name: attribute(own, "name"),
      value: attribute(own, "value") ?? "",
    })),
  }));
}

function fieldOf(attributes: string): [string, string][] {
  const name = attribute(attributes, "name");
  const isBox = /\btype="?(checkbox|radio)/i.test(attributes);
  if (name === undefined || (isBox && !/\bchecked\b/i.test(attributes))) return [];
  return [[name, attribute(attributes, "value") ?? (isBox ? "on" : "")]];
}

function attribute(attributes: string, name: string): string | undefined {
  const found = new RegExp(String.raw`(?:^|\s)${name}=(?:"([^"]*)"|'([^']*)'|([^\s>]+))`, "i").exec(attributes);
  const value = found?.[1] ?? found?.[2] ?? found?.[3];
  return value === undefined ? undefined : decoded(value);
}

/** What a person reads. */
export function textOf(html: string): string {
  const plain = html.replaceAll(/<style\b.*?<\/style>/gis, " ").replaceAll(/<[^>]+>/g, " ");
  return decoded(plain).replaceAll(/\s+/g, " ").trim();
}

function decoded(text: string): string {
  const named: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };
  return text
    .replaceAll(/&#(\d+);/g, (_all, code: string) => String.fromCodePoint(Number(code)))
    .replaceAll(/&#x([0-9a-f]+);/gi, (_all, code: string) => String.fromCodePoint(Number.parseInt(code, 16)))
    .replaceAll(/&([a-z]+);/g, (all, name: string) => named[name] ?? all);
}

/** Signs in where a form asks who it is, filled in with `values`, and allows what is asked. */
export function signingIn(values: Readonly<Record<string, string>>, clientAt = CLIENT_AT): SignInAt {
  return async (url) => {
    const person = new PersonAtBrowser(clientAt);
    const first = onPage(await person.open(url));
    const isAsked = first.html.includes('type="password"');
    const consent = isAsked ? onPage(await person.submit(first, "Sign in", values)) : first;
    const gone = await person.submit(consent, "Allow");
    if (isPage(gone)) throw new Error(`not sent back: ${textOf(gone.html)}`);
    return gone.to;
  };
}

/** The same by a key of the tenant. */
export function byKey(key: string, clientAt?: string): SignInAt {
  return signingIn({ key }, clientAt);
}

export function onPage(arrived: BrowserPage | SentAway): BrowserPage {
  if (isPage(arrived)) return arrived;
  throw new Error(`no page, but sent to ${arrived.to.href}`);
}
