import { copyFile, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { run, type Storage } from './storage.js'

/** The images that the Dockerfile builds on. */
export interface BaseImages {
  readonly node: string
  readonly runtime: string
}

/** The release of Debian that both base images are made of. */
const RELEASE = 'bookworm'
/** What the npm of that Node is: it brings npx. */
const NPM = 'npm@11.19.0'
/** What `distroless/cc` consists of, which gives the programs their C library. */
const RUNTIME_PACKAGES = [
  ...['base-files', 'netbase', 'tzdata', 'libc6', 'libssl3', 'libgcc-s1', 'libgomp1', 'libstdc++6'],
  'gcc-12-base'
]
const NOBODY = '65532'

/**
 * Makes both base images of Debian's packages and of Node as npm has it, with what the Dockerfile needs of the real ones. They are made
 * once.
 *
 * @param nodeVersion that of the image that the Dockerfile names
 */
export async function makeStandIns(storage: Storage, nodeVersion: string): Promise<BaseImages> {
  const images = {
    node: `localhost/stand-in/node:${nodeVersion}`,
    runtime: `localhost/stand-in/runtime:${RELEASE}`
  }
  if (!(await storage.has(images.node))) await makeNode(storage, images.node, nodeVersion)
  if (!(await storage.has(images.runtime))) await makeRuntime(storage, images.runtime)
  return images
}

/** As `node:*-bookworm-slim`: Debian with Node, its license and npm. */
async function makeNode(storage: Storage, image: string, version: string): Promise<void> {
  const folder = await storage.makeFolder('node')
  try {
    const system = join(folder, 'system.tar')
    const packages = '--include=ca-certificates,libstdc++6'
    await run('mmdebstrap', ['--variant=minbase', packages, RELEASE, system])
    const node = await unpack(folder, `node-linux-${process.arch}@${version}`)
    const npm = await unpack(folder, NPM)
    const local = join(folder, 'local')
    await mkdir(join(local, 'bin'), { recursive: true })
    await mkdir(join(local, 'lib', 'node_modules'), { recursive: true })
    await copyFile(join(node, 'bin', 'node'), join(local, 'bin', 'node'))
    await copyFile(join(node, 'LICENSE'), join(local, 'LICENSE'))
    await run('cp', ['-a', npm, join(local, 'lib', 'node_modules', 'npm')])
    for (const name of ['npm', 'npx']) {
      await symlink(`../lib/node_modules/npm/bin/${name}-cli.js`, join(local, 'bin', name))
    }
    await commit(storage, image, async (container) => {
      await storage.buildah('add', '--quiet', container, system, '/')
      await storage.buildah('copy', '--quiet', container, local, '/usr/local')
      await storage.buildah(
        'config',
        '--env',
        `PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
        container
      )
    })
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** As `distroless/cc-debian12:nonroot`: the C library, and a user without rights. */
async function makeRuntime(storage: Storage, image: string): Promise<void> {
  const folder = await storage.makeFolder('runtime')
  try {
    const tree = join(folder, 'tree')
    await mkdir(tree)
    await run('apt-get', ['download', ...RUNTIME_PACKAGES], { cwd: folder })
    for (const name of (await readdir(folder)).filter((each) => each.endsWith('.deb'))) {
      await run('dpkg', ['--extract', join(folder, name), tree])
    }
    await mkdir(join(tree, 'home', 'nonroot'), { recursive: true })
    const files = {
      'etc/passwd': `root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:${NOBODY}:${NOBODY}:nonroot:/home/nonroot:/sbin/nologin\n`,
      'etc/group': `root:x:0:\nnonroot:x:${NOBODY}:\n`,
      'etc/nsswitch.conf': 'hosts: files dns\n'
    }
    for (const [path, text] of Object.entries(files)) await writeFile(join(tree, path), text)
    await commit(storage, image, async (container) => {
      await storage.buildah('copy', '--quiet', container, tree, '/')
      await storage.buildah('config', '--user', NOBODY, '--workingdir', '/home/nonroot', container)
    })
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Fetches a package of npm, and returns the folder of its files. */
async function unpack(folder: string, name: string): Promise<string> {
  const archive = (await run('npm', ['pack', '--silent', name], { cwd: folder })).trim()
  const target = join(folder, 'packages', name)
  await mkdir(dirname(target), { recursive: true })
  await mkdir(target)
  await run('tar', [
    ...['--extract', '--gzip', '--strip-components=1', '--no-same-owner'],
    ...['--file', join(folder, archive), '--directory', target]
  ])
  return target
}

async function commit(
  storage: Storage,
  image: string,
  fill: (container: string) => Promise<void>
): Promise<void> {
  const container = (await storage.buildah('from', 'scratch')).trim()
  try {
    await fill(container)
    await storage.buildah('commit', '--quiet', container, image)
  } finally {
    await storage.buildah('rm', container)
  }
}
