// Infers the type of a value from a literal JSON Schema. Types only, so nothing lands in the bundle. Keywords that the
// types do not support (`allOf`, `$ref`, patterns) narrow nothing; the validator enforces them all.

/** The values of a JSON Schema that is written inline or with `as const`; `unknown` where the schema does not say. */
export type FromJsonSchema<S> = S extends { readonly const: infer Value }
  ? Value
  : S extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : S extends { readonly oneOf: readonly (infer Option)[] } | { readonly anyOf: readonly (infer Option)[] }
      ? OneOf<Option>
      : S extends { readonly type: readonly (infer Type)[] }
        ? OfType<Type, S>
        : S extends { readonly type: infer Type }
          ? OfType<Type, S>
          : unknown;

type OneOf<Option> = Option extends unknown ? FromJsonSchema<Option> : never;

/** A schema without a literal `type`, such as one typed as `JsonObject`, gives `unknown`. */
type OfType<Type, S> = Type extends "string"
  ? string
  : Type extends "number" | "integer"
    ? number
    : Type extends "boolean"
      ? boolean
      : Type extends "null"
        ? null
        : Type extends "array"
          ? S extends { readonly items: infer Item }
            ? FromJsonSchema<Item>[]
            : unknown[]
          : Type extends "object"
            ? OfMembers<S>
            : unknown;

type OfMembers<S> = S extends { readonly properties: infer Members }
  ? [keyof Members] extends [never]
    ? OfOthers<S>
    : Flat<
        { -readonly [Name in keyof Members as IsRequired<S, Members, Name, Name>]: FromJsonSchema<Members[Name]> } & {
          -readonly [Name in keyof Members as IsRequired<S, Members, Name, never, Name>]?: FromJsonSchema<
            Members[Name]
          >;
        }
      >
  : OfOthers<S>;

type OfOthers<S> = S extends { readonly additionalProperties: infer Other extends object }
  ? Record<string, FromJsonSchema<Other>>
  : Record<string, unknown>;

/** A member with a default is always present: the default is filled in before the handler gets the arguments. */
type IsRequired<S, Members, Name extends keyof Members, Yes, No = never> = S extends {
  readonly required: readonly (infer Required)[];
}
  ? Name extends Required
    ? Yes
    : HasDefault<Members[Name], Yes, No>
  : HasDefault<Members[Name], Yes, No>;

type HasDefault<Member, Yes, No> = Member extends { readonly default: unknown } ? Yes : No;

type Flat<T> = { [Name in keyof T]: T[Name] };
