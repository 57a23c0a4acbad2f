import { readOptionalBody } from '@open-payments-server/http-server'
import { measuredList, measuredText } from '@open-payments-server/value-types/schemas'
import { z } from 'zod'
import { ID_TOKEN_LENGTH_MAX, OWNERSHIP_LENGTH_MAX } from '../../domain/consent-proof.js'
import { access } from '../access-schema.js'
import type { IdentityProviderRoute } from '../identity-provider-route.js'
import { acceptGrant, type AcceptGrantDependencies } from './accept-grant.js'

/** Maximum number of paragraphs that an account holder is shown, and length of one, in characters. */
const [WORDS_MAX, WORDS_LENGTH_MAX] = [100, 2_000]
/** Of an instant in ISO 8601, in characters. */
const INSTANT_LENGTH_MAX = 30
const LANGUAGE = /^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,8}$/

const bodySchema = z.object({
  finishCode: z.boolean().optional(),
  access: access.optional(),
  endsAt: measuredText(z.string().max(INSTANT_LENGTH_MAX)).pipe(z.iso.datetime()).optional(),
  idToken: measuredText(z.string().min(1).max(ID_TOKEN_LENGTH_MAX)).optional(),
  ownership: measuredText(z.string().min(1).max(OWNERSHIP_LENGTH_MAX)).optional(),
  document: z
    .looseObject({
      language: z.string().regex(LANGUAGE, { message: 'expected a language tag, such as en' }),
      words: measuredList(
        z
          .array(measuredText(z.string().min(1).max(WORDS_LENGTH_MAX)))
          .min(1)
          .max(WORDS_MAX)
      )
    })
    .optional()
})

/**
 * `POST /grant/{id}/{nonce}/accept` for identity providers: the account holder consents. The JSON body may have `idToken`, `ownership`
 * and `document`, which prove it, `access`, which grants less than was asked, and `endsAt`, when all of it ends. With `"finishCode": true`, the answer has a
 * `finishCode`, which the browser in which the consent was given must bring to `finish`.
 */
export function acceptGrantRoute(dependencies: AcceptGrantDependencies): IdentityProviderRoute {
  return {
    method: 'POST',
    path: '/grant/:id/:nonce/accept',
    handle: async (request, response) => {
      const { id, nonce } = request.params
      const {
        finishCode: wantsFinishCode = false,
        endsAt,
        ...body
      } = readOptionalBody(request, bodySchema) ?? {}
      const endsAtMs = endsAt === undefined ? undefined : Date.parse(endsAt)
      const finishCode = await acceptGrant({ id, nonce, wantsFinishCode, endsAtMs, ...body }, dependencies)
      if (finishCode === undefined) response.status(202).end()
      else response.status(202).json({ finishCode })
    }
  }
}
