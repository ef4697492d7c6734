// Which top-level statements of a module must stand before which others, so that nobody can tell when they are moved:
// whatever runs code stays in its order, and whatever only makes a value stays on the same side of the code that might look
// at it. Functions may stand anywhere: they are there before anything runs. What is not known here is taken to run.

import type { Module, ModuleItem } from "@swc/core";

export interface Statement {
  readonly item: ModuleItem;
  readonly text: string;
  /** Those that must stand before it. */
  readonly after: Set<Statement>;
}

/** A node of the syntax tree, of whatever type. */
interface Node {
  readonly type: string;
  readonly [member: string]: unknown;
}

interface Parts {
  readonly kind: "function" | "value" | "runs";
  /** The name that it declares, where it is a declaration of one. */
  readonly name?: string;
  /** Names anywhere in it. */
  readonly mentions: ReadonlySet<string>;
  /** Of a value: names outside of functions, which are read when it is made. */
  readonly reads: ReadonlySet<string>;
}

interface Piece extends Parts, Statement {
  /** Where it stood. */
  readonly at: number;
}

/** `code` begins with its first statement, as a minifier writes it. Variables that are declared together come one by one. */
export function movableStatements(module: Module, code: string): Statement[] {
  const bytes = Buffer.from(code);
  const again = declaredAgain(module);
  const assigned = new Set([...assignedNames(module), ...again, ...ownCollections(module)]);
  const pieces = module.body.flatMap(separated).map((item, at): Piece => {
    const { start, end } = item.span;
    const text = bytes.toString("utf8", start - module.span.start, end - module.span.start);
    const parts = partsOf(item as unknown as Node);
    // What a variable holds that is assigned to depends on when it is read; to declare it again is to assign to it.
    const isLate = [...parts.reads].some((name) => assigned.has(name)) || again.has(parts.name ?? "");
    const kind = isLate ? "runs" : parts.kind;
    return { ...parts, kind, item, text, at, after: new Set() };
  });
  keepOrder(pieces);
  return pieces;
}

function separated(item: ModuleItem): ModuleItem[] {
  if (item.type !== "VariableDeclaration") return [item];
  return item.declarations.map((one) => ({ ...item, span: one.span, declarations: [one] }));
}

function partsOf(item: Node): Parts {
  const mentions = namesIn(item);
  const none = new Set<string>();
  if (item.type === "FunctionDeclaration") {
    return { kind: "function", name: nameOf(item["identifier"] as Node), mentions, reads: none };
  }
  const [variable] = item.type === "VariableDeclaration" ? (item["declarations"] as Node[]) : [];
  const id = variable?.["id"] as Node | undefined;
  if (id?.type !== "Identifier") return { kind: "runs", mentions, reads: none };
  const init = variable?.["init"] as Node | null;
  if (init !== null && !isOnlyMade(init)) return { kind: "runs", name: nameOf(id), mentions, reads: none };
  return { kind: "value", name: nameOf(id), mentions, reads: namesIn(init, isLater) };
}

function keepOrder(pieces: readonly Piece[]): void {
  const owners = ownersOf(pieces);
  const named = (names: ReadonlySet<string>): Piece[] => [...names].flatMap((name) => owners.get(name) ?? []);
  const keep = (one: Piece, other: Piece): void => {
    if (one.at < other.at) other.after.add(one);
    if (other.at < one.at) one.after.add(other);
  };
  for (const value of pieces.filter(({ kind }) => kind === "value")) {
    for (const read of named(value.reads)) if (read.kind !== "function") keep(value, read);
  }
  // What one of them could reach, a later one might: the first may have left a function somewhere that the later one calls.
  const reached = new Set<Piece>();
  for (const running of pieces.filter(({ kind }) => kind === "runs")) {
    reached.add(running);
    for (const piece of reached) {
      for (const next of named(piece.mentions)) reached.add(next);
      if (piece.kind !== "function") keep(piece, running);
    }
  }
}

/** Names that nobody declares by a statement of its own, as in `for (var name …)`, belong to the first that mentions them. */
function ownersOf(pieces: readonly Piece[]): Map<string, Piece> {
  const owners = new Map<string, Piece>();
  for (const piece of pieces) if (piece.name !== undefined) owners.set(piece.name, piece);
  for (const piece of pieces.filter(({ name }) => name === undefined)) {
    for (const name of piece.mentions) if (!owners.has(name)) owners.set(name, piece);
  }
  return owners;
}

const LITERALS = ["StringLiteral", "NumericLiteral", "BooleanLiteral", "NullLiteral", "BigIntLiteral", "RegExpLiteral"];
const FUNCTIONS = ["FunctionExpression", "ArrowFunctionExpression"];
const METHODS = ["ClassMethod", "PrivateMethod", "Constructor", "MethodProperty", "GetterProperty", "SetterProperty"];
const FIELDS = ["ClassProperty", "PrivateProperty"];

