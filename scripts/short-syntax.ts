// The same program in shorter syntax, where a look at the place alone shows that it is the same: functions that are called where
// they stand, variables that are declared one after the other, and tries of what cannot fail. The minifier leaves them all.

import type { ModuleItem } from "@swc/core";

/** A node of the syntax tree, of whatever type. */
interface Node {
  readonly type: string;
  readonly [member: string]: unknown;
}

/**
 * In all of a syntax tree, in place: `(function(a){return b})(c)` as `(a=>b)(c)`. Nobody else has the function, to make an
 * object with it or to ask what it is. One that says `this` or `arguments` stays, as does one in which any function does.
 */
export function shortenCalls(tree: unknown): void {
  if (typeof tree !== "object" || tree === null) return;
  for (const part of Object.values(tree)) shortenCalls(part);
  if (!isNode(tree) || tree.type !== "CallExpression") return;
  const called = withoutParentheses(tree["callee"] as Node);
  if (called.type !== "FunctionExpression" || called["generator"] === true || called["identifier"] !== null) return;
  if ([called["params"], called["body"]].some(asksWhoCalls)) return;
  const arrow = { type: "ArrowFunctionExpression", span: called["span"], ctxt: called["ctxt"], ...arrowParts(called) };
  Object.assign(tree, { callee: { type: "ParenthesisExpression", span: called["span"], expression: arrow } });
}

function arrowParts({ params, body, async }: Node): object {
  const [only, ...more] = (body as { stmts: Node[] }).stmts;
  const value = only?.type === "ReturnStatement" && more.length === 0 ? (only["argument"] as Node | null) : null;
  return {
    params: (params as { pat: Node }[]).map(({ pat }) => pat),
    body: value ? { type: "ParenthesisExpression", span: value["span"], expression: value } : body,
    async,
    generator: false,
    typeParameters: null,
    returnType: null,
  };
}

function withoutParentheses(node: Node): Node {
  return node.type === "ParenthesisExpression" ? withoutParentheses(node["expression"] as Node) : node;
}

function asksWhoCalls(tree: unknown): boolean {
  if (typeof tree !== "object" || tree === null) return false;
  if (isNode(tree) && ["ThisExpression", "MetaProperty", "Super"].includes(tree.type)) return true;
  if (isNode(tree) && tree.type === "Identifier" && tree["value"] === "arguments") return true;
  return Object.values(tree).some(asksWhoCalls);
}

function isNode(tree: object): tree is Node {
  return "type" in tree && typeof tree.type === "string";
}

/** In all of a syntax tree, in place: `try{return"a"}catch{return}` as `{return"a"}`, so that who asks for it is told at once. */
export function shortenTries(tree: unknown): void {
  if (typeof tree !== "object" || tree === null) return;
  for (const part of Object.values(tree)) shortenTries(part);
  if (!isNode(tree) || tree.type !== "TryStatement" || tree["finalizer"]) return;
  const { stmts } = tree["block"] as { readonly stmts: readonly Node[] };
  if (stmts.every((one) => one.type === "ReturnStatement" && isConstant(one["argument"])))
    Object.assign(tree, tree["block"]);
}

/** `true` and `false` come as `!0` and `!1`. */
function isConstant(value: unknown): boolean {
  if (!value) return false;
  const { type, argument } = value as Node;
  return type === "UnaryExpression" ? isConstant(argument) : type === "StringLiteral" || type === "NumericLiteral";
}

/** `var a=1;var b=2` as `var a=1,b=2`. */
export function declaredTogether(items: readonly ModuleItem[]): ModuleItem[] {
  const together: ModuleItem[] = [];
  for (const item of items) {
    const last = together.at(-1);
    if (last?.type === "VariableDeclaration" && item.type === "VariableDeclaration" && last.kind === item.kind) {
      together.splice(-1, 1, { ...last, declarations: [...last.declarations, ...item.declarations] });
    } else together.push(item);
  }
  return together;
}
