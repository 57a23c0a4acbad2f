import { chmod } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { filesOf } from './image.js'

/** The folders of files, which the user of the images may read from now on. They are certificates of this trial alone. */
export async function readable(files: readonly string[]): Promise<string[]> {
  const folders = new Set(files.filter((file) => file.startsWith('/')).map((file) => dirname(dirname(file))))
  for (const folder of folders) await openUp(folder)
  return [...folders]
}

async function openUp(folder: string): Promise<void> {
  for (const { path, mode, isFolder, isLink } of await filesOf(folder)) {
    if (!isLink) await chmod(join(folder, path), mode | (isFolder ? 0o555 : 0o444))
  }
  await chmod(folder, 0o755)
}
