// Owns RFC 6570 templates the server's way round: does this URI match, and with which variables.
// Matching is memoised over (part, position), so its cost is bounded whatever the template says.
// https://www.rfc-editor.org/rfc/rfc6570

interface Variable {
  readonly name: string;
  readonly explode: boolean;
  readonly prefix: number | undefined;
}

interface Operator {
  readonly first: string;
  readonly separator: string;
  readonly named: boolean;
  readonly reserved: boolean;
}

interface Literal {
  readonly literal: string;
}

interface Expression {
  readonly operator: Operator;
  readonly variables: readonly Variable[];
}

type Part = Literal | Expression;

/** RFC 6570 appendix A; the key is the operator character. */
const OPERATORS: Readonly<Record<string, Operator>> = {
  "": { first: "", separator: ",", named: false, reserved: false },
  "+": { first: "", separator: ",", named: false, reserved: true },
  "#": { first: "#", separator: ",", named: false, reserved: true },
  ".": { first: ".", separator: ".", named: false, reserved: false },
  "/": { first: "/", separator: "/", named: false, reserved: false },
  ";": { first: ";", separator: ";", named: true, reserved: false },
  "?": { first: "?", separator: "&", named: true, reserved: false },
  "&": { first: "&", separator: "&", named: true, reserved: false },
};

const MAX_VARIABLES = 32;

export interface UriTemplate {
  readonly template: string;
  readonly variables: readonly string[];
  /** What every matching URI starts with. */
  readonly literalPrefix: string;
  /** The variable whose plain value follows the prefix directly, if there is one. */
  readonly leadingVariable: string | undefined;
  match(uri: string): Record<string, string> | undefined;
}

export function parseUriTemplate(template: string): UriTemplate | { readonly broken: string } {
  const parts = parseParts(template);
  if ("broken" in parts) return parts;
  const variables = parts.flatMap((part) => ("literal" in part ? [] : part.variables.map((variable) => variable.name)));
  if (new Set(variables).size !== variables.length) return { broken: "a variable stands twice in the template" };
  if (variables.length > MAX_VARIABLES) return { broken: `a template has at most ${MAX_VARIABLES} variables` };
  const [head] = parts;
  return {
    template,
    variables,
    literalPrefix: head && "literal" in head ? head.literal : "",
    leadingVariable: leadingVariable(parts),
    match: (uri) => matchParts(parts, uri),
  };
}

function parseParts(template: string): readonly Part[] | { readonly broken: string } {
  const parts: Part[] = [];
  for (const [whole, literal, expression] of template.matchAll(/([^{}]+)|\{([^{}]*)\}|[{}]/g)) {
    if (literal !== undefined) parts.push({ literal });
    else if (expression !== undefined) {
      const parsed = parseExpression(expression);
      if ("broken" in parsed) return parsed;
      parts.push(parsed);
    } else return { broken: `unbalanced ${whole} in the template` };
  }
  return parts;
}

function leadingVariable([head, next]: readonly Part[]): string | undefined {
  const leading = head && "literal" in head ? next : head;
  const plain =
    leading && "operator" in leading && leading.operator === OPERATORS[""] && leading.variables.length === 1;
  return plain ? leading.variables[0]?.name : undefined;
}

function parseExpression(text: string): Expression | { readonly broken: string } {
  const sign = /^[+#./;?&]/.exec(text)?.[0] ?? "";
  const operator = OPERATORS[sign];
  if (operator === undefined) return { broken: `{${text}} has an unknown operator` };
  const variables: Variable[] = [];
  for (const spec of text.slice(sign.length).split(",")) {
    const found = /^([A-Za-z0-9_.%]+)(\*|:(\d{1,4}))?$/.exec(spec);
    if (!found?.[1]) return { broken: `{${text}} is not an expression of RFC 6570` };
    variables.push({
      name: found[1],
      explode: found[2] === "*",
      prefix: found[3] === undefined ? undefined : Number(found[3]),
    });
  }
  return { operator, variables };
}

type Bindings = Record<string, string>;

function matchParts(parts: readonly Part[], uri: string): Bindings | undefined {
  const dead = new Set<number>();
  const walk = (index: number, at: number): Bindings | undefined => {
    const part = parts[index];
    if (part === undefined) return at === uri.length ? {} : undefined;
    const key = index * (uri.length + 1) + at;
    if (dead.has(key)) return undefined;
    const found =
      "literal" in part
        ? uri.startsWith(part.literal, at)
          ? walk(index + 1, at + part.literal.length)
          : undefined
        : walkExpression(part, uri, at, (end) => walk(index + 1, end));
    if (found === undefined) dead.add(key);
    return found;
  };
  return walk(0, 0);
}

function walkExpression(
  part: Expression,
  uri: string,
  at: number,
  rest: (end: number) => Bindings | undefined,
): Bindings | undefined {
  for (let end = expressionReach(part, uri, at); end >= at; end -= 1) {
    // The memoised rest goes first: reading the variables is the costly half, and only worth it when the rest fits.
    const after = rest(end);
    const bound = after === undefined ? undefined : bind(part, uri.slice(at, end));
    if (bound !== undefined) return { ...bound, ...after };
  }
  return undefined;
}

/** How far the expression's characters go at most; a value's characters stop at a delimiter that is not its own. */
function expressionReach(part: Expression, uri: string, at: number): number {
  if (part.operator.reserved) return uri.length;
  const own = part.operator.first + part.operator.separator + (part.operator.named ? "=" : "");
  let end = at;
  while (end < uri.length && (!"/?#&;=,".includes(uri.charAt(end)) || own.includes(uri.charAt(end)))) end += 1;
  return end;
}

function bind(part: Expression, text: string): Bindings | undefined {
  const { operator, variables } = part;
  if (text === "") return operator.first === "" ? undefined : {};
  if (!text.startsWith(operator.first)) return undefined;
  const body = text.slice(operator.first.length);
  return operator.named ? bindNamed(part, body) : bindPositional(operator, variables, body);
}

function bindPositional(operator: Operator, variables: readonly Variable[], body: string): Bindings | undefined {
  const bound: Bindings = {};
  const single = variables.length === 1 ? variables[0] : undefined;
  if (single) return setValue(bound, single, body, single.explode || operator.reserved) ? bound : undefined;
  const values = body.split(operator.separator);
  if (values.length > variables.length) return undefined;
  for (const [index, value] of values.entries()) {
    const variable = variables[index];
    if (!variable || !setValue(bound, variable, value, operator.reserved)) return undefined;
  }
  return bound;
}

function bindNamed({ operator, variables }: Expression, body: string): Bindings | undefined {
  const bound: Bindings = {};
  for (const pair of body.split(operator.separator)) {
    const equals = pair.indexOf("=");
    const name = equals < 0 ? pair : pair.slice(0, equals);
    const variable = variables.find((candidate) => candidate.name === name);
    if (!variable || variable.name in bound) return undefined;
    if (equals >= 0 && equals === pair.length - 1) bound[name] = "";
    else if (!setValue(bound, variable, equals < 0 ? "" : pair.slice(equals + 1), false)) return undefined;
  }
  return bound;
}

function setValue(bound: Bindings, variable: Variable, raw: string, delimiters: boolean): boolean {
  if (raw === "" || (!delimiters && /[/?#&;=,]/.test(raw))) return false;
  let value: string;
  try {
    value = decodeURIComponent(raw);
  } catch {
    return false;
  }
  if (variable.prefix !== undefined && Array.from(value).length > variable.prefix) return false;
  bound[variable.name] = value;
  return true;
}
