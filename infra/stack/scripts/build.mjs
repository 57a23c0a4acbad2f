// Compiles packages, in this one process: that of a name with all that it runs with, or everything. Code is generated first.
//
//   node infra/stack/scripts/build.mjs <stack|auth-server|…|everything>
import { compile } from './compile.mjs'
import { foldersToBuild } from './prepare.mjs'

await Promise.all(foldersToBuild(process.argv[2]).map(compile))
