// HTML templates. Every interpolated string is escaped, so that it is text and nothing else.

/** HTML that `markup` created; it is not escaped again. */
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
