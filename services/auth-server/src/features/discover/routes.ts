import type { RouteHandler } from '@open-payments-server/http-server'

/** `OPTIONS /`: discovery of the grant endpoint (RFC 9635 §9). */
export function discoverRoute(grantEndpoint: string): RouteHandler {
  const document = {
    grant_request_endpoint: grantEndpoint,
    interaction_start_modes_supported: ['redirect'],
    interaction_finish_methods_supported: ['redirect'],
    key_proofs_supported: ['httpsig'],
    sub_id_formats_supported: ['uri'],
    assertion_formats_supported: [],
    key_rotation_supported: false
  }
  return (_request, response) => {
    response.addField('Allow', 'POST, OPTIONS')
    response.sendJson(200, document)
  }
}

/**
 * `GET /.well-known/gnap-as-rs`: discovery for resource servers (RFC 9767 §3.1). Introspection is not offered over HTTP:
 * services use gRPC.
 */
export function discoverForResourceServersRoute(grantEndpoint: string): RouteHandler {
  const document = { grant_request_endpoint: grantEndpoint, key_proofs_supported: ['httpsig'] }
  return (_request, response) => {
    response.sendJson(200, document)
  }
}
