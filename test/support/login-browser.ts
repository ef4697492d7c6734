// A browser without scripts over real HTTP, as far as signing in needs one: cookies, forms as a page has them, and
// redirects, one at a time (`go`, `submit`) or as a person is led (`open`, `press`), up to the client, whose page
// nobody is asked for.

/** A page as it came. */
export interface Page {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  /** As it is written: HTML. */
  readonly text: string;
  /** Where it redirects to; null: it is a page. */
  readonly location: string | null;
}

/** Where the browser was sent, and never went. */
export interface SentAway {
  readonly to: URL;
}

/** Where a client of a test is answered. */
export const CLIENT_AT = "http://127.0.0.1:33418/callback";

/** What a person does at the URL; gives where the browser was sent at last. */
export type SignInAt = (url: URL) => Promise<URL>;

/** In place of what the page has put in; null: a box is unticked. */
type Fields = Readonly<Record<string, string | readonly string[] | null>>;

const MOST_REDIRECTS = 20;
const LED = { accept: "text/html,*/*;q=0.8", "sec-fetch-site": "none", "sec-fetch-mode": "navigate" };

export class LoginBrowser {
  /** By name. What a test puts in is sent everywhere. */
  readonly cookies = new Map<string, string>();
  readonly #places = new Map<string, { readonly hostname: string; readonly path: string }>();
  /** What redirects lead to here is the client's: it is told, not asked for. */
  readonly #clientAt: string;

  constructor(clientAt = CLIENT_AT) {
    this.#clientAt = clientAt;
  }

  /** One request, and the next page of a login where it leads to that. `headers`: in place of what browsers send. */
  async go(url: string | URL, init: RequestInit = {}): Promise<Page> {
    const to = new URL(url);
    const headers = new Headers(init.headers);
    if (!headers.has("accept")) headers.set("accept", "text/html");
    const cookies = [...this.cookies].filter(([name]) => this.#isFor(name, to));
    if (cookies.length > 0) headers.set("cookie", cookies.map(([name, value]) => `${name}=${value}`).join("; "));
    const response = await fetch(to, { redirect: "manual", ...init, headers });
    for (const line of response.headers.getSetCookie()) this.#keep(to, line);
    const { status, headers: answered } = response;
    const location = answered.get("location");
    const next = location === null ? null : new URL(location, to);
    if (next?.origin === to.origin && /\/(?:consent|sign-in)$/.test(next.pathname)) return this.go(next);
    return { url: to.href, status, headers: answered, text: await response.text(), location };
  }

  /** Sends the page's first form, and no more. */
  submit(page: Page, fields: Fields, headers?: Record<string, string>): Promise<Page> {
    const [form] = formsOf(page.text);
    if (!form) throw new Error(`there is no form: ${page.text}`);
    const { action, init } = sending(page, form, fields);
    return this.go(action, { ...init, headers: headers ?? { origin: new URL(page.url).origin } });
  }

  open(url: string | URL): Promise<Page | SentAway> {
    return this.#follow(new URL(url), { headers: LED });
  }

  /** Presses the button, in whichever form it is. A box that is not named stays as it is. */
  press(page: Page, button: string, values: Fields = {}): Promise<Page | SentAway> {
    const form = formsOf(page.text).find(({ buttons }) => buttons.some(({ label }) => label.includes(button)));
    if (!form) throw new Error(`no form has a button "${button}": ${textOf(page.text)}`);
    const pressed = form.buttons.find(({ label }) => label.includes(button));
    const own = pressed?.name === undefined ? {} : { [pressed.name]: pressed.value };
    const { action, init } = sending(page, form, { ...values, ...own });
    if (init.method === "GET") return this.#follow(action, { headers: LED });
    const { origin } = new URL(page.url);
    const site = action.origin === origin ? "same-origin" : "cross-site";
    return this.#follow(action, { ...init, headers: { ...LED, origin, "sec-fetch-site": site } });
  }

  async #follow(url: URL, init: RequestInit, redirects = 0): Promise<Page | SentAway> {
    if (url.href.startsWith(this.#clientAt)) return { to: url };
    if (redirects > MOST_REDIRECTS) throw new Error(`redirected in a circle, at ${url.href}`);
    const page = await this.go(url, init);
    if (page.status < 300 || page.status > 399 || page.location === null) return page;
    return this.#follow(new URL(page.location, url), { headers: LED }, redirects + 1);
  }

  #isFor(name: string, { hostname, pathname }: URL): boolean {
    const place = this.#places.get(name);
    return !place || (place.hostname === hostname && pathname.startsWith(place.path));
  }

  #keep({ hostname }: URL, line: string): void {
    const [pair = "", ...attributes] = line.split(";").map((part) => part.trim());
    const at = pair.indexOf("=");
    const name = pair.slice(0, at);
    const path = attributes.find((one) => /^path=/i.test(one))?.slice(5) ?? "/";
    this.#places.set(name, { hostname, path });
    if (attributes.some((one) => /^max-age=0$/i.test(one))) this.cookies.delete(name);
    else this.cookies.set(name, pair.slice(at + 1));
  }
}

export function isPage(arrived: Page | SentAway): arrived is Page {
  return "text" in arrived;
}

export function onPage(arrived: Page | SentAway): Page {
  if (isPage(arrived)) return arrived;
  throw new Error(`no page, but sent to ${arrived.to.href}`);
}

interface Form {
  readonly action: string;
  readonly method: string;
  readonly fields: readonly [name: string, value: string][];
  readonly buttons: readonly { readonly label: string; readonly name: string | undefined; readonly value: string }[];
}

function sending(page: Page, form: Form, given: Fields): { action: URL; init: RequestInit } {
  const kept = form.fields.filter(([name]) => !(name in given));
  const more = Object.entries(given).flatMap(([name, value]) =>
    value === null ? [] : [value].flat().map((one) => [name, one] as [string, string]),
  );
  const body = new URLSearchParams([...kept, ...more]);
  const action = new URL(form.action || page.url, page.url);
  if (form.method === "post") return { action, init: { method: "POST", body } };
  action.search = body.toString();
  return { action, init: { method: "GET" } };
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
    const person = new LoginBrowser(clientAt);
    const first = onPage(await person.open(url));
    const isAsked = first.text.includes('type="password"');
    const consent = isAsked ? onPage(await person.press(first, "Sign in", values)) : first;
    const gone = await person.press(consent, "Allow");
    if (isPage(gone)) throw new Error(`not sent back: ${textOf(gone.text)}`);
    return gone.to;
  };
}

/** The same by a key of the tenant. */
export function byKey(key: string, clientAt?: string): SignInAt {
  return signingIn({ key }, clientAt);
}
