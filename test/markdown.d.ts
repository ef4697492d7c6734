// Lets TypeScript know that a Markdown file is imported as its text: as wrangler's Text rule bundles it, and as Vite's
// ?raw does in tests.
declare module "*.md" {
  const text: string;
  export default text;
}

declare module "*.md?raw" {
  const text: string;
  export default text;
}
