// The site reads the pages where they are: README.md is the home page, a page of docs/ has the same path as in the repository.

import { defineConfig } from "vitepress";
import { sidebar } from "../sidebar.ts";

export default defineConfig({
  title: "tenantry",
  description: "MCP endpoints for many tenants from one Cloudflare Worker",
  srcDir: "..",
  srcExclude: ["!(docs|site|test)/**/*.md"],
  rewrites: { "README.md": "index.md", "site/LICENSE.md": "LICENSE.md" },
  cleanUrls: true,
  // The picture of the home page takes the whole width.
  transformPageData: ({ relativePath }) =>
    relativePath === "index.md" ? { frontmatter: { aside: false } } : undefined,
  ignoreDeadLinks: "localhostLinks",
  markdown: {
    attrs: { disable: true },
    // Links to headings are written for GitHub.
    anchor: {
      slugify: (heading) =>
        heading
          .toLowerCase()
          .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
          .replaceAll(" ", "-"),
    },
    config(md) {
      const normalizeLink = md.normalizeLink.bind(md);
      md.normalizeLink = (url) => normalizeLink(url.replace(/^(\.\.\/)*README\.md/, "/"));
      // A block without a language scrolls like the others.
      md.renderer.rules["code_block"] = (...args) => md.renderer.rules.fence!(...args);
      // Vue would evaluate `{{secret:NAME}}`.
      for (const rule of ["text", "code_inline"] as const) {
        const render = md.renderer.rules[rule]!;
        md.renderer.rules[rule] = (...args) => render(...args).replaceAll("{{", "&#123;&#123;");
      }
    },
  },
  // Pages import Vue, which is not found from their folder.
  vite: {
    plugins: [
      {
        name: "vue-for-pages",
        enforce: "pre",
        resolveId: (id, _importer, { ssr }) => (ssr && /^vue($|\/)/.test(id) ? { id, external: true } : undefined),
      },
    ],
  },
  themeConfig: {
    sidebar,
    outline: [2, 3],
    search: { provider: "local" },
  },
});
