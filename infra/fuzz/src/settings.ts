import { randomInt } from 'node:crypto'

const { FUZZ_TEST_CASES, FUZZ_TEST_SEED, FUZZ_TEST_PATH } = process.env

/** Cases of all targets together, where nothing is said: few enough for every test run. */
const CASES_DEFAULT = 10_000

/** What {@link Target.share} is counted in. */
export const SHARES_IN_ALL = 10_000

/** Cases of all targets together. */
export const CASES = Number(FUZZ_TEST_CASES ?? CASES_DEFAULT)

/** Whether this is a long run, whose counts are told. */
export const IS_LONG = FUZZ_TEST_CASES !== undefined

/** The seed of each target's first batch, which the others are counted from. A failure is told with its own. */
export const FIRST_SEED = Number(FUZZ_TEST_SEED ?? randomInt(0x4000_0000))

/** The one case of the seed that is repeated; undefined to try all. */
export const REPLAY_PATH = FUZZ_TEST_PATH
