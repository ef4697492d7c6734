// What the build step moves: modules made at random run the same in any order that is said to be free, and what is alike
// comes together in the order that is taken.
import { inspect } from "node:util";
import { parse } from "@swc/core";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { alikeOrder } from "../../scripts/alike-order.ts";
import { movableStatements, type Statement } from "../../scripts/movable-statements.ts";
import { nearerOrder } from "../../scripts/nearer-order.ts";
import { smallerOrder } from "../../scripts/smaller-order.ts";
import { SEED } from "../support/seed.ts";

async function statementsOf(code: string): Promise<Statement[]> {
  return movableStatements(await parse(code, { syntax: "ecmascript", target: "es2024" }), code);
}

const codeOf = ({ item, text }: Statement) => (item.type === "VariableDeclaration" ? `var ${text};` : text);

/** Any order that is free: of those that wait for none, the one that `wishes` like best. */
function wished(statements: readonly Statement[], wishes: readonly number[]): Statement[] {
  const left = statements.map((one, at) => ({ one, wish: wishes[at % wishes.length] ?? 0 }));
  const order: Statement[] = [];
  while (left.length > 0) {
    const free = left.filter(({ one }) => [...one.after].every((before) => order.includes(before)));
    const [best] = free.toSorted((a, b) => a.wish - b.wish);
    if (best === undefined) throw new Error("these wait for each other");
    order.push(best.one);
    left.splice(left.indexOf(best), 1);
  }
  return order;
}

/** What it says while it runs, and what its variables hold in the end. */
function outcomeOf(code: string): string {
  const said: string[] = [];
  const say = (what: unknown) => said.push(inspect(what, { getters: true }));
  const names = Array.from({ length: NAMES }, (_, name) => `say(v${name});`).join("");
  // oxlint-disable-next-line typescript/no-implied-eval -- what is made here is to run
  new Function("say", "kept", `${code};${names}`)(say, []);
  return said.join("\n");
}

const NAMES = 12;
const name = fc.nat({ max: NAMES - 1 }).map((at) => `v${at}`);
const call = fc.nat({ max: NAMES - 1 }).map((at) => `f${at}()`);

/** What may stand on the right of a variable, or in any statement that runs. */
const expression = fc.oneof(
  fc.constantFrom("0", "-1", "'text'", "[]", "new Map", "new Set([1])", "new Map([[1,2]])", "`a`", "!0"),
  name,
  call,
  fc.tuple(name, name).map(([one, other]) => `{a:${one},get b(){return ${other}},c(){return ${other}}}`),
  fc.tuple(name, name).map(([one, other]) => `new Set([${one},${other}])`),
  fc.tuple(name, name).map(([one, other]) => `new Map([[${one},${other}]])`),
  name.map((one) => `new Set(Array.isArray(${one})?${one}:[])`),
  fc.tuple(name, name).map(([one, other]) => `[${one},,()=>${other}]`),
  fc.tuple(name, name).map(([one, other]) => `class{static a=${one};#b=${other};c(){${other}++}}`),
  fc.tuple(name, call).map(([one, made]) => `class{static a=${one};static b=${made}}`),
  name.map((one) => `class{static{say(${one})}}`),
  fc.tuple(name, name).map(([one, other]) => `{...${one},[typeof ${other}]:1}`),
  fc.tuple(name, name).map(([one, other]) => `${one}?${other}:[${one},...[${other}]]`),
);

const running = fc.oneof(
  name.map((one) => `say(${one})`),
  expression.map((one) => `say((${one}))`),
  fc.tuple(name, expression).map(([one, made]) => `${one}=${made}`),
  name.map((one) => `${one}++`),
  fc.tuple(name, expression).map(([one, made]) => `var ${one}=${made}`),
  fc.tuple(name, name).map(([one, other]) => `var [${one}]=[${other}]`),
  fc.tuple(name, name).map(([one, other]) => `[${one}]=[${other}]`),
  call.map((one) => `kept.push(()=>${one})`),
  fc.constant("for(let one of kept.splice(0))say(one())"),
  fc.tuple(name, name).map(([one, other]) => `for(var ${one} of [1,${other}])say(${one})`),
  fc.tuple(name, call).map(([one, made]) => `if(${one})var {length:${one}}=[${made}]`),
);

/** Functions call only those before them, so that everything ends. */
const moduleCode = fc
  .tuple(
    fc.array(
      fc.tuple(
        fc.oneof(
          running,
          expression.map((one) => `return ${one}`),
        ),
        name,
      ),
      {
        minLength: NAMES,
        maxLength: NAMES,
      },
    ),
    fc.uniqueArray(fc.nat({ max: NAMES - 1 }), { minLength: NAMES, maxLength: NAMES }),
    fc.array(expression, { minLength: NAMES, maxLength: NAMES }),
    fc.array(fc.tuple(fc.nat({ max: 3 * NAMES }), running), { maxLength: NAMES }),
  )
  .map(([bodies, declared, inits, between]) => {
    const functions = bodies.map(([does, returned], at) => {
      const calls = does.replaceAll(/f(\d+)\(\)/g, (_, called) => (Number(called) < at ? `f${called}()` : "0"));
      return `function f${at}(){${calls};return ${returned}}`;
    });
    const code = [...functions, ...declared.map((one, at) => `var v${one}=${inits[at] ?? "0"};`)];
    for (const [at, does] of between) code.splice(at % (code.length + 1), 0, `${does};`);
    return code.join("");
  });

