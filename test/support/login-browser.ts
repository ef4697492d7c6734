// Owns a browser as far as signing in needs one: cookies, forms as a page has them, and redirects that it stops at. Refuses
// scripts: no page of login has any.

export interface Page {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Where it redirects to; null: it is a page. */
  readonly location: string | null;
}

interface Form {
  readonly action: string;
  readonly fields: readonly (readonly [name: string, value: string])[];
}

export class LoginBrowser {
  readonly cookies = new Map<string, string>();

  /** `headers`: in place of what browsers send. */
  async go(url: string, init: RequestInit = {}): Promise<Page> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { accept: "text/html", ...(cookie && { cookie }), ...(init.headers as Record<string, string>) };
    const response = await fetch(url, { redirect: "manual", ...init, headers });
    for (const one of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(one) ?? [];
      if (/max-age=0/i.test(one)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    const { status } = response;
    return {
      status,
      headers: response.headers,
      text: await response.text(),
      location: response.headers.get("location"),
    };
  }

  /** Sends the page's first form, with these fields in place of its own. */
  submit(
    page: Page,
    fields: Record<string, string | readonly string[]>,
    headers?: Record<string, string>,
  ): Promise<Page> {
    const form = formOf(page);
    const { origin } = new URL(form.action);
    const kept = form.fields.filter(([name]) => !(name in fields));
    const given = Object.entries(fields).flatMap(([name, value]) =>
      [value].flat().map((one) => [name, one] as [string, string]),
    );
    const body = new URLSearchParams([...kept.map(([name, value]) => [name, value]), ...given]);
    return this.go(form.action, { method: "POST", body, headers: headers ?? { origin } });
  }
}

/** Hidden fields, and boxes that are ticked. */
export function formOf({ text }: Page): Form {
  const action = /<form[^>]* action="([^"]*)"/.exec(text)?.[1];
  if (action === undefined) throw new Error(`there is no form: ${text}`);
  const inputs = [...text.matchAll(/<input ([^>]*)>/g)].map(([, attributes = ""]) => {
    const valueOf = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(attributes)?.[1];
    return {
      type: valueOf("type"),
      name: valueOf("name") ?? "",
      value: valueOf("value") ?? "on",
      checked: / checked/.test(attributes),
    };
  });
  const sent = inputs.filter(({ type, checked }) => type === "hidden" || (type === "checkbox" && checked));
  return { action: plain(action), fields: sent.map(({ name, value }) => [plain(name), plain(value)] as const) };
}

function plain(text: string): string {
  return text.replace(/&#(\d+);/g, (_all, code: string) => String.fromCodePoint(Number(code)));
}
