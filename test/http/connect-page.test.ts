// The page that a person sees at an MCP URL: whatever an author or an operator wrote is text on it, and nothing else.

import { expect, it } from "vitest";
import { connectPage } from "../../src/http/connect-page.ts";

const EVIL = `<script>alert("1")</script><img src='x' onerror=alert(1)>&lt;`;
const SHOWN =
  "&#60;script&#62;alert(&#34;1&#34;)&#60;/script&#62;&#60;img src=&#39;x&#39; onerror=alert(1)&#62;&#38;lt;";

it("shows names, titles, descriptions and lists as texts", async () => {
  const request = new Request("http://localhost/mcp/notes");
  const about = { id: "notes", mount: "", path: "/notes", name: EVIL, version: EVIL, title: EVIL, description: EVIL };
  const wire = { name: EVIL };
  const html = await connectPage(request, about, { tools: [{ wire }], prompts: [{ wire }] }).text();
  expect(html.split(SHOWN)).toHaveLength(1 + 7);
  expect(html).not.toMatch(/<script|<img|alert\("|src='/);
  expect(html).toContain('<pre class="url">http://localhost/mcp/notes</pre>');
  expect(html).toContain("&#34;url&#34;: &#34;http://localhost/mcp/notes&#34;");
});

it("says what it is where nobody says anything", async () => {
  const about = { id: "notes", mount: "/ai", path: "", name: "bench", version: "1" };
  const answer = connectPage(new Request("https://a.example/ai/mcp"), about, { tools: [], prompts: [] });
  const html = await answer.text();
  expect(html).toContain("<h1>notes</h1>\n<p>A Model Context Protocol endpoint.");
  expect(html).toContain('<pre class="url">https://a.example/ai/mcp</pre>');
  expect(html.match(/: none</g)).toHaveLength(2);
  expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
});
