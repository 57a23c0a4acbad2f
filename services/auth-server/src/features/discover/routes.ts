import type { Route } from '@open-payments-server/http-server'

/** What the routes need. */
export interface DiscoverRouteDependencies {
  /** The grant endpoint exactly as wallet addresses advertise it. */
  readonly grantEndpoint: string
}

/** `OPTIONS /`: discovery of the grant endpoint (RFC 9635 §9). */
export function discoverRoute({ grantEndpoint }: DiscoverRouteDependencies): Route {
  const document = {
    grant_request_endpoint: grantEndpoint,
    interaction_start_modes_supported: ['redirect'],
    interaction_finish_methods_supported: ['redirect'],
    key_proofs_supported: ['httpsig'],
    sub_id_formats_supported: ['uri'],
    assertion_formats_supported: [],
    key_rotation_supported: false
  }
  return {
    method: 'OPTIONS',
    path: '/',
    handle: (_request, response) => {
      response.addField('Allow', 'POST, OPTIONS')
      response.sendJson(200, document)
    }
  }
}

/**
 * `GET /.well-known/gnap-as-rs`: discovery for resource servers (RFC 9767 §3.1). Introspection is not offered over HTTP:
 * services use gRPC.
 */
export function discoverForResourceServersRoute({ grantEndpoint }: DiscoverRouteDependencies): Route {
  const document = { grant_request_endpoint: grantEndpoint, key_proofs_supported: ['httpsig'] }
  return {
    method: 'GET',
    path: '/.well-known/gnap-as-rs',
    handle: (_request, response) => {
      response.sendJson(200, document)
    }
  }
}
