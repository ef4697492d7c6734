// The version that the server reports. A test compares it with package.json.

export const VERSION = "0.1.0";
