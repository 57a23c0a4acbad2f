// Writes the contract itself, as encoded file descriptors, into a module: reflection serves it, from source and from the
// build alike. Run after `buf generate`, which empties the folder.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { fromBinary, toBinary } from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'

const image = execFileSync('buf', [
  'build',
  '--exclude-source-info',
  '--as-file-descriptor-set',
  '-o',
  '-#format=binpb'
])
const files = fromBinary(FileDescriptorSetSchema, image).file
const lines = files.map((file) => {
  const encoded = Buffer.from(toBinary(FileDescriptorProtoSchema, file)).toString('base64')
  return `  // ${file.name}\n  '${encoded}'`
})
writeFileSync(
  new URL('../src/generated/descriptors.ts', import.meta.url),
  `/** Every file of the contract and what it imports: \`google.protobuf.FileDescriptorProto\`, base64. */
export const encodedFileDescriptors: readonly string[] = [\n${lines.join(',\n')}\n]\n`
)
