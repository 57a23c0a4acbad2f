import { encodedFileDescriptors } from './generated/descriptors.js'

/** The contract itself, for reflection: one encoded `google.protobuf.FileDescriptorProto` a file, imports included. */
export const fileDescriptors: readonly Uint8Array[] = encodedFileDescriptors.map((file) =>
  Buffer.from(file, 'base64')
)
