import { fuzzTests } from '../src/fuzz-tests.js'
import { FUNCTION_TARGETS } from '../src/targets/index.js'

fuzzTests('whatever a function is given', FUNCTION_TARGETS)
