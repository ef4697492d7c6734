// Shorter syntax for the same program, and that a program in which it would not be the same is left as it is.
import { parse, print } from "@swc/core";
import { expect, test } from "vitest";
import { declaredTogether, shortenCalls, shortenTries } from "../../scripts/short-syntax.ts";

async function shortened(code: string): Promise<string> {
  const module = await parse(code, { syntax: "ecmascript", target: "es2024" });
  shortenCalls(module);
  shortenTries(module);
  module.body = declaredTogether(module.body);
  return (await print(module, { minify: true })).code;
}

test.each([
  ["x=(function(a,b){return a+b})(1,2)", "x=((a,b)=>(a+b))(1,2);"],
  ["x=function({a},...b){return{a,b}}(1)", "x=(({a},...b)=>({a,b}))(1);"],
  ["x=function(a){return a,2}(1)", "x=(a=>(a,2))(1);"],
  ["x=async function(a){return await a}(1)", "x=(async a=>(await a))(1);"],
  ["!function(a=1){if(a)return;b()}()", "!((a=1)=>{if(a)return;b()})();"],
  ["x=function(){return}()", "x=(()=>{return})();"],
  ["x=function(a){return function(b){return a+b}(2)}(1)", "x=(a=>((b=>(a+b))(2)))(1);"],
])("%s: a function that is called where it stands becomes an arrow", async (long, short) => {
  expect(await shortened(long)).toBe(short);
});

test.each([
  "x=function(){return this}();",
  "x=function(){return arguments}();",
  "x=function(a=arguments){return a}();",
  "x=function(){return new.target}();",
  "x=function(){return()=>this}();",
  "x=function*(){yield 1}();",
  "x=function f(a){return a?f(a-1):0}(1);",
  "x=new function(a){return a}(1);",
  "x=y(function(a){return a});",
  "function f(){try{return a}catch{return}}",
  "function f(){try{return!a}catch{return}}",
  "function f(){try{return}catch{return}}",
  "function f(){try{a();return 1}catch{return}}",
  "function f(){try{return 1}finally{a()}}",
])("%s stays as it is", async (code) => {
  expect(await shortened(code)).toBe(code);
});

test("variables that are declared one after the other are declared together, each kind for itself", async () => {
  expect(await shortened("var a=1;var b=a;let c=2;let d;const e=3;f();const g=4;")).toBe(
    "var a=1,b=a;let c=2,d;const e=3;f();const g=4;",
  );
});

test.each([
  ['function f(){try{return"a"}catch{return}}', 'function f(){{return"a"}}'],
  ["function f(){try{return!0}catch(a){return!1}}", "function f(){{return!0}}"],
])("%s: what cannot fail needs no try", async (long, short) => {
  expect(await shortened(long)).toBe(short);
});
