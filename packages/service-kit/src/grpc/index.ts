export { MESSAGE_BYTES_MAX, startGrpcServices } from './start-grpc-services.js'
