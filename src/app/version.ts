// Owns the version that the server shows; a test holds it to package.json.

export const VERSION = "0.1.0";
