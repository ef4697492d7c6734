// Lets TypeScript know that a Markdown file is imported as its text, as the Text rule of wrangler.toml bundles it.
declare module "*.md" {
  const text: string;
  export default text;
}
