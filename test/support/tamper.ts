// What looks like a key, a token or a session, and is another: with one character changed.

export function tamper(credential: string): string {
  return credential.slice(0, -1) + (credential.endsWith("x") ? "y" : "x");
}
