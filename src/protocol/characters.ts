// Owns how many characters a text has. One outside of the basic plane is one, though it has two units.

export function charactersOf(text: string): number {
  return text.replaceAll(/[\u{10000}-\u{10ffff}]/gu, " ").length;
}
