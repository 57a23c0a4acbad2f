import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils'
import * as engineModule from '@prisma/schema-engine-wasm/schema_engine_bg'

/** A Prisma schema as the engine takes it. */
export interface SchemaFile {
  readonly path: string
  readonly content: string
}

export type SchemaEngine = engineModule.SchemaEngine
export type MigrationList = engineModule.MigrationList

// Node has it, but its types belong to the browser's, which nothing else here may use.
declare const WebAssembly: {
  instantiate(
    code: Uint8Array,
    imports: Readonly<Record<string, object>>
  ): Promise<{ readonly instance: { readonly exports: Readonly<Record<string, unknown>> } }>
}

let loaded: Promise<void> | undefined

/**
 * Prisma's schema engine as WebAssembly, connected to the database through the adapter. The same engine as the native one
 * of `prisma migrate`, without a download.
 */
export async function openSchemaEngine(
  schema: SchemaFile,
  adapterFactory: SqlMigrationAwareDriverAdapterFactory
): Promise<SchemaEngine> {
  await (loaded ??= load())
  const log = (): void => undefined // the engine's own traces; anything important is returned or thrown
  const datamodels: [string, string][] = [[schema.path, schema.content]]
  return engineModule.SchemaEngine.new(
    { datamodels },
    log,
    bindMigrationAwareSqlAdapterFactory(adapterFactory)
  )
}

async function load(): Promise<void> {
  const script = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg')
  const code = await readFile(join(dirname(script), 'schema_engine_bg.wasm'))
  const { instance } = await WebAssembly.instantiate(code, {
    './schema_engine_bg.js': { ...engineModule, ...timersThatLetGo() }
  })
  engineModule.__wbg_set_wasm(instance.exports)
  ;(instance.exports.__wbindgen_start as () => void)()
}

/** The engine never clears its lock timer, which would keep a finished process alive for ten seconds. */
function timersThatLetGo(): Record<string, (callback: () => void, milliseconds: number) => NodeJS.Timeout> {
  const names = Object.keys(engineModule).filter((name) => name.startsWith('__wbg_setTimeout_'))
  return Object.fromEntries(
    names.map((name) => [name, (callback, milliseconds) => setTimeout(callback, milliseconds >>> 0).unref()])
  )
}
