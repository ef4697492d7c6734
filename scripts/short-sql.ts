// SQL without the white space that only people read, in a program that is parsed. Touches whole texts that begin as a
// statement does, and in them nothing that is quoted; leaves as it is what has a comment, or a name in quotation marks, in it.

const STATEMENT = /^\s*(CREATE|SELECT|INSERT|UPDATE|DELETE|WITH|ALTER|DROP)\s/;
/** A comment ends with its line; what is in quotation marks may be anything. */
const LEFT_ALONE = /--|\/\*|["`[\\]/;

export function shortSql(text: string): string {
  if (!STATEMENT.test(text) || LEFT_ALONE.test(text)) return text;
  // Every other part is quoted.
  const parts = text.trim().split(/('[^']*')/);
  return parts.map((part, at) => (at % 2 === 1 ? part : withoutSpace(part))).join("");
}

function withoutSpace(sql: string): string {
  return sql.replaceAll(/\s+/g, " ").replaceAll(/ ?([(),=<>]) ?/g, "$1");
}

/** In all of a syntax tree, in place. What is put into a template might be quoted there: such a template is left alone. */
export function shortenSql(tree: unknown): void {
  if (typeof tree !== "object" || tree === null) return;
  if (isText(tree)) Object.assign(tree, { value: shortSql(tree.value), raw: null });
  if (isTemplate(tree) && tree.quasis.length === 1) {
    for (const text of tree.quasis)
      if (text.cooked === text.raw) Object.assign(text, { cooked: shortSql(text.raw), raw: shortSql(text.raw) });
  }
  for (const part of Object.values(tree)) shortenSql(part);
}

function isText(node: object): node is { value: string } {
  return "type" in node && node.type === "StringLiteral";
}

function isTemplate(node: object): node is { quasis: { cooked: string; raw: string }[] } {
  return "type" in node && node.type === "TemplateLiteral";
}
