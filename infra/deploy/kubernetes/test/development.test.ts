import { issuerOptionsSchema, OPTIONS_VARIABLE } from '@open-payments-server/development-issuer/options'
import { expect, it } from '@jest/globals'
import { containerOf, findObject, Traffic } from '../src/index.js'
import { describeRendered, environmentOf, NAMES, podOf, renderBefore, workload } from './overlays.js'

const objectsOf = renderBefore('development')

describeRendered('development', () => {
  const objects = () => objectsOf('development')
  const namespace = 'open-payments-development'
  const pod = (name: string) => podOf(workload(objects(), 'Deployment', name), namespace)

  it('has an issuer that signs in to the pages and the console', () => {
    const pages = environmentOf(workload(objects(), 'Deployment', 'web'))
    const console = environmentOf(workload(objects(), 'Deployment', 'console'))
    const secretOf = (name: string, key: string) => {
      const { data } = findObject(objects(), 'Secret', name) as unknown as { data: Record<string, string> }
      return Buffer.from(data[key]!, 'base64').toString()
    }
    const options = issuerOptionsSchema.parse(JSON.parse(secretOf('development-issuer', 'options')))
    expect(containerOf(workload(objects(), 'Deployment', 'development-issuer'))).toMatchObject({
      ports: [{ containerPort: options.port }],
      env: [
        {
          name: OPTIONS_VARIABLE,
          valueFrom: { secretKeyRef: { name: 'development-issuer', key: 'options' } }
        }
      ]
    })
    expect(options).toMatchObject({
      url: pages.ISSUER,
      host: '0.0.0.0',
      clients: [
        {
          clientId: pages.CLIENT_ID,
          clientSecret: secretOf('web', 'client-secret'),
          redirectUris: [`${pages.PUBLIC_URL}/signed-in`],
          postLogoutRedirectUris: [`${pages.PUBLIC_URL}/signed-out`]
        },
        {
          clientId: console.CONSOLE_CLIENT_ID,
          clientSecret: secretOf('console', 'client-secret'),
          redirectUris: [`${console.CONSOLE_URL}/signed-in`],
          postLogoutRedirectUris: [`${console.CONSOLE_URL}/signed-out`]
        }
      ]
    })
    expect(secretOf('web', 'identity-provider-secret')).toBe(
      secretOf('auth-server', 'identity-provider-secret')
    )
  })

  it('names as URLs the Services that answer there', () => {
    const pages = environmentOf(workload(objects(), 'Deployment', 'web'))
    for (const [url, target] of [
      [environmentOf(workload(objects(), 'Deployment', 'auth-server')).PUBLIC_URL, 'http'],
      [environmentOf(workload(objects(), 'Deployment', 'resource-server')).PUBLIC_URL, 'http'],
      [pages.PUBLIC_URL, 'http'],
      [environmentOf(workload(objects(), 'Deployment', 'console')).CONSOLE_URL, 'console'],
      [pages.ISSUER, 'http']
    ] as const) {
      const { protocol, hostname, port } = new URL(url!)
      expect({ protocol, port }).toEqual({ protocol: 'http:', port: '' })
      expect(findObject(objects(), 'Service', hostname).spec).toMatchObject({
        ports: [{ port: 80, targetPort: target }]
      })
    }
  })

  it('lets both services and the pages reach the issuer, and whoever is in its namespace the pages', () => {
    const traffic = new Traffic(objects(), namespace)
    for (const name of NAMES) {
      expect(traffic.allows(pod(name), pod('development-issuer'), 3000)).toBe(true)
      expect(traffic.allows(pod(name), pod('redis'), 6379)).toBe(true)
    }
    expect(traffic.allows(pod('web'), pod('postgresql'), 5432)).toBe(false)
    const somebody = { namespace, labels: {} }
    const portsOf = (name: string) =>
      [3000, 3010, 9464].filter((port) => traffic.allows(somebody, pod(name), port))
    expect([portsOf('web'), portsOf('console')]).toEqual([[3000], [3010]])
    expect(traffic.allows({ namespace: 'default', labels: {} }, pod('web'), 3000)).toBe(false)
  })
})
