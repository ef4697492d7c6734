// Owns who the customers are: a row of the database is a tenant, with the tools and the configuration that the row says.

interface Company {
  readonly title: string;
  /** JSON: the names of the tools that the company has; null: all. */
  readonly tools: string | null;
  readonly due_in_days: number;
}

/** Asked once for each lease of a few seconds, not for each request. */
export async function companyOf(id: string, env: Env) {
  const found = env.DB.prepare("SELECT title, tools, due_in_days FROM companies WHERE id = ?").bind(id);
  const company = await found.first<Company>();
  if (!company) return undefined;
  return {
    title: company.title,
    tools: company.tools === null ? ["*"] : (JSON.parse(company.tools) as string[]),
    config: { open_ticket: { dueInDays: company.due_in_days } },
  };
}
