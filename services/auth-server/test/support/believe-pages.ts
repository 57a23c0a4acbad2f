import type { GrpcDependencies } from '../../src/compose/grpc-dependencies.js'

const verifiesNothing = (): Promise<never> => Promise.reject(new Error('nothing is proved here'))

/** Nothing is to be proved. */
export const BELIEVE_PAGES: Pick<GrpcDependencies, 'consentProofs' | 'grantEndpoint'> = {
  grantEndpoint: 'https://auth.example/',
  consentProofs: {
    consentProof: 'none',
    signInRule: () => undefined,
    toleranceSeconds: 0,
    idTokens: { verify: verifiesNothing },
    ownerships: { verify: verifiesNothing }
  }
}
