import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Storage } from './storage.js'

/** How containers of an image start. */
export interface ImageConfiguration {
  readonly User: string
  readonly Entrypoint: readonly string[]
  readonly Cmd?: readonly string[] | null
  readonly Env: readonly string[]
  readonly WorkingDir: string
  readonly Labels: Readonly<Record<string, string>>
}

/** A file of an image. */
export interface ImageFile {
  /** From the root of the image, with a slash. */
  readonly path: string
  readonly isFolder: boolean
  readonly isLink: boolean
  /** Permissions, as in `stat`. */
  readonly mode: number
  readonly uid: number
  readonly gid: number
}

/** What an image says of itself, and its size in bytes. */
export async function inspectImage(
  storage: Storage,
  image: string
): Promise<{ configuration: ImageConfiguration; size: number }> {
  const [inspected] = JSON.parse(await storage.podman('image', 'inspect', image)) as [
    { Config: ImageConfiguration; Size: number }
  ]
  return { configuration: inspected.Config, size: inspected.Size }
}

/** Looks at the files of an image, which are in a folder meanwhile. */
export async function lookInto<Result>(
  storage: Storage,
  image: string,
  look: (folder: string) => Promise<Result>
): Promise<Result> {
  const folder = (await storage.podman('image', 'mount', image)).trim()
  try {
    return await look(folder)
  } finally {
    await storage.podman('image', 'unmount', image)
  }
}

/** Every file in the folder of an image. */
export async function filesOf(folder: string, below = '/'): Promise<ImageFile[]> {
  const names = await readdir(join(folder, below))
  const files = await Promise.all(
    names.map(async (name) => {
      const path = join(below, name)
      const found = await lstat(join(folder, path))
      const { mode, uid, gid } = found
      const file = { path, mode, uid, gid, isFolder: found.isDirectory(), isLink: found.isSymbolicLink() }
      return file.isFolder ? [file, ...(await filesOf(folder, path))] : [file]
    })
  )
  return files.flat()
}

/** Program that lists what its user may write to, devices and the kernel's own aside. */
export const LIST_WRITABLE = `
  const { accessSync, constants, readdirSync } = require('node:fs')
  const found = []
  const look = (path) => {
    try { accessSync(path, constants.W_OK); found.push(path) } catch {}
    let entries = []
    try { entries = readdirSync(path, { withFileTypes: true }) } catch {}
    for (const entry of entries) {
      const below = path === '/' ? '/' + entry.name : path + '/' + entry.name
      if (['/proc', '/sys', '/dev'].includes(below)) continue
      if (entry.isDirectory()) look(below)
      else if (!entry.isSymbolicLink()) { try { accessSync(below, constants.W_OK); found.push(below) } catch {} }
    }
  }
  look('/')
  console.log(JSON.stringify(found))
`
