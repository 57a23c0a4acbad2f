import type { HttpRequest, HttpResponse, Route } from '@open-payments-server/http-server'
import { type ActName, askToStop, takeAct } from './acts.js'
import { showGrant } from './detail.js'
import { downloadGrantPayments, downloadGrants, downloadPayments } from './exports.js'
import { askToLower, takeLower } from './lower.js'
import { showEnded, showOverview } from './overview.js'
import { showAct, showAgreed } from './receipts.js'
import { takeResume } from './resume.js'
import type { AllowedDependencies } from './someone.js'

type Handler = (
  dependencies: AllowedDependencies,
  request: HttpRequest,
  response: HttpResponse
) => Promise<void>

/** "Payments you allow": `/`, `/ended`, `/allowed/:id` and below it, and `/downloads`. See docs/allowed-payments.md. */
export function allowedRoutes(dependencies: AllowedDependencies): Route[] {
  const route = (method: 'GET' | 'POST', path: string, handle: Handler): Route => ({
    method,
    path,
    handle: (request, response) => handle(dependencies, request, response)
  })
  return [
    route('GET', '/', showOverview),
    route('GET', '/ended', showEnded),
    route('GET', '/allowed/:id', showGrant),
    route('GET', '/allowed/:id/receipt', showAgreed),
    route('GET', '/allowed/:id/acts/:act', showAct),
    route('GET', '/allowed/:id/lower', askToLower),
    route('POST', '/allowed/:id/lower', takeLower),
    route('GET', '/allowed/:id/stop', askToStop),
    ...(['pause', 'stop'] as const satisfies readonly ActName[]).map((name) =>
      route('POST', `/allowed/:id/${name}`, (...call) => takeAct(...call, name))
    ),
    route('POST', '/allowed/:id/resume', takeResume),
    ...(['csv', 'json'] as const).flatMap((kind) => [
      route('GET', `/downloads/allowed.${kind}`, (...call) => downloadGrants(...call, kind)),
      route('GET', `/downloads/payments.${kind}`, (...call) => downloadPayments(...call, kind)),
      route('GET', `/allowed/:id/payments.${kind}`, (...call) => downloadGrantPayments(...call, kind))
    ])
  ]
}
