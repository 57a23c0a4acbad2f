// Compiles TypeScript to JavaScript by stripping types. It does not check them: `npm run typecheck` does.
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, sep } from 'node:path'
import { transformFile } from '@swc/core'

/** How sources are compiled, for the build and for tests alike. The target is that of tsconfig.base.json. */
export const compilerOptions = {
  swcrc: false,
  module: { type: 'es6' },
  jsc: {
    target: 'es2023',
    parser: { syntax: 'typescript', tsx: true, decorators: false },
    // Templates of pages.
    transform: {
      verbatimModuleSyntax: true,
      react: { runtime: 'automatic', importSource: 'preact', development: false }
    }
  }
}

/**
 * Compiles a package's `src` into its `dist`, with source maps, and removes output that no longer has a source.
 * Generated code is compiled, tests are not.
 *
 * @param {string} folder the package's folder
 */
export async function compile(folder) {
  const sources = (await filesOf(join(folder, 'src'))).filter((path) => /(?<!\.test)\.tsx?$/.test(path))
  const written = await Promise.all(sources.map((path) => compileFile(folder, path)))
  const expected = new Set(written.flatMap((path) => [path, `${path}.map`]))
  const stale = (await filesOf(join(folder, 'dist'))).filter((path) => !expected.has(path))
  await Promise.all(stale.map((path) => rm(path)))
}

/** @returns the file it wrote */
async function compileFile(folder, source) {
  const target = join(folder, 'dist', relative(join(folder, 'src'), source)).replace(/\.tsx?$/, '.js')
  const { code, map } = await transformFile(source, {
    ...compilerOptions,
    sourceMaps: true,
    inlineSourcesContent: false,
    sourceFileName: relative(dirname(target), source).replaceAll(sep, '/')
  })
  await mkdir(dirname(target), { recursive: true })
  await writeFile(target, `${code}//# sourceMappingURL=${basename(target)}.map\n`)
  await writeFile(`${target}.map`, map)
  return target
}

/** Every file below a folder; none when there is no such folder. */
async function filesOf(folder) {
  try {
    const entries = await readdir(folder, { withFileTypes: true, recursive: true })
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  } catch (error) {
    if (error.code === 'ENOENT') return []
    throw error
  }
}
