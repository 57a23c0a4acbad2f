/**
 * The tests that try much instead of showing what is right: crashes and faults at every step, random sequences, whole rollouts, extremes, attacks in
 * browsers, every page of the console.
 * `npm run test:proofs` runs them in their short form, and `npm test` all others. Regular expressions for paths.
 */
export const PROOFS = [
  'infra/prove/(faults|fuzz|growth|rollouts)/',
  'infra/prove/acceptance/test/(canaries|clock-jumps|extremes|pool|races-across-instances|two-providers-days)\\.test\\.ts$',
  'infra/prove/pages/test/(console|[a-z-]+-attacks)\\.test\\.ts$',
  'services/[a-z-]+/test/([a-z]+-model|bounded-storage)\\.test\\.ts$'
]
