// Owns the text of HTML pages: whatever is put into one is text there, and nothing else. Refuses pages: each has an owner.

/** What `markup` made. */
export interface Markup {
  readonly html: string;
}

export function markup(
  { raw }: TemplateStringsArray,
  ...values: readonly (string | Markup | readonly Markup[])[]
): Markup {
  return { html: String.raw({ raw }, ...values.map(toHtml)) };
}

function toHtml(value: string | Markup | readonly Markup[]): string {
  if (typeof value === "string") return value.replace(/[&<>'"]/g, (one) => `&#${one.charCodeAt(0)};`);
  return [value]
    .flat()
    .map(({ html }) => html)
    .join("");
}
