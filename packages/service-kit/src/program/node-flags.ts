/**
 * How Node is started for a service: on the command line, because V8 makes its heap before any of our code runs.
 *
 * - What a request leaves behind is garbage as soon as it is answered. V8 lets it grow to 16 MiB before it collects it, which
 *   stops everything for milliseconds; with 4 MiB that takes a third of the time.
 * - What lived longer may grow to several times what is in use before that is collected, too; here by a quarter. With Node's
 *   own setting a process ends a run 90 MiB larger, and no call takes less CPU time.
 * - One thread helps to collect garbage and to compile, not four: with as few cores as a service is given, four take them away
 *   from the thread that answers requests, which waits 5 to 15 ms for its turn.
 */
export const NODE_FLAGS: readonly string[] = [
  '--max-semi-space-size=4',
  '--heap-growing-percent=25',
  '--v8-pool-size=1'
]

/**
 * Environment of Node for a service. The C library gives threads memory of their own to allocate from, up to eight times as
 * often as there are cores, and keeps what was free in it once: 10 MiB less with two.
 */
export const NODE_ENVIRONMENT: Readonly<Record<string, string>> = { MALLOC_ARENA_MAX: '2' }
