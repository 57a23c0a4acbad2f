/**
 * The tests that try much instead of showing what is right: crashes and faults at every step, random sequences, many rounds of races, whole
 * rollouts, two installations, certificates of every kind, extremes, attacks in browsers, every page where people sign in, allow, operate
 * and approve. `npm run test:proofs` runs them in their short form, and `npm test` all others. Regular expressions for paths.
 */
export const PROOFS = [
  'infra/prove/(faults|fuzz|growth|rollouts)/',
  'infra/prove/acceptance/test/(allowed-grants|canaries|clock-jumps|corrupted-databases|extremes|move-wallet-address|pool)\\.test\\.ts$',
  'infra/prove/acceptance/test/(private-authority|provider-keys|races-across-instances|released-clients|two-providers|two-providers-days)\\.test\\.ts$',
  'infra/prove/pages/test/(allowed|command-line|console|console-acts|every-page|odd-names|sign-in|two-approvers|[a-z-]+-attacks)\\.test\\.ts$',
  'packages/shared-store/src/redis-failover\\.test\\.ts$',
  'services/[a-z-]+/test/([a-z]+-model|bounded-storage|decide-together|event-cursor|limit-races|many-races)\\.test\\.ts$'
]
