import type { Route } from '@open-payments-server/http-server'
import { listAccounts, listWalletAddresses, showAccount, showWalletAddress } from './accounts.js'
import { askAct, performAct } from './acts.js'
import { listEndpoints, showEndpoint } from './endpoints.js'
import { listClients, listGrants, showClient, showGrant } from './grants.js'
import { listActions, listAudits, listProposals, showProposal } from './oversight.js'
import { search, showOverview } from './overview.js'
import { listApprovals, listPayments } from './payments.js'
import { showPayment } from './payment.js'
import { listPeers, showPeer } from './peers.js'
import { type ConsoleDependencies, consoleRoute, type Reply, type Visit } from './visit.js'

/** The pages, by their paths. */
const PAGES: Readonly<Record<string, (visit: Visit) => Promise<Reply>>> = {
  '/': showOverview,
  '/search': search,
  '/payments': listPayments,
  '/payments/:id': showPayment,
  '/approvals': listApprovals,
  '/accounts': listAccounts,
  '/accounts/:name': showAccount,
  '/wallet-addresses': listWalletAddresses,
  '/wallet-address': showWalletAddress,
  '/grants': listGrants,
  '/grants/:id': showGrant,
  '/clients': listClients,
  '/client': showClient,
  '/peers': listPeers,
  '/peers/:name': showPeer,
  '/endpoints': listEndpoints,
  '/endpoints/:service/:id': showEndpoint,
  '/audits': listAudits,
  '/actions': listActions,
  '/proposals': listProposals,
  '/proposals/:service/:id': showProposal,
  '/act/:name': askAct
}

/** The console: pages that show, and acts that a page asks about before they are done. */
export function consoleRoutes(dependencies: ConsoleDependencies): Route[] {
  return [
    ...Object.entries(PAGES).map(([path, handle]) => consoleRoute(dependencies, 'GET', path, handle)),
    consoleRoute(dependencies, 'POST', '/act/:name', performAct)
  ]
}
