/** Headers that carry credentials (interface 5). */
const CREDENTIAL_HEADERS = ['authorization', 'signature', 'signature-input']

/** Whether a request wants to be authorized at all: it carries a token or a signature. */
export function carriesCredentials(request: { get(name: string): string | undefined }): boolean {
  return CREDENTIAL_HEADERS.some((name) => request.get(name) !== undefined)
}
