import type { Route } from '@open-payments-server/http-server'
import { homePage } from '../../pages/home.js'
import { passBy } from '../passing-by.js'
import { frameOf, sendPage, type Site, speechFor } from '../site.js'

/** `/`: the first page of somebody who is signed in; whoever is not signs in first. */
export function homeRoute(site: Site): Route {
  return {
    method: 'GET',
    path: '/',
    handle: async (request, response) => {
      const session = await site.sessions.find(request.get('cookie'))
      if (session === undefined) {
        await passBy(site, request, response, { purpose: { kind: 'sign-in', to: '/' } })
        return
      }
      const frame = frameOf(site, speechFor(site, request), session, '/')
      sendPage(response, 200, homePage(frame))
    }
  }
}
