// Owns reading an answer of the admin API that is lines of JSON, as they come.

/** Rejects where the answer ends before its last line does. */
export async function* jsonLines<T>({ body }: Response): AsyncGenerator<T> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line) as T;
  }
  if (text !== "") yield JSON.parse(text) as T;
}
