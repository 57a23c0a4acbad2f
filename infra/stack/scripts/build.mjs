// Compiles every package, in this one process. `npm run build` generates code first.
import { compile } from './compile.mjs'
import { workspaceFolders } from './prepare.mjs'

await Promise.all(workspaceFolders().map(compile))
