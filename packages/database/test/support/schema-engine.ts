import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { PrismaPg } from '@prisma/adapter-pg'
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils'
import * as engineModule from '@prisma/schema-engine-wasm/schema_engine_bg'
import pg from 'pg'

export type SchemaEngine = engineModule.SchemaEngine

// Node has it, but its types belong to the browser's, which nothing else here may use.
declare const WebAssembly: {
  instantiate(
    code: Uint8Array,
    imports: Readonly<Record<string, object>>
  ): Promise<{ readonly instance: { readonly exports: Readonly<Record<string, unknown>> } }>
}

let loaded: Promise<void> | undefined

/**
 * Runs Prisma's schema engine on a database: the same as the native one of `prisma migrate`, as WebAssembly, without a download.
 *
 * @param url of the database
 */
export async function withSchemaEngine<Result>(
  url: string,
  work: (engine: SchemaEngine) => Promise<Result>
): Promise<Result> {
  await (loaded ??= load())
  // Ended below, because the engine keeps its advisory lock for as long as its session lives.
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  const engine = await engineModule.SchemaEngine.new(
    { datamodels: [['schema.prisma', 'datasource db { provider = "postgresql" }']] },
    () => undefined, // the engine's own traces
    bindMigrationAwareSqlAdapterFactory(new PrismaPg(pool))
  )
  try {
    return await work(engine)
  } finally {
    engine.free()
    await pool.end()
  }
}

async function load(): Promise<void> {
  const script = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg')
  const code = await readFile(join(dirname(script), 'schema_engine_bg.wasm'))
  const { instance } = await WebAssembly.instantiate(code, {
    './schema_engine_bg.js': { ...engineModule, ...unreferencedTimers() }
  })
  engineModule.__wbg_set_wasm(instance.exports)
  ;(instance.exports.__wbindgen_start as () => void)()
}

/** The engine never clears its lock timer, which would keep a finished process alive for ten seconds. */
function unreferencedTimers(): Record<
  string,
  (callback: () => void, milliseconds: number) => NodeJS.Timeout
> {
  const names = Object.keys(engineModule).filter((name) => name.startsWith('__wbg_setTimeout_'))
  return Object.fromEntries(
    names.map((name) => [name, (callback, milliseconds) => setTimeout(callback, milliseconds >>> 0).unref()])
  )
}
