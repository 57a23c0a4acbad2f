/**
 * Names the holder of a grant, as it is kept with what it created: the URL of the client's wallet address, or `jwk:` and
 * the thumbprint (RFC 7638) of the key of a client known by that alone.
 */
export function nameClient(client: { walletAddress: string; jwkThumbprint: string }): string {
  return client.walletAddress === '' ? `jwk:${client.jwkThumbprint}` : client.walletAddress
}
