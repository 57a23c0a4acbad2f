import {
  getAuthServerOpenAPI,
  getResourceServerOpenAPI,
  getWalletAddressServerOpenAPI
} from '@interledger/open-payments'
import { createOpenAPI, type OpenAPI } from '@interledger/openapi'

/** A JSON schema without references. */
export type Schema = Readonly<Record<string, unknown>>

/** The description of an operation's answer with one status. */
export interface DescribedAnswer {
  /** Schema of the JSON body; undefined when none is described. */
  readonly schema: Schema | undefined
  /** Media types of the body; none when there is no body. */
  readonly mediaTypes: readonly string[]
  /** Whether a described body may be left out. */
  readonly mayBeEmpty: boolean
  /** Required headers, each with the pattern of its value. */
  readonly headers: readonly { readonly name: string; readonly pattern: RegExp }[]
}

/** An operation of a description. */
export interface Operation {
  /** Such as `GET /quotes/{id}`. */
  readonly name: string
  readonly method: string
  /** Pattern of the whole path of a request. */
  readonly path: RegExp
  readonly answers: ReadonlyMap<number, DescribedAnswer>
}

interface ResponseObject {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>
  readonly headers?: Readonly<
    Record<string, { readonly required?: boolean; readonly schema?: { readonly pattern?: string } }>
  >
  /** Our own extension: the body exists only for those who request it. */
  readonly 'x-body-optional'?: boolean
}

/**
 * Reads the published descriptions, from the dependency that contains them, and others.
 *
 * @param files paths of our own descriptions
 * @returns their operations, in the order in which they are tried
 */
export async function readDescriptions(files: readonly string[]): Promise<Operation[]> {
  const [authServer, resourceServer, walletAddressServer, ...own] = await Promise.all([
    getAuthServerOpenAPI(),
    getResourceServerOpenAPI(),
    getWalletAddressServerOpenAPI(),
    ...files.map((file) => createOpenAPI(file))
  ])
  return [
    ...[authServer, resourceServer, ...own].flatMap((description) => operationsOf(description, pathPattern)),
    // Its paths are relative to wallet addresses, which may have any path: they come last, and that of the wallet address itself
    // last of them.
    ...operationsOf(walletAddressServer, (path) => `(?:/[^/]+)*${path === '/' ? '/?' : path}`).reverse()
  ]
}

function pathPattern(path: string): string {
  return path.replace(/\{[^}]+\}/g, '[^/]+')
}

function operationsOf({ paths }: OpenAPI, patternOf: (path: string) => string): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, described]) => {
      const responses = responsesOf(described)
      if (responses === undefined) return []
      return [
        {
          name: `${method.toUpperCase()} ${path}`,
          method: method.toUpperCase(),
          path: new RegExp(`^${patternOf(path)}$`),
          answers: new Map(
            Object.entries(responses).map(([status, response]) => [Number(status), describedAnswer(response)])
          )
        }
      ]
    })
  )
}

function responsesOf(described: unknown): Readonly<Record<string, ResponseObject>> | undefined {
  return typeof described === 'object' && described !== null && 'responses' in described
    ? (described.responses as Readonly<Record<string, ResponseObject>>)
    : undefined
}

function describedAnswer(response: ResponseObject): DescribedAnswer {
  const { content = {}, headers = {} } = response
  return {
    schema: content['application/json']?.schema,
    mediaTypes: Object.keys(content),
    mayBeEmpty: response['x-body-optional'] === true,
    headers: Object.entries(headers)
      .filter(([, { required = true }]) => required)
      .map(([name, { schema }]) => ({ name, pattern: new RegExp(schema?.pattern ?? '.') }))
  }
}
