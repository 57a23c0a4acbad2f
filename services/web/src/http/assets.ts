import type { Route } from '@open-payments-server/http-server'

/** The style of the pages, and the logo. */
export function assetRoutes(style: string, logo: string | undefined): Route[] {
  return [
    asset('/style.css', 'text/css; charset=utf-8', style),
    ...(logo === undefined ? [] : [asset('/logo.svg', 'image/svg+xml', logo)])
  ]
}

function asset(path: string, contentType: string, text: string): Route {
  return {
    method: 'GET',
    path,
    handle: (_request, response) => {
      response.sendText(200, contentType, text)
    }
  }
}
