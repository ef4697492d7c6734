// Infers the variables of a literal URI template, and which of them are in every matching URI. Types only, so nothing
// lands in the bundle. https://www.rfc-editor.org/rfc/rfc6570

/** The names of a template's variables; `string` if the template is not a literal. */
export type TemplateVariable<Template extends string> = string extends Template
  ? string
  : VariablesIn<ExpressionsIn<Template>>;

/**
 * The matched values, as texts. Every URI has the first variable of `{a}` and `{+a}`. Later variables of an expression,
 * and all variables of one with another operator (`{/a}`, `{?a,b}`), may be undefined.
 */
export type TemplateVariables<Template extends string> = string extends Template
  ? Readonly<Record<string, string>>
  : {
      readonly [Name in TemplateVariable<Template>]: Name extends RequiredVariablesIn<ExpressionsIn<Template>>
        ? string
        : string | undefined;
    };

/** The text between braces. */
type ExpressionsIn<Template extends string> = Template extends `${string}{${infer Inside}}${infer Rest}`
  ? Inside | ExpressionsIn<Rest>
  : never;

type VariablesIn<Expression extends string> = Expression extends `${Operator}${infer Names}`
  ? VariablesOf<Names>
  : VariablesOf<Expression>;

type RequiredVariablesIn<Expression extends string> = Expression extends `+${infer Names}`
  ? FirstVariable<Names>
  : Expression extends `${Operator}${string}`
    ? never
    : FirstVariable<Expression>;

type Operator = "+" | "#" | "." | "/" | ";" | "?" | "&";

type VariablesOf<Names extends string> = Names extends `${infer First},${infer Rest}`
  ? WithoutModifier<First> | VariablesOf<Rest>
  : WithoutModifier<Names>;

type FirstVariable<Names extends string> = Names extends `${infer First},${string}`
  ? WithoutModifier<First>
  : WithoutModifier<Names>;

/** The name without its modifier: `{a*}`, `{a:3}`. */
type WithoutModifier<Name extends string> = Name extends `${infer Start}*`
  ? Start
  : Name extends `${infer Start}:${string}`
    ? Start
    : Name;
