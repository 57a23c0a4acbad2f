import type { Route } from '@open-payments-server/http-server'
import { consolePage } from '../../pages/home.js'
import { requireSession } from '../forms.js'
import { frameOf, sendPage, type Site, speechFor } from '../site.js'

/** `/` of the console: the first page of an operator who is signed in; whoever is not signs in first. */
export function homeRoute(site: Site): Route {
  return {
    method: 'GET',
    path: '/',
    handle: async (request, response) => {
      const session = await requireSession(site, request, response)
      if (session === undefined) return
      const frame = frameOf(site, speechFor(site, request), session, '/')
      sendPage(response, 200, consolePage(frame, session.roles))
    }
  }
}