describe("statements in another order", () => {
  test("do and hold the same, whichever free order it is", async () => {
    let moved = 0;
    await fc.assert(
      fc.asyncProperty(moduleCode, fc.array(fc.nat(), { minLength: 40, maxLength: 60 }), async (code, wishes) => {
        const statements = await statementsOf(code);
        const free = wished(statements, wishes);
        if (free.some((one, at) => one !== statements[at])) moved += 1;
        const before = outcomeOf(statements.map(codeOf).join(""));
        expect(before).toBe(outcomeOf(code));
        expect(outcomeOf(free.map(codeOf).join(""))).toBe(before);
        const nearer = nearerOrder(alikeOrder(statements));
        expect(outcomeOf(nearer.map(codeOf).join(""))).toBe(before);
        expect(outcomeOf(smallerOrder(nearer).map(codeOf).join(""))).toBe(before);
      }),
      { ...SEED, numRuns: 60 },
    );
    expect(moved).toBeGreaterThan(40);
  });

  test.each([
    ["a class stands behind the one that it extends", "var b=class{};var a=class extends b{};", ["b", "a"]],
    ["a value stands behind what it is made of", "var b=[1];var a={b};", ["b", "a"]],
    ["a value stands before what runs and reads it through a function", "var b=[];function c(){b}c();", ["b", "c()"]],
    ["what is assigned to is read in time", "var b=0;var a=[b];b=1;", ["a", "b=1"]],
    ["what is declared again is read in time", "var b=0;var a=[b];var b=1;", ["b=0", "a", "b=1"]],
    ["so is what a pattern declares again", "var b=0;var a=[b];var [b]=[1];", ["a", "[b]="]],
    ["what runs keeps its order", "one();two();", ["one", "two"]],
    ["a collection stands behind what is in it", "var b=[1];var a=new Set([b]);", ["b", "a"]],
    [
      "what a collection takes out of a variable keeps its time",
      "var c=f();var a=new Set(c);d();",
      ["c=f()", "a", "d()"],
    ],
    ["a collection of the module's own runs", "class Set{}b();var a=new Set;c();", ["b()", "a", "c()"]],
    [
      "what is left for later to call finds what it found",
      "kept.push(()=>b);var b=1;call();",
      ["kept", "b=1", "call()"],
    ],
  ])("%s", async (_, code, behind) => {
    const statements = await statementsOf(code);
    const backwards = wished(
      statements,
      statements.map((_one, at) => -at),
    );
    const places = behind.map((text) => backwards.findLastIndex((one) => one.text.includes(text)));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
  });

  test("functions, and values that nothing looks at, stand anywhere", async () => {
    const statements = await statementsOf(
      "run();function a(){b}var b=class{c=d;e(){d}},d=[1],s=new Set(['a']),m=new Map([[1,2]]);run();",
    );
    const waiting = statements.filter(({ after }) => after.size > 0).map(({ text }) => text);
    expect(waiting).toEqual(["run();"]);
  });
});

interface Ordered {
  readonly text: string;
  readonly after: ReadonlySet<Ordered>;
}

test("texts that are alike stand next to each other, after those that must come first", () => {
  const code = (kind: string, at: number) => `function ${kind}${at}(){return "${kind.repeat(9)} ${kind}${at}"}`;
  const mixed = [1, 2, 3, 4].flatMap((at) => [code("east", at), code("west", at), code("north", at)]);
  const order = alikeOrder(mixed.map((text): Ordered => ({ text, after: new Set() })));
  const kinds = order.map(({ text }) => /east|west|north/.exec(text)?.[0]);
  expect(kinds.filter((kind, at) => kind !== kinds[at - 1])).toHaveLength(3);
  const first: Ordered = { text: "first", after: new Set() };
  const waits: Ordered = { text: "waits", after: new Set([first]) };
  expect(alikeOrder([waits, first])).toEqual([first, waits]);
});

test("what is read of a namespace, whose members a call defines as getters, stays behind what they read", async () => {
  const code =
    "var space={};say(Object.defineProperties(space,{Kept:{get:()=>made}}));var made=class{};var derived=class extends space.Kept{};";
  const statements = await statementsOf(code);
  const at = (begin: string) => statements.find(({ text }) => text.startsWith(begin)) as Statement;
  expect([...at("derived").after]).toContain(at("made"));
});
