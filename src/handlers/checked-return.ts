// Owns what TypeScript says of what a handler of a tool returns: nothing where it can be sent, else one sentence that names
// the member. No byte of it is left in a bundle; `results.ts` holds the same rules when a call runs.

import type { FromInput } from "./schema.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import type { ContentBlock, ToolContent } from "./content-block.ts";

/** The whole result. `structuredContent` is given as text too where there is no `content`. */
export interface CallToolReturn {
  readonly content?: ToolContent | undefined;
  readonly structuredContent?: unknown;
  readonly isError?: boolean | undefined;
  readonly _meta?: JsonObject | undefined;
}

/** A text, content blocks, the whole result; any other object is structured content, and given as text too. */
export type ToolReturn = string | ContentBlock | readonly ContentBlock[] | CallToolReturn | Readonly<JsonObject>;

/** What TypeScript keeps of a value that is returned: `{ type: "text" }` stays that text and does not become any. */
export type Returnable = string | number | boolean | bigint | symbol | null | undefined | void | object | ReturnHint;

/** Literals in a type keep the literals of what is held against it. */
export interface ReturnHint {
  readonly [member: string]: HintedMember;
}

type HintedMember = "" | 0 | false | null | undefined | ReturnHint | readonly HintedMember[];

/** `unknown` where a handler may return `Returned`, else a text that no function is: the mistake. */
export type CheckedReturn<Output, Returned> = 0 extends 1 & Returned
  ? unknown
  : [ReturnError<Output, Returned>] extends [never]
    ? unknown
    : ReturnError<Output, Returned>;

/** Of a schema that is only known when the Worker runs, its tool is asked for nothing here. */
type ReturnError<Output, Returned> = [unknown] extends [FromInput<Output>]
  ? UnschemedReturnError<Returned>
  : SchemedReturnError<Returned, FromInput<Output>>;

type Present = object | string | number | boolean | bigint | null;
type ResultLike =
  | { readonly content: Present }
  | { readonly structuredContent: Present }
  | { readonly isError: Present };

/** Without an `output` schema. */
type UnschemedReturnError<R> = R extends string
  ? never
  : R extends readonly (infer Block)[]
    ? ContentBlockError<Block>
    : R extends { readonly type: string }
      ? ContentBlockError<R>
      : R extends ResultLike
        ? ResultError<R>
        : R extends (...args: never) => unknown
          ? "a function is no result"
          : R extends object
            ? never
            : "a tool returns a text, content or an object";

/** With an `output` schema: an object is the structured content, unless it says that it is the whole result. */
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
        : "output has a member of a result: return { structuredContent: ... }"
      : "output: an object is returned, or { structuredContent: ... }"
  : never;

type StructuredContentError<R, Product> = R extends Product
  ? never
  : R extends readonly unknown[]
    ? "output: a list does not fit it"
    : R extends object
      ? Product extends object
        ? string extends keyof Product
          ? never
          : Named<"output", MismatchedKeys<R, Product>>
        : "output: an object does not fit it"
      : "output: structuredContent does not fit it";

type Named<What extends string, Member> = Member extends string ? `${What}: ${Member} is missing or wrong` : never;

/** The members of `Wanted` that the value lacks, or has otherwise. */
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

/** The members that `Known` does not have. Where a type has any member, none is known to be wrong. */
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
      ? `no content block has the type ${Type}`
      : Block extends BlockOfType<Type>
        ? ExtraBlockMemberError<ExtraKeys<Block, BlockOfType<Type>>, Type>
        : Named<`content of type ${Type}`, MismatchedKeys<Block, BlockOfType<Type>>>
  : "a content block is an object with a type: write { items: [...] } for other lists";

type ExtraBlockMemberError<Member, Type extends string> = Member extends string
  ? `content of type ${Type} has no ${Member}`
  : never;
