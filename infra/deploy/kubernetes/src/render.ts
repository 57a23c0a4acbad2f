import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { parseAllDocuments } from 'yaml'
import type { KubernetesObject } from './objects.js'

const OUTPUT_BYTES_MAX = 16 * 1024 * 1024

/** The two overlays. */
export type Overlay = 'development' | 'production'

/**
 * The objects that `kubectl apply -k` would send. It needs no cluster.
 *
 * @param kubectl path of the program
 * @throws Error with kustomize's message for a broken overlay
 */
export async function renderOverlay(overlay: Overlay, kubectl: string): Promise<KubernetesObject[]> {
  return renderFolder(overlayFolder(overlay), kubectl)
}

/** The folder of an overlay. */
export function overlayFolder(overlay: Overlay): string {
  return fileURLToPath(new URL(`../overlays/${overlay}`, import.meta.url))
}

/** The same of any folder with a kustomization. */
export async function renderFolder(folder: string, kubectl: string): Promise<KubernetesObject[]> {
  const { stdout } = await promisify(execFile)(kubectl, ['kustomize', folder], {
    maxBuffer: OUTPUT_BYTES_MAX
  })
  return parseObjects(stdout)
}

/**
 * Parses YAML with several documents.
 *
 * @throws Error naming what is invalid
 */
export function parseObjects(text: string): KubernetesObject[] {
  return parseAllDocuments(text).flatMap((document) => {
    const [error] = document.errors
    if (error !== undefined) throw error
    const object = document.toJS() as KubernetesObject | null
    return object === null ? [] : [object]
  })
}
