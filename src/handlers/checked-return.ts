// Type checks of a tool handler's return value. The type is `unknown` if the value can be sent, or else one sentence
// that names the wrong member. Types only, so nothing lands in the bundle; `results.ts` enforces the same rules at run
// time.

import type { FromInput } from "./schema.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import type { ContentBlock, ToolContent } from "./content-block.ts";

/** The whole result of a tool. `structuredContent` without `content` is also sent as text. */
export interface CallToolReturn {
  readonly content?: ToolContent | undefined;
  readonly structuredContent?: unknown;
  readonly isError?: boolean | undefined;
  readonly _meta?: JsonObject | undefined;
}

/**
 * Keeps TypeScript from widening literals in a returned value: `{ type: "text" }` keeps the type "text" and does not
 * become `string`.
 */
export type Returnable = string | number | boolean | bigint | symbol | null | undefined | void | object | ReturnHint;

/** Literals in this type make TypeScript keep the literals of a value that is checked against the type. */
export interface ReturnHint {
  readonly [member: string]: HintedMember;
}

type HintedMember = "" | 0 | false | null | undefined | ReturnHint | readonly HintedMember[];

/**
 * `unknown` if a handler may return `Returned`; otherwise a string type with the error, which no function satisfies.
 * `any` passes, and `Returnable`, which the compiler takes while another member has an error.
 */
export type CheckedReturn<Output, Returned> = [Returnable] extends [Returned]
  ? unknown
  : [ReturnError<Output, Returned>] extends [never]
    ? unknown
    : ReturnError<Output, Returned>;

/** A schema that is known only at run time is not checked here. */
type ReturnError<Output, Returned> = [unknown] extends [FromInput<Output>]
  ? UnschemedReturnError<Returned>
  : SchemedReturnError<Returned, FromInput<Output>>;

type Present = object | string | number | boolean | bigint | null;
type ResultLike =
  | { readonly content: Present }
  | { readonly structuredContent: Present }
  | { readonly isError: Present };

/** Error for a tool without an `output` schema. */
type UnschemedReturnError<R> = R extends string
  ? never
  : R extends readonly (infer Block)[]
    ? ContentBlockError<Block>
    : R extends { readonly type: string }
      ? ContentBlockError<R>
      : R extends ResultLike
        ? ResultError<R>
        : R extends (...args: never) => unknown
          ? "a tool must not return a function"
          : R extends object
            ? never
            : "a tool must return a text, content or an object";

/**
 * Error for a tool with an `output` schema. An object is the structured content, unless it is marked as the whole
 * result.
 */
type SchemedReturnError<R, Product> = R extends { readonly isError: infer Failed }
  ? true extends Failed
    ? ResultError<R>
    : SuccessError<R, Product>
  : SuccessError<R, Product>;

type SuccessError<R, Product> = R extends unknown
  ? R extends { readonly structuredContent: infer Given extends Present }
    ? StructuredContentError<Given, Product> | ResultError<R>
    : R extends object
      ? [Extract<keyof Product, "isError" | "structuredContent">] extends [never]
        ? StructuredContentError<R, Product>
        : "output has a field isError or structuredContent: return { structuredContent: ... }"
      : "output: return an object, or { structuredContent: ... }"
  : never;

type StructuredContentError<R, Product> = R extends Product
  ? never
  : R extends readonly unknown[]
    ? "output: a list does not match the schema"
    : R extends object
      ? Product extends object
        ? string extends keyof Product
          ? never
          : Named<"output", MismatchedKeys<R, Product>>
        : "output: an object does not match the schema"
      : "output: structuredContent does not match the schema";

type Named<What extends string, Member> = Member extends string ? `${What}: ${Member} is missing or wrong` : never;

/** The members of `Wanted` that the value lacks or has with another type. */
type MismatchedKeys<R, Wanted> = Wanted extends unknown
  ? {
      [K in keyof Wanted & string]-?: K extends keyof R
        ? R[K] extends Wanted[K]
          ? never
          : K
        : object extends Pick<Wanted, K>
          ? never
          : K;
    }[keyof Wanted & string]
  : never;

/**
 * The members that `Known` does not have. A type with an index signature yields none, because its members are unknown.
 */
type ExtraKeys<R, Known> = string extends keyof R
  ? never
  : {
      [K in keyof R & string]-?: K extends keyof Known ? never : R[K] extends undefined ? never : K;
    }[keyof R & string];

type ResultError<R> = R extends ResultLike
  ?
      | (R extends { readonly content: infer Content extends Present } ? ContentError<Content> : never)
      | ExtraMemberError<R>
  : never;

type ExtraMemberError<R> =
  ExtraKeys<R, CallToolReturn> extends infer Member
    ? Member extends string
      ? `a result has no ${Member}: put it into structuredContent`
      : never
    : never;

type ContentError<Content> = Content extends string
  ? never
  : Content extends readonly (infer Block)[]
    ? ContentBlockError<Block>
    : ContentBlockError<Content>;

type BlockOfType<Type> = Extract<ContentBlock, { readonly type: Type }>;

type ContentBlockError<Block> = Block extends { readonly type: infer Type extends string }
  ? string extends Type
    ? never
    : [BlockOfType<Type>] extends [never]
      ? `unknown type of content block: ${Type}`
      : Block extends BlockOfType<Type>
        ? ExtraBlockMemberError<ExtraKeys<Block, BlockOfType<Type>>, Type>
        : Named<`content of type ${Type}`, MismatchedKeys<Block, BlockOfType<Type>>>
  : "a content block must be an object with a type: write { items: [...] } for other lists";

type ExtraBlockMemberError<Member, Type extends string> = Member extends string
  ? `content of type ${Type} has no ${Member}`
  : never;
