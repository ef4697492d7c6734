// Owns what TypeScript knows of a URI template that is a literal: its variables, and which of them every URI that matches
// has. No byte of it is left in a bundle. https://www.rfc-editor.org/rfc/rfc6570

/** Any text where the template is no literal. */
export type TemplateVariable<Template extends string> = string extends Template
  ? string
  : VariablesIn<ExpressionsIn<Template>>;

/**
 * What matched, as texts. Every URI has the first variable of `{a}` and `{+a}`; what comes after it, and what begins with
 * a character of its own (`{/a}`, `{?a,b}`), may be absent.
 */
export type TemplateVariables<Template extends string> = string extends Template
  ? Readonly<Record<string, string>>
  : {
      readonly [Name in TemplateVariable<Template>]: Name extends RequiredVariablesIn<ExpressionsIn<Template>>
        ? string
        : string | undefined;
    };

/** What stands between braces. */
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

/** Without the modifier: `{a*}`, `{a:3}`. */
type WithoutModifier<Name extends string> = Name extends `${infer Start}*`
  ? Start
  : Name extends `${infer Start}:${string}`
    ? Start
    : Name;
