// Owns what looks like a key, a token or a session, and is another: with one character changed. Refuses to give back what it got,
// as a last character that is always the same would, once in 62 keys.

export function tamper(credential: string): string {
  return credential.slice(0, -1) + (credential.endsWith("x") ? "y" : "x");
}
