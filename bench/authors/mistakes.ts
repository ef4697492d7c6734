// Ten mistakes that authors of a first tool make, and how each looks in every package: what is written instead of what.

export type Product = "tenantry" | "fastmcp" | "mcp-lite" | "sdk";

export interface Mistake {
  readonly title: string;
  /** By product; `all`: it looks alike in those that are not named. */
  readonly written: Readonly<Partial<Record<Product | "all", readonly [from: string, to: string]>>>;
}

const HANDLED = "({ weightKg }) => {";

export const MISTAKES: readonly Mistake[] = [
  {
    title: "an argument is misspelt in the handler",
    written: {
      tenantry: ["({ weightKg }) => ({ price: 5 + weightKg,", "({ weigthKg }) => ({ price: 5 + weigthKg,"],
      fastmcp: ["({ weightKg }) => ({ price: 5 + weightKg,", "({ weigthKg }) => ({ price: 5 + weigthKg,"],
      "mcp-lite": [
        `${HANDLED}\n    const quote = { price: 5 + weightKg,`,
        `({ weigthKg }) => {\n    const quote = { price: 5 + weigthKg,`,
      ],
      sdk: [
        `${HANDLED}\n      const quote = { price: 5 + weightKg,`,
        `({ weigthKg }) => {\n      const quote = { price: 5 + weigthKg,`,
      ],
    },
  },
  {
    title: "an argument is used as a value of another type",
    written: { all: ["price: 5 + weightKg,", "price: 5 + weightKg.trim().length,"] },
  },
  {
    title: "a member of the result is misspelt",
    written: { all: ["{ price: 5 + weightKg,", "{ prize: 5 + weightKg,"] },
  },
  {
    title: "a member of the result has a type that the schema does not allow",
    written: { all: ["{ price: 5 + weightKg,", "{ price: `${5 + weightKg} EUR`,"] },
  },
  {
    title: "a member of a content block is misspelt",
    written: {
      tenantry: [
        '({ price: 5 + weightKg, currency: "EUR" })',
        '({ content: [{ type: "text", txt: `${5 + weightKg}` }], structuredContent: { price: 5 + weightKg, currency: "EUR" } })',
      ],
      fastmcp: [
        '({ price: 5 + weightKg, currency: "EUR" })',
        '({ content: [{ type: "text", txt: `${5 + weightKg}` }], structuredContent: { price: 5 + weightKg, currency: "EUR" } })',
      ],
      all: ['{ type: "text", text: JSON', '{ type: "text", txt: JSON'],
    },
  },
  {
    title: "an option of the tool is misspelt",
    written: { all: ["description:", "descripton:"] },
  },
  {
    title: "the name has a character that the protocol does not allow",
    written: { all: ['"quote_shipping"', '"quote shipping"'] },
  },
  {
    title: "the arguments are not an object",
    written: {
      tenantry: ["input: z.object({ weightKg: z.number().positive().max(30) })", "input: z.number()"],
      fastmcp: ["parameters: z.object({ weightKg: z.number().positive().max(30) })", "parameters: z.number()"],
      all: ["inputSchema: z.object({ weightKg: z.number().positive().max(30) })", "inputSchema: z.number()"],
    },
  },
  {
    title: "the schema has a type that does not exist in JSON",
    written: { all: ["weightKg: z.number().positive().max(30)", "weightKg: z.number(), sent: z.date().optional()"] },
  },
  {
    title: "two tools have the same name",
    written: {
      tenantry: ["tools: [quote]", 'tools: [quote, defineTool({ name: quote.name, handler: () => "another" })]'],
      fastmcp: [
        "await server.start",
        'server.addTool({ name: "quote_shipping", execute: async () => "another" });\n\nawait server.start',
      ],
      "mcp-lite": [
        "const handle =",
        'server.tool("quote_shipping", { handler: () => ({ content: [] }) });\n\nconst handle =',
      ],
      sdk: [
        "  return server;",
        '  server.registerTool("quote_shipping", {}, () => ({ content: [] }));\n  return server;',
      ],
    },
  },
];
