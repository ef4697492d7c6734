// Matches URIs against RFC 6570 templates and extracts the variables. Does not expand templates. Matching is memoized
// by (part, position) and counts its steps, so its cost is bounded for every template.
// https://www.rfc-editor.org/rfc/rfc6570

import { normalizeLiteral } from "./uri.ts";

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
/** Steps of one match, some tens of milliseconds: more than three greedy variables need on the longest URI. */
const MAX_STEPS = 500_000;

export interface UriTemplate {
  readonly template: string;
  readonly variables: readonly string[];
  /** The start of every matching URI. */
  readonly literalPrefix: string;
  /** Matches every URI that the template does, and possibly more. */
  readonly glob: string;
  /** The variable whose plain value follows the prefix directly, if there is one. */
  readonly leadingVariable: string | undefined;
  match(uri: string): Record<string, string> | undefined;
}

export function parseUriTemplate(template: string): UriTemplate | { readonly broken: string } {
  const parts = parseParts(template);
  if ("broken" in parts) return parts;
  const variables = parts.flatMap((part) => ("literal" in part ? [] : part.variables.map((variable) => variable.name)));
  if (new Set(variables).size !== variables.length)
    return { broken: "a variable must not occur twice in the template" };
  if (variables.length > MAX_VARIABLES) return { broken: `a template must have at most ${MAX_VARIABLES} variables` };
  const normal = normalizeLiterals(parts);
  if ("broken" in normal) return normal;
  return {
    template,
    variables,
    literalPrefix: prefixOf(normal),
    glob: normal.map((part) => ("literal" in part ? part.literal : "*")).join(""),
    leadingVariable: leadingVariable(normal),
    match: (uri) => matchParts(normal, uri),
  };
}

/** URIs are compared in normal form, so the template's own characters are normalized too. */
function normalizeLiterals(parts: readonly Part[]): readonly Part[] | { readonly broken: string } {
  const normal: Part[] = [];
  for (const [index, part] of parts.entries()) {
    const literal = "literal" in part ? normalizeLiteral(part.literal, index === 0) : undefined;
    if ("literal" in part && literal === undefined) return { broken: `"${part.literal}" is not allowed in a URI` };
    normal.push(literal === undefined ? part : { literal });
  }
  return normal;
}

function prefixOf([head]: readonly Part[]): string {
  return head && "literal" in head ? head.literal : "";
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

/** RFC 6570 section 2.3 and 2.4: a name of varchars with single dots between them, and a modifier. */
const VARIABLE = /^((?:\w|%[0-9A-Fa-f]{2})(?:\.?(?:\w|%[0-9A-Fa-f]{2}))*)(\*|:([1-9]\d{0,3}))?$/;

function parseExpression(text: string): Expression | { readonly broken: string } {
  const sign = /^[+#./;?&]/.exec(text)?.[0] ?? "";
  const operator = OPERATORS[sign];
  if (operator === undefined) return { broken: `{${text}} has an unknown operator` };
  const variables: Variable[] = [];
  for (const spec of text.slice(sign.length).split(",")) {
    const match = VARIABLE.exec(spec);
    if (!match?.[1]) return { broken: `{${text}} is not an expression of RFC 6570` };
    variables.push({
      name: match[1],
      explode: match[2] === "*",
      prefix: match[3] === undefined ? undefined : Number(match[3]),
    });
  }
  return { operator, variables };
}

type Bindings = Record<string, string>;

interface Rest {
  (end: number): Bindings | undefined;
}

/** Backtracks over the parts. `memo` stores the result of matching the rest of the parts from a position on. */
function matchParts(parts: readonly Part[], uri: string): Bindings | undefined {
  const memo = new Map<number, Bindings | null>();
  const steps = { left: MAX_STEPS };
  const walk = (index: number, at: number): Bindings | undefined => {
    const part = parts[index];
    if (part === undefined) return at === uri.length ? {} : undefined;
    const key = index * (uri.length + 1) + at;
    const memoized = memo.get(key);
    if (memoized !== undefined) return memoized ?? undefined;
    const rest: Rest = (end) => walk(index + 1, end);
    const found = "literal" in part ? walkLiteral(part, uri, at, rest) : walkExpression(part, { uri, at, steps }, rest);
    memo.set(key, found ?? null);
    return found;
  };
  return walk(0, 0);
}

function walkLiteral({ literal }: Literal, uri: string, at: number, rest: Rest): Bindings | undefined {
  return uri.startsWith(literal, at) ? rest(at + literal.length) : undefined;
}

interface Occurrence {
  readonly uri: string;
  readonly at: number;
  readonly steps: { left: number };
}

/** Tries every end of the expression, the furthest first. If the steps run out, the URI does not match. */
function walkExpression(part: Expression, { uri, at, steps }: Occurrence, rest: Rest): Bindings | undefined {
  for (let end = expressionReach(part, uri, at); end >= at && steps.left > 0; end -= 1) {
    steps.left -= 1;
    // The memoized rest is tried first: extracting the variables costs more, and is only worth it if the rest matches.
    const after = rest(end);
    if (after === undefined) continue;
    steps.left -= end - at;
    const bound = bind(part, uri.slice(at, end));
    if (bound !== undefined) return { ...bound, ...after };
  }
  return undefined;
}

/** Characters that end a value unless they are escaped. */
const DELIMITERS = "/?#&;=,";

/**
 * How far the expression can reach: to a delimiter that is not its own, or to the separator after its last variable.
 * Without this bound there would be far too many ways to divide a URI among optional expressions.
 */
function expressionReach({ operator, variables }: Expression, uri: string, at: number): number {
  const { first, separator, named, reserved } = operator;
  if (!uri.startsWith(first, at)) return at;
  if (reserved) return uri.length;
  let separators = variables.some((variable) => variable.explode) ? Number.POSITIVE_INFINITY : variables.length - 1;
  let end = at + first.length;
  for (; end < uri.length; end += 1) {
    const char = uri.charAt(end);
    if (!DELIMITERS.includes(char) || (named && char === "=")) continue;
    if (char !== separator || separators === 0) break;
    separators -= 1;
  }
  return end;
}

function bind(part: Expression, text: string): Bindings | undefined {
  const { operator, variables } = part;
  if (text === "") return operator.first === "" ? undefined : {};
  if (!text.startsWith(operator.first)) return undefined;
  const body = text.slice(operator.first.length);
  return operator.named ? bindNamed(part, body) : bindPositional(operator, variables, body);
}

/** Without a prototype, so that a variable may have any name, even `__proto__`. */
function nothingBound(): Bindings {
  return Object.create(null) as Bindings;
}

function bindPositional(operator: Operator, variables: readonly Variable[], body: string): Bindings | undefined {
  const bound = nothingBound();
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
  const bound = nothingBound();
  for (const pair of body.split(operator.separator)) {
    const equals = pair.indexOf("=");
    const name = equals < 0 ? pair : pair.slice(0, equals);
    const variable = variables.find((candidate) => candidate.name === name);
    if (!variable) return undefined;
    const before = bound[name];
    if (before !== undefined && !variable.explode) return undefined;
    // An empty value is `name=` in a query and `name` alone in path parameters; RFC 6570 section 3.2.7.
    if (equals < 0 ? operator.first === ";" : equals === pair.length - 1) bound[name] = "";
    else if (equals < 0 || !setValue(bound, variable, pair.slice(equals + 1), false)) return undefined;
    if (before !== undefined) bound[name] = `${before},${bound[name]}`;
  }
  return bound;
}

/** `delimiters`: the raw value may contain them. Returns false if the text is not a valid value of the variable. */
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
