// Where single providers differ from the standards. All others follow them.

interface ProviderQuirks {
  /** The prompt that makes the provider ask for an account despite an existing session; `login` by default. */
  readonly switchPrompt?: string;
  /** The provider issues a refresh token only for these parameters and with consent, and not for a scope. */
  readonly offlineParameters?: Readonly<Record<string, string>>;
  /** The provider issues a refresh token without the consent prompt. */
  readonly refreshesWithoutConsent?: boolean;
}

/** By the URL of the issuer or of its authorization endpoint. */
const PROVIDERS: readonly (readonly [url: RegExp, quirks: ProviderQuirks])[] = [
  [
    /^https:\/\/accounts\.google\.com(?:\/|$)/,
    { switchPrompt: "select_account", offlineParameters: { access_type: "offline" } },
  ],
  [/^https:\/\/github\.com\//, { switchPrompt: "select_account" }],
  // With the consent prompt, Entra asks people for rights that only their administrator may grant.
  [/^https:\/\/[^/]*(?:microsoftonline|ciamlogin)\.[^/]*\//, { refreshesWithoutConsent: true }],
];

export function quirksOf(providerUrl: string): ProviderQuirks {
  return PROVIDERS.find(([url]) => url.test(providerUrl))?.[1] ?? {};
}

export function switchPromptOf(authorizeUrl: string): string {
  return quirksOf(authorizeUrl).switchPrompt ?? "login";
}