/** Of the platform: making one runs nothing of the module. */
const COLLECTIONS = ["Map", "Set", "WeakMap", "WeakSet"];

/** Whether nothing runs when it is evaluated, so that only the values of the variables in it count, not the time. */
function isOnlyMade(node: Node): boolean {
  const members = (name: string): Node[] => node[name] as Node[];
  switch (node.type) {
    case "ParenthesisExpression":
      return isOnlyMade(node["expression"] as Node);
    case "UnaryExpression":
      return LITERALS.includes((node["argument"] as Node).type);
    case "TemplateLiteral":
      return members("expressions").length === 0;
    case "NewExpression":
      return isCollection(node);
    case "ArrayExpression":
      return members("elements").every((one: Node | null) => one === null || isItem(one));
    case "ObjectExpression":
      return members("properties").every(isMember);
    case "ClassExpression":
      return isParent(node["superClass"] as Node | null) && members("body").every(isMember);
    default:
      return node.type === "Identifier" || LITERALS.includes(node.type) || FUNCTIONS.includes(node.type);
  }
}

function isItem(element: Node): boolean {
  return element["spread"] === null && isOnlyMade(element["expression"] as Node);
}

/** With nothing in it, or with what stands there: what another variable holds may be another thing at another time. */
function isCollection({ callee, arguments: given }: Node): boolean {
  const kind = String((callee as Node)["value"]);
  if ((callee as Node).type !== "Identifier" || !COLLECTIONS.includes(kind)) return false;
  const [list, more] = (given ?? []) as { spread: unknown; expression: Node }[];
  if (list === undefined) return true;
  if (more !== undefined || list.spread !== null) return false;
  if (!isList(list.expression)) return false;
  const elements = list.expression["elements"] as { expression: Node }[];
  return kind === "Set" || (kind === "Map" && elements.every(({ expression }) => isList(expression)));
}

function isList(node: Node): boolean {
  return node.type === "ArrayExpression" && !(node["elements"] as unknown[]).includes(null) && isOnlyMade(node);
}

function isParent(parent: Node | null): boolean {
  return parent === null || parent.type === "Identifier";
}

/** Of an object or a class. */
function isMember(member: Node): boolean {
  if ((member["key"] as Node | undefined)?.type === "Computed") return false;
  if (member.type === "KeyValueProperty") return isOnlyMade(member["value"] as Node);
  if (FIELDS.includes(member.type))
    return isLater(member) || member["value"] === null || isOnlyMade(member["value"] as Node);
  return member.type === "Identifier" || member.type === "EmptyStatement" || METHODS.includes(member.type);
}

/** What is evaluated when somebody calls it, and not where it stands. */
function isLater(node: Node): boolean {
  if (FIELDS.includes(node.type)) return node["isStatic"] === false;
  return FUNCTIONS.includes(node.type) || METHODS.includes(node.type);
}

function assignedNames(module: Module): Set<string> {
  const names = new Set<string>();
  for (const node of nodesIn(module)) {
    const target = ["AssignmentExpression", "ForInStatement", "ForOfStatement"].includes(node.type)
      ? node["left"]
      : node.type === "UpdateExpression" && node["argument"];
    for (const name of namesIn(target)) names.add(name);
  }
  return names;
}

/** By `var`, which may say so as often as it likes, and in patterns. */
function declaredAgain(module: Module): Set<string> {
  const once = new Set<string>();
  const again = new Set<string>();
  for (const node of nodesIn(module)) {
    if (node.type !== "VariableDeclarator") continue;
    for (const name of namesIn(node["id"])) (once.has(name) ? again : once).add(name);
  }
  return again;
}

/** What the module calls as the platform calls a collection. */
function ownCollections(module: Module): Set<string> {
  const declared = [...nodesIn(module)].map(({ id, identifier, local }) => [id, identifier, local]);
  return new Set([...namesIn(declared)].filter((name) => COLLECTIONS.includes(name.split(" ")[0] ?? "")));
}

function namesIn(tree: unknown, isLeftOut?: (node: Node) => boolean): Set<string> {
  const names = new Set<string>();
  // The name of a member is not a variable, and has no scope.
  for (const node of nodesIn(tree, isLeftOut))
    if (node.type === "Identifier" && "ctxt" in node) names.add(nameOf(node));
  return names;
}

/** Variables of the same name in different scopes are different ones. */
function nameOf(identifier: Node): string {
  return `${String(identifier["value"])} ${String(identifier["ctxt"])}`;
}

function* nodesIn(tree: unknown, isLeftOut: (node: Node) => boolean = () => false): Generator<Node> {
  if (typeof tree !== "object" || tree === null) return;
  if ("type" in tree) {
    if (isLeftOut(tree as Node)) return;
    yield tree as Node;
  }
  for (const part of Object.values(tree)) yield* nodesIn(part, isLeftOut);
}
